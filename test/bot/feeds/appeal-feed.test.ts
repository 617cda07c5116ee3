import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { discordAppealPosts } from '../../../src/db/schema/discord.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { actOnAppeal, openAppeal, settleAppeals } from '../../../src/queries/appeals.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { PUBLIC_URL, startTestBot } from '../../support/bot/bot.ts';
import { createFeedStarter } from '../../support/bot/feeds.ts';
import { insertPenalties, insertUser } from '../../support/database/builders.ts';
import { waitFor } from '../../support/wait.ts';

const harness = await startTestBot({ bot: { timings: { feedIntervalMs: 20 } } });
const { fake, db } = harness;
const startFeed = createFeedStarter(harness);
await harness.connect();
const { appeal: words, feed: feedWords } = BOT_TEXTS.en;
const TEXT = 'It was my brother, whom I have taken the mouse from.';
const staff = await insertUser(db, 1, { isModerator: true });
let lastPlayer = 100;

async function open() {
  lastPlayer += 1;
  const player = await insertUser(db, lastPlayer);
  const [ban] = await insertPenalties(db, [
    { playerSteamId: player.steamId64, playerName: `**Player** ${lastPlayer}` },
  ]);
  const penaltyId = ban?.id ?? 0;
  const appeal = {
    penaltyId,
    text: TEXT,
    userId: player.id,
    now: new Date(),
    wantsMessages: false,
    locale: 'en',
  } as const;
  const id = await db.transaction((tx) => openAppeal(tx, { ...appeal, againDays: 30 }));
  const act = (action: 'asked' | 'accepted' | 'denied') =>
    db.transaction((tx) => actOnAppeal(tx, id, { action, text: TEXT, userId: staff.id, now: new Date() }));
  return { id, penaltyId, steamId64: player.steamId64, act };
}

const titleOf = (penaltyId: number, state: string) =>
  words.title({ entry: BOT_TEXTS.en.record.entry({ type: 'ban', id: penaltyId }), state });

test('a feed of appeals posts each once, and edits it at each change, without any text', async () => {
  const before = await open();
  const feed = await startFeed({ what: 'appeals' });
  const appeal = await open();
  await waitFor(() => feed.messages().length === 1);
  const [message] = feed.messages();
  expect(feed.titles()).toEqual([titleOf(appeal.penaltyId, words.states.undecided)]);
  expect(message?.embeds[0]?.description).toBe(words.messages(1));
  expect(JSON.stringify(message)).toContain(`${PUBLIC_URL}/account/moderation/appeals/${appeal.id}`);
  await appeal.act('asked');
  await waitFor(() => feed.messages()[0]?.embeds[0]?.description === words.messages(2));
  await appeal.act('accepted');
  await waitFor(() => feed.titles()[0] === titleOf(appeal.penaltyId, words.states.accepted));
  await db.update(penalties).set({ status: 'UNBANNED' }).where(eq(penalties.id, appeal.penaltyId));
  await settleAppeals(db, new Date());
  await waitFor(() => feed.titles()[0] === titleOf(appeal.penaltyId, words.carriedOut));
  // Those of before the feed are not posted, however they change.
  await before.act('denied');
  const last = await open();
  await waitFor(() => feed.messages().length === 2);
  expect(feed.titles().at(-1)).toBe(titleOf(last.penaltyId, words.states.undecided));
  expect(JSON.stringify(feed.messages())).not.toContain(TEXT);
});

test('a message about an appeal loses the player when they are erased', async () => {
  const feed = await startFeed({ what: 'appeals' });
  const { id, steamId64 } = await open();
  await waitFor(() => feed.messages().length === 1);
  await erasePerson(db, steamId64, { withPenalties: false, actor: 'operator', removeSounds: async () => {} });
  await waitFor(() => feed.messages()[0]?.embeds[0]?.description === words.deleted);
  expect(JSON.stringify(feed.messages())).not.toContain(steamId64);
  expect(JSON.stringify(feed.messages())).not.toContain(`Player** ${lastPlayer}`);
  await waitFor(async () => (await db.$count(discordAppealPosts, eq(discordAppealPosts.appealId, id))) === 0);
});

test('a feed of appeals posts what happened during an outage once', async () => {
  const feed = await startFeed({ what: 'appeals' });
  feed.fail('POST', 'lost');
  await open();
  await waitFor(() => feed.messages().length === 1);
  await harness.bot.stop();
  const second = await open();
  await harness.startNext();
  await waitFor(() => feed.titles().at(-1) === titleOf(second.penaltyId, words.states.undecided));
  expect(feed.messages()).toHaveLength(2);
  fake.clearFaults();
});

test('/feed start what:appeals refuses options', async () => {
  const { manager } = await startFeed({ what: 'appeals' });
  const refused = await fake.command('feed start', { what: 'appeals', players: 3 }, manager);
  expect(JSON.stringify(refused.message)).toContain(feedWords.appealsHaveNoOptions);
});
