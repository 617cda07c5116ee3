import { asc, eq } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { liveStatusMessages } from '../db/schema/discord.ts';

export type LiveStatusMessage = typeof liveStatusMessages.$inferSelect;

/** Every live status message, oldest first. */
export async function listLiveStatusMessages(db: Db): Promise<LiveStatusMessage[]> {
  return db.select().from(liveStatusMessages).orderBy(asc(liveStatusMessages.createdAt));
}

/** Remembers a message to keep up to date; one that is known stays as it is. */
export async function saveLiveStatusMessage(
  db: Db,
  message: typeof liveStatusMessages.$inferInsert,
): Promise<void> {
  await db.insert(liveStatusMessages).values(message).onConflictDoNothing();
}

/** Forgets a message that Discord no longer has. */
export async function removeLiveStatusMessage(db: Db, messageId: string): Promise<void> {
  await db.delete(liveStatusMessages).where(eq(liveStatusMessages.messageId, messageId));
}
