import { beforeEach, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { discordFeedPosts, discordFeeds } from '../../../src/db/schema/discord.ts';
import { actOnAppeal, openAppeal } from '../../../src/queries/appeals.ts';
import { listAuditEntries } from '../../../src/queries/audit-log.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { changePenalty, createFeedStarter, settleFeeds, titleOfBan } from '../../support/bot/feeds.ts';
import { aSteamId, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { messageOf } from '../../support/discord/exchange.ts';
import { refuse } from '../../support/discord/faults.ts';
import { waitFor } from '../../support/wait.ts';

const harness = await startTestBot({ bot: { timings: { feedIntervalMs: 50 } } });
const { fake, db, lines } = harness;
const startFeed = createFeedStarter(harness);
await harness.connect();
beforeEach(async () => {
  await db.delete(discordFeeds);
  fake.clearFaults();
  lines.length = 0;
});

/** Opens an appeal against a new ban. @returns denies it. */
async function anAppeal(): Promise<() => Promise<unknown>> {
  const player = await insertUser(db, 77);
  const staff = await insertUser(db, 78, { isModerator: true });
  const [ban] = await insertPenalties(db, [{ playerSteamId: player.steamId64 }]);
  const text = 'It was my brother, whom I have taken the mouse from.';
  const now = new Date();
  const appeal = { penaltyId: ban?.id ?? 0, text, userId: player.id, now, wantsMessages: false } as const;
  const id = await db.transaction((tx) => openAppeal(tx, { ...appeal, locale: 'en', againDays: 30 }));
  return () => db.transaction((tx) => actOnAppeal(tx, id, { action: 'denied', text, userId: staff.id, now }));
}

test('a deleted channel switches its feed off, and the person who started it is told', async () => {
  const lost = await startFeed({ what: 'penalties' }, { guildLocale: 'pl' });
  const other = await startFeed({ what: 'penalties' });
  fake.goneChannels.add(lost.channelId);
  await insertPenalties(db, [{}]);
  await waitFor(() => fake.directMessagesTo(lost.manager.user.id).length === 1);
  const [told] = fake.directMessagesTo(lost.manager.user.id);
  expect(told?.embeds[0]?.description).toBe(
    BOT_TEXTS.pl.feed.switchedOff({
      subject: 'penalties',
      channel: `<#${lost.channelId}>`,
      start: fake.mention('feed start'),
    }),
  );
  expect(await db.select().from(discordFeeds)).toMatchObject([{ channelId: other.channelId }]);
  await settleFeeds(harness);
  expect(other.messages()).toHaveLength(1);
  expect(lines.filter(({ msg }) => msg.includes('a feed is switched off'))).toMatchObject([
    { channelId: lost.channelId, subject: 'penalties' },
  ]);
  const entries = await listAuditEntries(db);
  expect(entries.filter(({ action }) => action === 'feed.switched-off')).toMatchObject([
    { subject: `#${lost.channelId}`, actor: 'service', details: { feed: 'penalties' } },
  ]);
});

test.each([
  [403, 50_001],
  [403, 50_013],
  [400, 50_008],
  [400, 160_005],
])(
  'a permission that stays lost (%d, %d) pauses the feed, which continues once it is started again',
  async (status, code) => {
    const feed = await startFeed({ what: 'penalties' });
    const [followed] = await insertPenalties(db, [{}]);
    await settleFeeds(harness);
    feed.fail('POST', refuse(status, code), 4);
    const [first] = await insertPenalties(db, [{}]);
    await waitFor(() => feed.messages().length === 2);
    feed.fail('POST', refuse(status, code), 5);
    const [second] = await insertPenalties(db, [{}]);
    await waitFor(() => fake.directMessagesTo(feed.manager.user.id).length === 1);
    const [told] = fake.directMessagesTo(feed.manager.user.id);
    const start = fake.mention('feed start');
    expect(told?.embeds[0]?.description).toBe(
      BOT_TEXTS.en.feed.paused({ subject: 'penalties', channel: `<#${feed.channelId}>`, start }),
    );
    expect(await db.select().from(discordFeeds)).toMatchObject([{ pausedAt: expect.any(Date) }]);
    expect((await listAuditEntries(db))[0]).toMatchObject({ action: 'feed.paused', actor: 'service' });
    const list = messageOf(await fake.command('feed list', {}, feed.manager));
    expect(list.embeds[0]?.description).toMatch(
      new RegExp(BOT_TEXTS.en.feed.pausedSince('<t:\\d+:R>', start)),
    );

    await changePenalty(db, followed, { status: 'UNBANNED' });
    await harness.bot.wakeFeeds();
    expect(feed.messages()).toHaveLength(2);
    await fake.command('feed start', { what: 'penalties' }, feed.manager);
    await settleFeeds(harness);
    expect(feed.titles()).toEqual([
      titleOfBan(followed?.id, 'UNBANNED'),
      titleOfBan(first?.id, 'ACTIVE'),
      titleOfBan(second?.id, 'ACTIVE'),
    ]);
    expect(fake.directMessagesTo(feed.manager.user.id)).toHaveLength(1);
  },
);

test.each(['penalties', 'appeals'] as const)(
  'refused edits pause a feed of %s while changes go on that it does not post',
  async (what) => {
    const feed = await startFeed(what === 'penalties' ? { what, types: 'ban' } : { what });
    let change: () => Promise<unknown>;
    if (what === 'penalties') {
      const [ban] = await insertPenalties(db, [{}]);
      change = () => changePenalty(db, ban, { status: 'UNBANNED' });
    } else change = await anAppeal();
    await waitFor(() => feed.messages().length === 1);
    feed.fail(
      'PATCH',
      async () => {
        await insertPenalties(db, [{ type: 'mute' }]);
        return refuse(403, 50_001)();
      },
      20,
    );
    await change();
    await waitFor(() => fake.directMessagesTo(feed.manager.user.id).length === 1);
    expect(feed.requests('PATCH')).toHaveLength(5);
    expect(lines.filter(({ msg }) => msg.includes('could not be brought up to date'))).toHaveLength(1);
  },
);

test('a late refusal does not switch off a feed that has been started again since', async () => {
  const feed = await startFeed({ what: 'penalties' });
  const { promise: restarted, resolve } = Promise.withResolvers<void>();
  feed.fail('POST', async () => {
    await fake.command('feed stop', { what: 'penalties' }, feed.manager);
    await fake.command('feed start', { what: 'penalties' }, feed.manager);
    resolve();
    return refuse(404, 10_003)();
  });
  await insertPenalties(db, [{}]);
  await restarted;
  // Waits for the refused feed as well.
  await settleFeeds(harness);
  expect(await db.select().from(discordFeeds)).toMatchObject([{ channelId: feed.channelId }]);
  expect(fake.directMessagesTo(feed.manager.user.id)).toEqual([]);
  expect(lines.filter(({ msg }) => msg.includes('a feed is switched off'))).toEqual([]);
});

test('the log says so when a direct message is refused', async () => {
  const feed = await startFeed({ what: 'penalties' });
  fake.goneChannels.add(feed.channelId);
  fake.fail({ matches: /^POST \/users\/@me\/channels/, response: refuse(403, 50_007) });
  await insertPenalties(db, [{}]);
  await waitFor(() => lines.some(({ msg }) => msg.includes('could not be notified by direct message')));
  expect(await db.select().from(discordFeeds)).toEqual([]);
  expect(fake.directMessagesTo(feed.manager.user.id)).toEqual([]);
});

test('nobody is told when the person who started the feed has been erased', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await insertUser(db, 9, { discordId: feed.manager.user.id });
  const removeSounds = async () => undefined;
  await erasePerson(db, aSteamId(9), { withPenalties: false, actor: 'operator', removeSounds });
  // A round that began before the erasure has read who started it.
  await settleFeeds(harness);
  fake.goneChannels.add(feed.channelId);
  await insertPenalties(db, [{}]);
  await waitFor(() => lines.some(({ msg }) => msg.includes('a feed is switched off')));
  await settleFeeds(harness);
  const channelsOpened = fake.requests.filter(
    ({ path, body }) =>
      path === '/users/@me/channels' && Bun.deepEquals(body, { recipient_id: feed.manager.user.id }),
  );
  expect(channelsOpened).toEqual([]);
  expect(lines.filter(({ msg }) => msg.includes('could not be notified'))).toEqual([]);
});

test('a message that Discord refuses is left out, and the feed goes on', async () => {
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', refuse(400, 200_000));
  await insertPenalties(db, [{}, {}]);
  await settleFeeds(harness);
  expect(feed.messages()).toHaveLength(1);
  expect(lines.filter(({ msg }) => msg === 'Discord refused a message of a feed')).toHaveLength(1);
});

test("a message of the bot's earlier application is left as it is, and the feed goes on", async () => {
  const feed = await startFeed({ what: 'penalties' });
  const rows = await insertPenalties(db, [{}, {}]);
  await settleFeeds(harness);
  const [old] = feed.messages();
  fake.fail({
    matches: new RegExp(`^PATCH /channels/${feed.channelId}/messages/${old?.id}`),
    times: 1000,
    response: refuse(403, 50_005),
  });
  for (const row of rows) await changePenalty(db, row, { status: 'UNBANNED' });
  await waitFor(() => feed.titles()[1] === titleOfBan(rows[1]?.id, 'UNBANNED'));
  await settleFeeds(harness);
  expect(feed.titles()[0]).toBe(titleOfBan(rows[0]?.id, 'ACTIVE'));
  // Its penalty's later changes are not tried again.
  expect(await db.select().from(discordFeedPosts)).toMatchObject([{ penaltyId: rows[1]?.id }]);
});

test('the feed waits while Discord or the token fails, and then posts everything in order', async () => {
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', refuse(503), 7);
  const rows = await insertPenalties(db, [{}, {}, {}]);
  await waitFor(() => feed.messages().length === 3);
  expect(feed.titles()).toEqual(rows.map(({ id }) => titleOfBan(id, 'ACTIVE')));
  expect(lines.filter(({ msg }) => msg.includes('could not be brought up to date'))).toHaveLength(1);
});

test('`/feed start` tries a feed again at once that has been refused', async () => {
  const slow = await harness.startNext({ timings: { feedIntervalMs: 60_000 } });
  await harness.bot.stop();
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', refuse(403, 50_013));
  await insertPenalties(db, [{}]);
  await slow.wakeFeeds();
  expect(feed.messages()).toEqual([]);
  await fake.command('feed start', { what: 'penalties' }, feed.manager);
  await waitFor(() => feed.messages().length === 1);
  await slow.stop();
});
