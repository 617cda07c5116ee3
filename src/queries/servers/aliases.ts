import { eq } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { serverAliases } from '../../db/schema/penalty-sources.ts';

/** Our ids of servers by the ids that a penalty source uses for them. */
export async function listServerAliases(db: Db, source: string): Promise<Map<string, number>> {
  const rows = await db.select().from(serverAliases).where(eq(serverAliases.source, source));
  return new Map(rows.map(({ sourceServerId, serverId }) => [sourceServerId, serverId]));
}

/** Saves which of our servers an id of a source stands for; an existing alias stays, as an operator may have changed it. */
export async function saveServerAlias(db: Db, alias: typeof serverAliases.$inferInsert): Promise<void> {
  await db.insert(serverAliases).values(alias).onConflictDoNothing();
}
