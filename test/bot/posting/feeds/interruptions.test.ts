import { beforeEach, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../../bot/locales/localization.ts';
import { discordFeedPosts, discordFeeds } from '../../../../src/db/schema/discord.ts';
import { penaltyEventState, penaltyEvents } from '../../../../src/db/schema/penalties.ts';
import { listAuditEntries } from '../../../../src/queries/audit-log.ts';
import { prunePenaltyEvents } from '../../../../src/queries/events.ts';
import { insertAppeal } from '../../../support/bot/appeals.ts';
import { changePenalty, insertMany, startFeedBot, titleOfBan } from '../../../support/bot/feeds.ts';
import {
  aSteamId,
  erase,
  insertPenalties,
  insertServer,
  insertUser,
} from '../../../support/database/builders.ts';
import { textOf } from '../../../support/discord/exchange.ts';
import { refuse, slowDown } from '../../../support/discord/faults.ts';
import { waitFor } from '../../../support/wait.ts';

const GUILD = '900000000000000001';
const { en } = BOT_TEXTS;
const down = (name: string) => `🔴 ${en.feed.one.down(name, 0)}`;
const up = (name: string) => `🟢 ${en.feed.one.up(name, 0)}`;

const harness = await startFeedBot({ timings: { drainMs: 300, applicationCheckMs: 50 } });
const { fake, db, lines, linesAbout, startFeed, settle, restart } = harness;
beforeEach(async () => {
  await db.delete(discordFeeds);
  fake.clearFaults();
  lines.length = 0;
});

test('a deleted channel switches its feed off, and the person who started it is told', async () => {
  const lost = await startFeed({ what: 'penalties' }, { guildLocale: 'pl' });
  const other = await startFeed({ what: 'penalties' });
  fake.goneChannels.add(lost.channelId);
  await insertPenalties(db, [{}]);
  await waitFor(() => lost.told().length > 0);
  const [channel, start] = [`<#${lost.channelId}>`, fake.mention('feed start')];
  expect(lost.told()).toEqual([BOT_TEXTS.pl.feed.switchedOff({ subject: 'penalties', channel, start })]);
  expect(await db.select().from(discordFeeds)).toMatchObject([{ channelId: other.channelId }]);
  await settle();
  expect(other.messages()).toHaveLength(1);
  expect(linesAbout('a feed is switched off')).toMatchObject([
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
    await settle();
    feed.fail('POST', refuse(status, code), 4);
    const [first] = await insertPenalties(db, [{}]);
    await waitFor(() => feed.messages().length === 2);
    feed.fail('POST', refuse(status, code), 5);
    const [second] = await insertPenalties(db, [{}]);
    await waitFor(() => feed.told().length > 0);
    const [channel, start] = [`<#${feed.channelId}>`, fake.mention('feed start')];
    const told = [en.feed.paused({ subject: 'penalties', channel, start })];
    expect(feed.told()).toEqual(told);
    expect(await db.select().from(discordFeeds)).toMatchObject([{ pausedAt: expect.any(Date) }]);
    expect((await listAuditEntries(db))[0]).toMatchObject({ action: 'feed.paused', actor: 'service' });
    const list = textOf(await fake.command('feed list', {}, feed.manager));
    expect(list).toMatch(new RegExp(en.feed.pausedSince('<t:\\d+:R>', start)));

    await changePenalty(db, followed, { status: 'UNBANNED' });
    await harness.bot.wakeFeeds();
    expect(feed.messages()).toHaveLength(2);
    await fake.command('feed start', { what: 'penalties' }, feed.manager);
    await settle();
    expect(feed.titles()).toEqual([
      titleOfBan(followed?.id, 'UNBANNED'),
      titleOfBan(first?.id, 'ACTIVE'),
      titleOfBan(second?.id, 'ACTIVE'),
    ]);
    expect(feed.told()).toEqual(told);
  },
);

/** Starts a feed in another guild, in which the bot then loses the permission to post for good. */
async function startPausedFeed(guildId: string) {
  const feed = await startFeed({ what: 'penalties' }, { guildId });
  feed.fail('POST', refuse(403, 50_013), 5);
  const [penalty] = await insertPenalties(db, [{}]);
  await waitFor(() => feed.told().length > 0);
  return { ...feed, title: titleOfBan(penalty?.id, 'ACTIVE') };
}

test('a paused feed is tried once when another message in its guild works, and continues if that works', async () => {
  const feed = await startPausedFeed('900000000000000021');
  feed.fail('POST', refuse(403, 50_013));
  const tries = feed.requests('POST').length;
  const other = await startFeed({ what: 'penalties' }, { guildId: '900000000000000021' });
  for (let message = 1; message < 3; message++) {
    await insertPenalties(db, [{}]);
    await waitFor(() => other.messages().length === message);
    await harness.bot.wakeFeeds();
  }
  expect(feed.requests('POST')).toHaveLength(tries + 1);
  expect(feed.told()).toHaveLength(1);
  await restart();
  await insertPenalties(db, [{}]);
  await waitFor(() => feed.titles()[0] === feed.title);
  await settle();
  expect(feed.messages()).toHaveLength(4);
  expect(await db.select().from(discordFeeds)).toMatchObject([{ pausedAt: null }, { pausedAt: null }]);
  expect((await listAuditEntries(db))[0]).toMatchObject({ action: 'feed.resumed', actor: 'service' });
});

test.each([
  ['one guild', GUILD],
  ['all guilds', undefined],
])('a paused feed continues when a bot for %s is invited again', async (_, guildId) => {
  await restart({ guildId, timings: { commandCheckMs: 20 } });
  const feed = await startPausedFeed(GUILD);
  fake.removeBot();
  const isAsked = ({ path }: { path: string }) => path === '/users/@me/guilds';
  const before = fake.requests.filter(isAsked).length;
  await waitFor(
    () => harness.bot.health().commands !== 'registered' || fake.requests.filter(isAsked).length > before + 1,
  );
  fake.inviteBot();
  await waitFor(() => feed.titles()[0] === feed.title);
  await restart();
});

test('an edit that keeps failing delays neither other edits nor new messages', async () => {
  const feed = await startFeed({ what: 'penalties' });
  const rows = await insertPenalties(db, [{}, {}]);
  await settle();
  const [stuck] = feed.messages();
  fake.fail({
    matches: new RegExp(`^PATCH /channels/${feed.channelId}/messages/${stuck?.id}`),
    times: 1000,
    response: refuse(503),
  });
  for (const row of rows) await changePenalty(db, row, { status: 'UNBANNED' });
  const [next] = await insertPenalties(db, [{}]);
  await waitFor(() => feed.messages().length === 3);
  await waitFor(() => feed.titles()[1] === titleOfBan(rows[1]?.id, 'UNBANNED'));
  expect(feed.titles()).toEqual([
    titleOfBan(rows[0]?.id, 'ACTIVE'),
    titleOfBan(rows[1]?.id, 'UNBANNED'),
    titleOfBan(next?.id, 'ACTIVE'),
  ]);
  expect(harness.bot.health().feeds).toMatchObject({
    total: 1,
    paused: 0,
    behind: 1,
    behindSince: expect.any(Date),
  });
  fake.clearFaults();
  await settle();
  await waitFor(() => linesAbout('editing a message of a feed works again').length === 1);
  expect(harness.bot.health().feeds).toMatchObject({ behind: 0, behindSince: undefined });
});

test.each(['penalties', 'appeals'] as const)(
  'refused edits pause a feed of %s while changes go on that it does not post',
  async (what) => {
    const feed = await startFeed(what === 'penalties' ? { what, types: 'ban' } : { what });
    let change: () => Promise<unknown>;
    if (what === 'penalties') {
      const [ban] = await insertPenalties(db, [{}]);
      change = () => changePenalty(db, ban, { status: 'UNBANNED' });
    } else {
      const { act } = await insertAppeal(db);
      change = () => act('denied');
    }
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
    await waitFor(() => feed.told().length === 1);
    expect(feed.requests('PATCH')).toHaveLength(5);
    expect(linesAbout('bringing a feed up to date failed')).toHaveLength(1);
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
  await settle();
  expect(await db.select().from(discordFeeds)).toMatchObject([{ channelId: feed.channelId }]);
  expect(feed.told()).toEqual([]);
  expect(linesAbout('a feed is switched off')).toEqual([]);
});

test('the log says so when a direct message is refused', async () => {
  const feed = await startFeed({ what: 'penalties' });
  fake.goneChannels.add(feed.channelId);
  fake.fail({ matches: /^POST \/users\/@me\/channels/, response: refuse(403, 50_007) });
  await insertPenalties(db, [{}]);
  await waitFor(() => linesAbout('could not be notified by direct message').length > 0);
  expect(await db.select().from(discordFeeds)).toEqual([]);
  expect(feed.told()).toEqual([]);
});

test('nobody is told when the person who started the feed has been erased', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await insertUser(db, 9, { discordId: feed.manager.user.id });
  await erase(db, aSteamId(9));
  // A round that began before the erasure has read who started it.
  await settle();
  fake.goneChannels.add(feed.channelId);
  await insertPenalties(db, [{}]);
  await waitFor(() => linesAbout('a feed is switched off').length > 0);
  await settle();
  const channelsOpened = fake.requests.filter(
    ({ path, body }) =>
      path === '/users/@me/channels' && Bun.deepEquals(body, { recipient_id: feed.manager.user.id }),
  );
  expect(channelsOpened).toEqual([]);
  expect(linesAbout('could not be notified')).toEqual([]);
});

test('a message that Discord refuses is left out, and the feed goes on', async () => {
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', refuse(400, 200_000));
  await insertPenalties(db, [{}, {}]);
  await settle();
  expect(feed.messages()).toHaveLength(1);
  expect(linesAbout('Discord refused a message of a feed')).toHaveLength(1);
});

test("a message of the bot's earlier application is left as it is, and the feed goes on", async () => {
  const feed = await startFeed({ what: 'penalties' });
  const rows = await insertPenalties(db, [{}, {}]);
  await settle();
  const [old] = feed.messages();
  fake.fail({
    matches: new RegExp(`^PATCH /channels/${feed.channelId}/messages/${old?.id}`),
    times: 1000,
    response: refuse(403, 50_005),
  });
  for (const row of rows) await changePenalty(db, row, { status: 'UNBANNED' });
  await waitFor(() => feed.titles()[1] === titleOfBan(rows[1]?.id, 'UNBANNED'));
  await settle();
  expect(feed.titles()[0]).toBe(titleOfBan(rows[0]?.id, 'ACTIVE'));
  // Its penalty's later changes are not tried again.
  expect(await db.select().from(discordFeedPosts)).toMatchObject([{ subjectId: rows[1]?.id }]);
});

test('the feed waits while Discord or the token fails, and then posts everything in order', async () => {
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', refuse(503), 7);
  const rows = await insertPenalties(db, [{}, {}, {}]);
  await waitFor(() => feed.messages().length === 3);
  expect(feed.titles()).toEqual(rows.map(({ id }) => titleOfBan(id, 'ACTIVE')));
  expect(linesAbout('bringing a feed up to date failed')).toHaveLength(1);
});

test('`/feed start` tries a feed again at once that has been refused', async () => {
  await restart({ timings: { feedIntervalMs: 60_000 } });
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', refuse(403, 50_013));
  await insertPenalties(db, [{}]);
  await harness.bot.wakeFeeds();
  expect(feed.messages()).toEqual([]);
  await fake.command('feed start', { what: 'penalties' }, feed.manager);
  await waitFor(() => feed.messages().length === 1);
  await restart();
});

test('a restart after a message whose response was lost posts it once, and what happened meanwhile', async () => {
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', 'lost');
  const [first] = await insertMany(db, 1);
  await waitFor(() => feed.messages().length === 1);
  await harness.bot.stop();
  const [second] = await insertMany(db, 1);
  await restart();
  await settle();
  expect(feed.titles()).toEqual([titleOfBan(first?.id, 'ACTIVE'), titleOfBan(second?.id, 'ACTIVE')]);
  fake.clearFaults();
  await waitFor(() => feed.requests('POST').length === 3);
  const bodies = feed.requests('POST').map(({ body }) => body);
  expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(2);
  expect(bodies[0]).toMatchObject({
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
  await harness.bot.stop();
  await insertMany(db, 30);
  await restart();
  await settle();
  expect(feed.titles()).toEqual([`🔴 ${en.feed.summaryTitle(25)}`, `🔴 ${en.feed.summaryTitle(30)}`]);
});

test('a feed publishes each message in an announcement channel once, even if Discord refuses', async () => {
  const feed = await startFeed({ what: 'penalties' });
  const other = await startFeed({ what: 'penalties' });
  fake.announcementChannels.add(feed.channelId);
  const publishing = new RegExp(`^POST /channels/${feed.channelId}/messages/\\d+/crosspost`);
  fake.fail({ matches: publishing, response: slowDown(3600) });
  const [refused] = await insertPenalties(db, [{}]);
  await settle();
  await insertPenalties(db, [{}]);
  await waitFor(() => fake.published.length > 0);
  await settle();
  expect(feed.titles()[0]).toBe(titleOfBan(refused?.id, 'ACTIVE'));
  expect([feed, other].map(({ messages }) => messages().length)).toEqual([2, 2]);
  expect(fake.published).toEqual([feed.messages()[1]?.id ?? '']);
  expect(harness.bot.health().feeds.behind).toBe(0);
});

test('a message that was deleted before its response arrived is not posted again', async () => {
  const feed = await startFeed({ what: 'penalties' });
  feed.fail('POST', 'lost');
  await insertMany(db, 1);
  await waitFor(() => feed.messages().length === 1);
  await harness.bot.stop();
  fake.messages.delete(feed.messages()[0]?.id ?? '');
  await restart();
  await settle();
  await insertMany(db, 1);
  await settle();
  expect(feed.messages()).toHaveLength(1);
});

test('what happened to servers while the bot was away is posted once', async () => {
  const { id } = await insertServer(db, { name: 'Retake' });
  await harness.poll(id, {});
  const feed = await startFeed({ what: 'servers', after: 0 });
  await harness.bot.wakeFeeds();
  feed.fail('POST', 'lost');
  await harness.poll(id, undefined);
  await harness.poll(id, undefined);
  await waitFor(() => feed.messages().length === 1);
  await harness.bot.stop();
  await harness.poll(id, {});
  await restart();
  await waitFor(() => feed.messages().length === 2);
  await harness.bot.wakeFeeds();
  expect(feed.titles()).toEqual([down('Retake'), up('Retake')]);
});

test('two processes at once, as while the leader changes, post what happens to a server once', async () => {
  const { id } = await insertServer(db, { name: 'Arena' });
  await harness.poll(id, {});
  const feed = await startFeed({ what: 'servers', after: 0, players: 5 });
  await harness.bot.wakeFeeds();
  const twin = await harness.startNext();
  for (const count of ['missed', 'missed', 2, 9] as const) {
    await harness.poll(id, count === 'missed' ? undefined : { playersCount: count });
    await Promise.all([harness.bot.wakeFeeds(), twin.wakeFeeds()]);
  }
  await twin.stop();
  expect(feed.titles()).toEqual([down('Arena'), up('Arena'), `👥 ${en.feed.one.players('Arena', 9)}`]);
});

test('posts the events still stored after an outage of more than 30 days as one summary', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await harness.bot.stop();
  await insertMany(db, 3);
  await db.update(penaltyEvents).set({ occurredAt: new Date(Date.now() - 31 * 86_400_000) });
  await prunePenaltyEvents(db);
  await insertMany(db, 21);
  await restart();
  await settle();
  expect(feed.titles()).toEqual([`🔴 ${en.feed.summaryTitle(21)}`]);
});

test('a cursor of another database is replaced by the current one, and the log says so', async () => {
  const feed = await startFeed({ what: 'penalties' });
  await harness.bot.stop();
  await db.update(penaltyEventState).set({ epoch: '0badcafe' });
  await insertMany(db, 1);
  await restart();
  await settle();
  await insertMany(db, 1);
  await settle();
  expect(feed.messages()).toHaveLength(1);
  expect(linesAbout('its position is from another database')).not.toEqual([]);
});

const PAUSED = 'the feeds of a guild are paused';

test('feeds are paused while anybody may add the bot to a guild, and continue once the guild is named', async () => {
  const feed = await startFeed({ what: 'penalties' });
  const servers = await startFeed({ what: 'servers' });
  await insertPenalties(db, [{}]);
  await waitFor(() => feed.messages().length === 1);

  fake.state.botIsPublic = true;
  await waitFor(() => harness.bot.health().moderators !== undefined);
  await insertPenalties(db, [{}]);
  await waitFor(() => linesAbout(PAUSED).length > 0);
  for (let look = 0; look < 3; look++) await harness.bot.wakeFeeds();
  expect(feed.messages()).toHaveLength(1);
  expect(servers.messages()).toEqual([]);
  // Logged once for both feeds.
  expect(linesAbout(PAUSED)).toMatchObject([
    { guildId: GUILD, reason: 'nobody: the application is public and DISCORD_GUILD_ID is not set' },
  ]);

  await restart({ guildId: GUILD });
  await waitFor(() => feed.messages().length === 2);
  expect(linesAbout(PAUSED)).toHaveLength(1);
  fake.state.botIsPublic = false;
  await restart();
});

test('feeds continue when the application is private again, and are paused if DISCORD_GUILD_ID names another guild', async () => {
  const feed = await startFeed({ what: 'penalties' });
  fake.state.botIsPublic = true;
  await waitFor(() => linesAbout(PAUSED).length === 1);
  await insertPenalties(db, [{}]);
  fake.state.botIsPublic = false;
  await waitFor(() => feed.messages().length === 1);
  expect(linesAbout('the feeds of a guild continue')).toHaveLength(1);

  await restart({ guildId: '900000000000000002' });
  await waitFor(() => linesAbout(PAUSED).length === 2);
  await insertPenalties(db, [{}]);
  await harness.bot.wakeFeeds();
  expect(feed.messages()).toHaveLength(1);
  expect(linesAbout(PAUSED)[1]).toMatchObject({
    guildId: GUILD,
    reason: 'DISCORD_GUILD_ID names another guild',
  });
  await restart();
  await waitFor(() => feed.messages().length === 2);
});
