import { inTransaction, type Tx } from '../../../src/db/client.ts';
import type { StaffAction } from '../../../src/domain/appeal.ts';
import { actOnAppeal, answerAppeal, openAppeal } from '../../../src/queries/appeals/appeals.ts';
import { insertPenalties, insertUser } from '../database/builders.ts';
import { nextSnowflake } from '../discord/snowflake.ts';
import type { TestBot } from './bot.ts';

/** The text of every appeal and message of tests. */
export const APPEAL_TEXT = 'It was my brother, whom I have taken the mouse from.';

let lastPlayer = 1000;

/** Opens an appeal of a new player against a new ban. */
export async function insertAppeal(
  db: TestBot['db'],
  { wantsMessages = false, language = 'en' }: { wantsMessages?: boolean; language?: 'en' | 'pl' } = {},
) {
  lastPlayer += 1;
  const discordId = nextSnowflake();
  const playerName = `**Player** ${lastPlayer}`;
  const { id: userId, steamId64 } = await insertUser(db, lastPlayer, { discordId });
  const staff = await insertUser(db, lastPlayer + 1000, { isModerator: true });
  const [ban] = await insertPenalties(db, [{ playerSteamId: steamId64, playerName }]);
  const penaltyId = ban?.id ?? 0;
  const message = { text: APPEAL_TEXT, now: new Date() };
  const appeal = { ...message, penaltyId, userId, wantsMessages, language, againDays: 30 };
  const id = await inTransaction(db, (tx) => openAppeal(tx, appeal));
  const actIn = (tx: Tx, action: StaffAction) =>
    actOnAppeal(tx, id, { ...message, action, userId: staff.id });
  return {
    id,
    penaltyId,
    discordId,
    steamId64,
    playerName,
    /** What a moderator does with it. */
    act: (action: StaffAction) => inTransaction(db, (tx) => actIn(tx, action)),
    /** The same in a transaction that goes on. */
    actIn,
    /** What the player adds. */
    answer: () => inTransaction(db, (tx) => answerAppeal(tx, id, { ...message, userId })),
  };
}
