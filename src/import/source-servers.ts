import { eq, sql } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { serverAliases, servers } from '../db/schema.ts';
import { addServer, checkAddress } from '../queries/servers.ts';
import { cleanText, LONGEST_NAME } from './clean-text.ts';

/** A game server as a source knows it. */
export type SourceServer = { sourceServerId: string; name: string | null; address: string };

const DEFAULT_PORT = 27_015;

/**
 * Finds our server for each server of a source, by its address, and remembers the pair: several ids of a source may
 * mean one server of ours. A server we do not have is made, hidden until an operator shows it. A pair once known stays,
 * so that an operator may change it.
 * @returns our id by the source's id, and the names of the servers made. A dry run makes none: their id is then -1.
 */
export async function matchSourceServers(
  db: Db,
  source: string,
  sourceServers: readonly SourceServer[],
  { isDryRun }: { isDryRun: boolean },
): Promise<{ serverIds: Map<string, number>; added: string[] }> {
  const known = await db.select().from(serverAliases).where(eq(serverAliases.source, source));
  const serverIds = new Map(known.map((alias) => [alias.sourceServerId, alias.serverId]));
  const added: string[] = [];
  for (const sourceServer of sourceServers) {
    if (serverIds.has(sourceServer.sourceServerId)) continue;
    const serverId = await matchOne(sourceServer);
    if (serverId === undefined) continue;
    serverIds.set(sourceServer.sourceServerId, serverId);
    if (isDryRun) continue;
    await db
      .insert(serverAliases)
      .values({ source, sourceServerId: sourceServer.sourceServerId, serverId })
      .onConflictDoNothing();
  }
  return { serverIds, added };

  async function matchOne({ name, address }: SourceServer): Promise<number | undefined> {
    const normal = normalizeAddress(address);
    if (normal === undefined) return undefined;
    const [ours] = await db
      .select({ id: servers.id })
      .from(servers)
      .where(eq(sql`lower(${servers.address})`, normal));
    if (ours) return ours.id;
    const label = cleanText(name, LONGEST_NAME) || normal;
    added.push(label);
    if (isDryRun) return -1;
    return (await addServer(db, { name: label, address: normal, isHidden: true })).id;
  }
}

/** `HOST:PORT` in lower case, with Steam's usual port when none is given; undefined for what is no address. */
function normalizeAddress(address: string): string | undefined {
  const trimmed = address.trim().toLowerCase();
  const complete = /:[0-9]+$/.test(trimmed) ? trimmed : `${trimmed}:${DEFAULT_PORT}`;
  try {
    checkAddress(complete);
    return complete;
  } catch {
    return undefined;
  }
}
