import { afterEach, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { discordFeedPosts, discordFeeds } from '../../../src/db/schema/discord.ts';
import { penaltyEventState, penaltyEvents } from '../../../src/db/schema/penalties.ts';
import { prunePenaltyEvents } from '../../../src/queries/penalties/events.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { createFeedStarter, insertMany, settleFeeds, titleOfBan } from '../../support/bot/feeds.ts';
import { insertServer } from '../../support/database/builders.ts';
import { waitFor } from '../../support/wait.ts';

const { en } = BOT_TEXTS;
const down = (name: string) => `🔴 ${en.feed.one.down(name, 0)}`;
const up = (name: string) => `🟢 ${en.feed.one.up(name, 0)}`;

const harness = await startTestBot({ bot: { timings: { feedIntervalMs: 50, drainMs: 300 } } });
const { fake, db } = harness;
const startFeed = createFeedStarter(harness);
let { bot } = harness;
await harness.connect();
afterEach(async () => {
  await db.delete(discordFeeds);
  fake.clearFaults();
});

const start = async () => {
  bot = await harness.startNext();
};
const settle = () => settleFeeds({ db, bot });

test('a restart after a message whose response was lost posts it once, and what happened meanwhile', async () => {
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', 'lost');
  const [first] = await insertMany(db, 1);
  await waitFor(() => feed.messages().length === 1);
  await bot.stop();
  const [second] = await insertMany(db, 1);
  await start();
  await settle();
  expect(feed.titles()).toEqual([titleOfBan(first?.id, 'ACTIVE'), titleOfBan(second?.id, 'ACTIVE')]);
  fake.clearFaults();
  await waitFor(() => feed.requests('POST').length === 3);
  const bodies = Map.groupBy(
    feed.requests('POST').map(({ body }) => JSON.stringify(body)),
    (body) => body,
  );
  expect([...bodies.values()].map(({ length }) => length).sort()).toEqual([1, 2]);
  expect(feed.requests('POST')[0]?.body).toMatchObject({
    nonce: expect.stringMatching(/^[\w-]{25}$/),
    enforce_nonce: true,
  });
  // Both messages are recorded, so that both can be edited.
  const posts = await db.select().from(discordFeedPosts);
  expect(posts.map(({ messageId }) => messageId)).toEqual(feed.messages().map(({ id }) => id));
});

test('a summary whose response was lost stays the same summary, whatever came meanwhile', async () => {
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', 'lost');
  await insertMany(db, 25);
  await waitFor(() => feed.messages().length === 1);
  await bot.stop();
  await insertMany(db, 30);
  await start();
  await settle();
  expect(feed.titles()).toEqual([`🔴 ${en.feed.summaryTitle(25)}`, `🔴 ${en.feed.summaryTitle(30)}`]);
});

test('a message that was deleted before its response arrived is not posted again', async () => {
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', 'lost');
  await insertMany(db, 1);
  await waitFor(() => feed.messages().length === 1);
  await bot.stop();
  fake.messages.delete(feed.messages()[0]?.id ?? '');
  await start();
  await settle();
  await insertMany(db, 1);
  await settle();
  expect(feed.messages()).toHaveLength(1);
});

test('what happened to servers while the bot was away is posted once', async () => {
  const { id } = await insertServer(db, { name: 'Retake' });
  await harness.poll(id, {});
  await harness.refreshServers();
  const feed = await startFeed({ what: 'servers', after: 0 });
  await bot.wakeFeeds();
  feed.fail('POST', 'lost');
  await harness.poll(id, undefined);
  await harness.poll(id, undefined);
  await harness.refreshServers();
  await waitFor(() => feed.messages().length === 1);
  await bot.stop();
  await harness.poll(id, {});
  await harness.refreshServers();
  await start();
  await waitFor(() => feed.messages().length === 2);
  await bot.wakeFeeds();
  expect(feed.titles()).toEqual([down('Retake'), up('Retake')]);
});

test('two processes at once, as while the leader changes, post what happens to a server once', async () => {
  const { id } = await insertServer(db, { name: 'Arena' });
  await harness.poll(id, {});
  await harness.refreshServers();
  const feed = await startFeed({ what: 'servers', after: 0, players: 5 });
  await bot.wakeFeeds();
  const twin = await harness.startNext();
  for (const count of ['missed', 'missed', 2, 9] as const) {
    await harness.poll(id, count === 'missed' ? undefined : { playersCount: count });
    await harness.refreshServers();
    await Promise.all([bot.wakeFeeds(), twin.wakeFeeds()]);
  }
  await twin.stop();
  expect(feed.titles()).toEqual([down('Arena'), up('Arena'), `👥 ${en.feed.one.players('Arena', 9)}`]);
});

test('posts the events still stored after an outage of more than 30 days as one summary', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await bot.stop();
  await insertMany(db, 3);
  await db.update(penaltyEvents).set({ occurredAt: new Date(Date.now() - 31 * 86_400_000) });
  await prunePenaltyEvents(db);
  await insertMany(db, 21);
  await start();
  await settle();
  expect(feed.titles()).toEqual([`🔴 ${en.feed.summaryTitle(21)}`]);
});

test('a cursor of another database is replaced by the current one, and the log says so', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await bot.stop();
  await db.update(penaltyEventState).set({ epoch: '0badcafe' });
  await insertMany(db, 1);
  await start();
  await settle();
  await insertMany(db, 1);
  await settle();
  expect(feed.messages()).toHaveLength(1);
  expect(harness.lines.some(({ msg }) => msg.includes('its position is from another database'))).toBe(true);
  await bot.stop();
});
