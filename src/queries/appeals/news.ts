import { and, asc, eq, isNotNull, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../../db/client.ts';
import { users } from '../../db/schema/accounts.ts';
import { appealMessages, appeals } from '../../db/schema/appeals.ts';
import { penalties } from '../../db/schema/penalties.ts';
import type { AppealEnding, AppealNews } from '../../domain/appeal.ts';
import type { Language } from '../../domain/language.ts';
import type { PenaltyType } from '../../domain/penalty.ts';
import { type Appeal, IS_APPEALED } from './appeals.ts';

export type UnsentAppealNews = {
  id: number;
  news: AppealNews;
  penaltyId: number;
  /** Null when the penalty is no longer stored. */
  penaltyType: PenaltyType | null;
  /** The message of the news; null when the appeal was closed or carried out. */
  messageId: number | null;
  /** How its penalty ended, if the news is about that. */
  ending: AppealEnding | null;
  language: Language;
  /** Null: the player no longer has a linked account. */
  discordId: string | null;
};

/** See {@link UnsentAppealNews}. */
const NEWS_MESSAGE = sql<number | null>`(select max(${appealMessages.id}) from ${appealMessages}
  where ${and(eq(appealMessages.appealId, appeals.id), eq(appealMessages.kind, appeals.unsentNews))})`;

/** The appeals with news that is still to be sent on Discord. */
export async function listUnsentAppealNews(db: Db): Promise<UnsentAppealNews[]> {
  const rows = await db
    .select({
      id: appeals.id,
      news: appeals.unsentNews,
      penaltyId: appeals.penaltyId,
      penaltyType: penalties.type,
      messageId: NEWS_MESSAGE,
      ending: appeals.ending,
      language: appeals.language,
      discordId: users.discordId,
    })
    .from(appeals)
    .leftJoin(users, eq(users.steamId64, appeals.playerSteamId))
    .leftJoin(penalties, IS_APPEALED)
    .where(isNotNull(appeals.unsentNews))
    .orderBy(asc(appeals.id));
  return rows.flatMap(({ news, ...row }) => (news === null ? [] : [{ ...row, news }]));
}

/** Records that the news was sent, unless there is other news meanwhile, such as another question. */
export async function finishAppealNews(
  db: Db,
  { id, news, messageId }: UnsentAppealNews,
  changes: Partial<Pick<Appeal, 'wantsMessages'>> = {},
): Promise<void> {
  const isSameMessage = sql`${NEWS_MESSAGE} is not distinct from ${messageId}::integer`;
  await inTransaction(db, async (tx) => {
    // Locked first: an update that waits for a question would not see its message.
    await tx.select({ id: appeals.id }).from(appeals).where(eq(appeals.id, id)).for('update');
    await tx
      .update(appeals)
      .set({ unsentNews: null, ...changes })
      .where(and(eq(appeals.id, id), eq(appeals.unsentNews, news), isSameMessage));
  });
}
