import { eq } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { servers } from '../../db/schema/servers.ts';
import { Conflict, NotFound } from '../../domain/errors.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { parseServerAddress } from '../../domain/server-address.ts';
import { recordAudit } from '../audit-log.ts';
import { findServerByAddress, parseServerName, type Server } from './servers.ts';

/** Absent values stay unchanged. */
export type ServerChanges = Partial<Pick<Server, 'name' | 'address' | 'mode' | 'region' | 'position'>>;

/**
 * Changes a server; its history, slug and penalties are kept.
 * @throws {InvalidInput} for a name or address that is not allowed.
 * @throws {NotFound} when no server has this slug; {@link Conflict} when the address belongs to another one.
 */
export async function saveServerChanges(
  db: Db,
  slug: string,
  { changes, actor }: { changes: ServerChanges; actor: Actor },
): Promise<Server> {
  const values = { ...changes, ...(changes.name !== undefined && { name: parseServerName(changes.name) }) };
  const { address } = values;
  if (address !== undefined) parseServerAddress(address);
  return db.transaction(async (tx) => {
    const [server] = await tx.select().from(servers).where(eq(servers.slug, slug)).for('update');
    if (!server) throw new NotFound(`There is no server ${JSON.stringify(slug)}`);
    const holder = address === undefined ? undefined : await findServerByAddress(tx, address);
    if (holder && holder.id !== server.id) {
      throw new Conflict(`The address ${address} already belongs to ${holder.slug}`);
    }
    const [changed = server] = await tx
      .update(servers)
      .set(values)
      .where(eq(servers.id, server.id))
      .returning();
    await recordAudit(tx, { actor, action: 'server.changed', subject: slug, details: values });
    return changed;
  });
}
