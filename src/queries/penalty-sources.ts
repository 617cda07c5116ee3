import { eq } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { penalties, penaltySources, serverAliases } from '../db/schema.ts';

/** What the penalties of one source name were imported from. */
export type PenaltySource = typeof penaltySources.$inferSelect;

export async function findPenaltySource(db: Db, name: string): Promise<PenaltySource | undefined> {
  const [source] = await db.select().from(penaltySources).where(eq(penaltySources.name, name));
  return source;
}

/** Remembers a source, in place of what was remembered under its name. */
export async function savePenaltySource(db: Db, { name, ...identity }: PenaltySource): Promise<void> {
  await db
    .insert(penaltySources)
    .values({ name, ...identity })
    .onConflictDoUpdate({ target: penaltySources.name, set: identity });
}

/** Whether any penalty bears the name of a source. */
export async function hasPenaltiesOf(db: Db, source: string): Promise<boolean> {
  const found = await db
    .select({ id: penalties.id })
    .from(penalties)
    .where(eq(penalties.source, source))
    .limit(1);
  return found.length > 0;
}

/** Forgets which of our servers a source's ids mean. */
export async function forgetServerAliases(db: Db, source: string): Promise<void> {
  await db.delete(serverAliases).where(eq(serverAliases.source, source));
}
