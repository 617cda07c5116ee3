import { expect, test } from 'bun:test';
import { createBot } from '../../../bot/bot.ts';
import { discordFeedPosts, discordFeeds } from '../../../src/db/schema/discord.ts';
import { penaltyEventState, penaltyEvents } from '../../../src/db/schema/penalties.ts';
import { prunePenaltyEvents } from '../../../src/queries/penalties/events.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { createFeedStarter, settleFeeds } from '../../support/bot/feeds.ts';
import { insertPenalties, insertServer } from '../../support/database/builders.ts';
import { waitFor } from '../../support/wait.ts';

const harness = await startTestBot({ bot: { timings: { feedIntervalMs: 50, drainMs: 300 } } });
const { fake, db } = harness;
const startFeed = createFeedStarter(harness);
let bot = harness.bot;
await harness.connect();

async function start(): Promise<void> {
  bot = createBot({ ...harness.deps });
  bot.start();
  await waitFor(() => bot.health().state === 'ready');
}
const settle = () => settleFeeds({ db, bot });
const insertMany = (amount: number) =>
  insertPenalties(
    db,
    Array.from({ length: amount }, () => ({})),
  );

test('a restart after a message whose response was lost posts it once, and what happened meanwhile', async () => {
  const feed = await startFeed({ what: 'penalties' });
  fake.fail({ matches: new RegExp(`^POST /channels/${feed.channelId}`), response: 'lost' });
  const [first] = await insertMany(1);
  await waitFor(() => feed.messages().length === 1);
  await bot.stop();
  const [second] = await insertMany(1);
  await start();
  await settle();
  expect(feed.titles()).toEqual([`🔴 Ban #${first?.id} · active`, `🔴 Ban #${second?.id} · active`]);
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
  await db.delete(discordFeeds);
  fake.clearFaults();
});

test('a summary whose response was lost stays the same summary, whatever came meanwhile', async () => {
  const feed = await startFeed({ what: 'penalties' });
  fake.fail({ matches: new RegExp(`^POST /channels/${feed.channelId}`), response: 'lost' });
  await insertMany(25);
  await waitFor(() => feed.messages().length === 1);
  await bot.stop();
  await insertMany(30);
  await start();
  await settle();
  expect(feed.titles()).toEqual(['🔴 25 new penalties', '🔴 30 new penalties']);
  await db.delete(discordFeeds);
  fake.clearFaults();
});

test('a message that was deleted before its response arrived is not posted again', async () => {
  const feed = await startFeed({ what: 'penalties' });
  fake.fail({ matches: new RegExp(`^POST /channels/${feed.channelId}`), response: 'lost' });
  await insertMany(1);
  await waitFor(() => feed.messages().length === 1);
  await bot.stop();
  fake.messages.delete(feed.messages()[0]?.id ?? '');
  await start();
  await settle();
  await insertMany(1);
  await settle();
  expect(feed.messages()).toHaveLength(1);
  await db.delete(discordFeeds);
  fake.clearFaults();
});

test('what happened to servers while the bot was away is posted once', async () => {
  const { id } = await insertServer(db, { name: 'Retake' });
  await harness.poll(id, {});
  await harness.refreshServers();
  const feed = await startFeed({ what: 'servers' });
  await bot.wakeFeeds();
  fake.fail({ matches: new RegExp(`^POST /channels/${feed.channelId}`), response: 'lost' });
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
  expect(feed.titles()).toEqual(['🔴 Retake is offline', '🟢 Retake is back online']);
  await db.delete(discordFeeds);
  fake.clearFaults();
});

test('two processes at once, as while the leader changes, post what happens to a server once', async () => {
  const { id } = await insertServer(db, { name: 'Arena' });
  await harness.poll(id, {});
  await harness.refreshServers();
  const feed = await startFeed({ what: 'servers', players: 5 });
  await bot.wakeFeeds();
  const twin = createBot({ ...harness.deps });
  twin.start();
  await waitFor(() => twin.health().state === 'ready');
  for (const count of ['missed', 'missed', 2, 9] as const) {
    await harness.poll(id, count === 'missed' ? undefined : { playersCount: count });
    await harness.refreshServers();
    await Promise.all([bot.wakeFeeds(), twin.wakeFeeds()]);
  }
  await twin.stop();
  expect(feed.titles()).toEqual(['🔴 Arena is offline', '🟢 Arena is back online', '👥 9 players on Arena']);
  await db.delete(discordFeeds);
});

test('after an outage of more than 30 days, the events that are still stored are posted as one summary', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await bot.stop();
  await insertMany(3);
  await db.update(penaltyEvents).set({ occurredAt: new Date(Date.now() - 31 * 86_400_000) });
  await prunePenaltyEvents(db);
  await insertMany(21);
  await start();
  await settle();
  expect(feed.titles()).toEqual(['🔴 21 new penalties']);
  await db.delete(discordFeeds);
});

test('a cursor of another database is replaced by the current one, and the log says so', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await bot.stop();
  await db.update(penaltyEventState).set({ epoch: '0badcafe' });
  await insertMany(1);
  await start();
  await settle();
  await insertMany(1);
  await settle();
  expect(feed.messages()).toHaveLength(1);
  expect(harness.lines.some(({ msg }) => msg.includes('its position is from another database'))).toBe(true);
  await bot.stop();
});
