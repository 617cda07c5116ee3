import { beforeEach, expect, setSystemTime, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { BOT_TEXTS, localizationOf } from '../../../bot/locales/localization.ts';
import { listAuditEntries } from '../../../src/queries/audit-log.ts';
import { listLiveStatusMessages } from '../../../src/queries/discord/live-status-messages.ts';
import { removeServer, setServerHidden } from '../../../src/queries/servers/servers.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { insertServer } from '../../support/database/builders.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { messageOf, textOf } from '../../support/discord/exchange.ts';
import { type Fault, refuse, slowDown } from '../../support/discord/faults.ts';
import { findButton } from '../../support/discord/messages.ts';
import { waitFor } from '../../support/wait.ts';

const { en, pl } = BOT_TEXTS;

const INTERVAL_MS = 100;
const harness = await startTestBot({ bot: { timings: { liveIntervalMs: INTERVAL_MS } } });
const { fake, db, poll, refreshServers, linesAbout, restart } = harness;
const moderator = anActor({ isModerator: true, guildLocale: 'pl' });
const english = { ...moderator, guildLocale: 'en-US' };
const { id: serverId } = await insertServer(db, { slug: 'live', name: 'Live' });
await harness.connect();
beforeEach(async () => {
  fake.clearFaults();
  await restart();
  await addPlayer();
});

const rows = () => listLiveStatusMessages(db);

let players = 0;
/** Adds a player to the server `live`. */
async function addPlayer(): Promise<void> {
  players += 1;
  await poll(serverId, { playersCount: players, players: [{ name: `P${players}`, score: players }] });
}

/** Pins by the button of a server's card. @param options of /server; none: by the button of the list. */
async function pin(actor: Actor = moderator, options: { name?: string } = { name: 'live' }) {
  const { message } = await fake.command('server', options, actor);
  const before = new Set(fake.messages.keys());
  const { buttons } = localizationOf(actor.guildLocale).texts;
  const exchange = await fake.click(message, buttons.pin, actor);
  const posted = fake.postsIn(actor.channelId).find(({ id }) => !before.has(id));
  const id = posted?.id ?? '';
  const shows = (text: string) => JSON.stringify(fake.messages.get(id) ?? {}).includes(text);
  return {
    exchange,
    posted,
    id,
    shows: (text: string) => waitFor(() => shows(text)),
    /** Waits until the message shows the player who came last. */
    showsLastPlayer: () => waitFor(() => shows(`P${players}`)),
    /** The requests that changed the message. */
    edits: () =>
      fake.requests.filter(({ method, path }) => method === 'PATCH' && path.endsWith(`/messages/${id}`)),
    failEdits: (response: Fault['response'], times = 1) =>
      fake.fail({ matches: new RegExp(`^PATCH .*/messages/${id}$`), response, times }),
    isPaused: async () =>
      (await rows()).some(({ messageId, pausedAt }) => messageId === id && pausedAt !== null),
    isStored: async () => (await rows()).some(({ messageId }) => messageId === id),
    /** Waits until the message is no longer edited. */
    ends: () => waitFor(async () => !(await rows()).some(({ messageId }) => messageId === id)),
  };
}

test('a live status message is posted in the language of the guild, and stored', async () => {
  const { exchange, posted, id } = await pin();
  expect(textOf(exchange)).toContain(en.refusals.pinned);
  expect(posted?.embeds[0]).toMatchObject({ title: 'Live', footer: { text: pl.server.live } });
  expect(posted?.allowedMentions).toEqual({ parse: [] });
  expect(findButton(posted, pl.buttons.connect)?.url).toBe('https://play.example.org/connect/live');
  const { channelId, guildId, user } = moderator;
  expect(await rows()).toMatchObject([{ messageId: id, channelId, guildId, serverId, locale: 'pl' }]);
  expect(await listAuditEntries(db)).toMatchObject([
    {
      action: 'live-message.posted',
      subject: `#${channelId}`,
      actor: 'discord-member',
      details: { discordId: user.id },
    },
  ]);
});

test('a live status message is edited after a poll that changed something, never twice within the interval, not without a change', async () => {
  const { edits, showsLastPlayer } = await pin();
  for (const _ of ['first', 'second']) {
    for (let change = 0; change < 4; change++) await addPlayer();
    await showsLastPlayer();
  }
  const times = edits().map(({ at }) => at);
  for (const [index, at] of times.entries()) {
    if (index > 0) expect(at - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(INTERVAL_MS - 5);
  }
  const before = edits().length;
  // The same state with another ping and a later time: no visible change.
  const same = { playersCount: players, players: [{ name: `P${players}`, score: players }] };
  await poll(serverId, { ...same, pingMs: 99 });
  await Bun.sleep(2 * INTERVAL_MS);
  expect(edits()).toHaveLength(before);
});

test('a live status message is edited when the system clock ran an hour ahead and was set back', async () => {
  const { showsLastPlayer } = await pin();
  try {
    setSystemTime(new Date(Date.now() + 3_600_000));
    await addPlayer();
    await showsLastPlayer();
  } finally {
    setSystemTime();
  }
  await addPlayer();
  await showsLastPlayer();
});

test('a live status message replaces the earlier one of the same server in the channel, and no other', async () => {
  const here = { ...moderator, channelId: '910000000000000070' };
  const [list, elsewhere] = [
    await pin(here, {}),
    await pin({ ...moderator, channelId: '910000000000000071' }),
  ];
  for (const _ of ['first', 'second']) await pin(here);
  const nextList = await pin(here, {});
  // Two at the same time.
  await Promise.all([pin(here), pin(here)]);
  const posted = fake.postsIn(here.channelId).map(({ id }) => id);
  expect(posted).toEqual([nextList.id, expect.any(String)]);
  const kept = (await rows()).map(({ messageId }) => messageId);
  expect(kept).toEqual(expect.arrayContaining([...posted, elsewhere.id]));
  expect(await list.isStored()).toBe(false);
  await addPlayer();
  const last = () => fake.messages.get(posted[1] ?? '')?.embeds;
  await waitFor(() => JSON.stringify(last()).includes(`P${players}`));
});

test('a live status message waits while its server is hidden', async () => {
  const { id, slug } = await insertServer(db, { slug: 'hidden', name: 'Hidden' });
  await poll(id, { playersCount: 1 });
  const hidden = await pin(english, { name: slug });
  await setServerHidden(db, slug, { isHidden: true, actor: 'operator' });
  await refreshServers();
  const before = hidden.edits().length;
  // Another message is edited meanwhile.
  const other = await pin();
  await addPlayer();
  await other.showsLastPlayer();
  expect(hidden.edits()).toHaveLength(before);
  await setServerHidden(db, slug, { isHidden: false, actor: 'operator' });
  await poll(id, { playersCount: 2, players: [{ name: 'Back', score: 1 }] });
  await hidden.shows('Back');
});

test('a live status message says that its server was removed, even when no bot ran meanwhile', async () => {
  const { id: removedId, slug } = await insertServer(db, { slug: 'removed', name: 'Removed' });
  await refreshServers();
  const { id, shows, ends } = await pin(english, { name: slug });
  expect((await rows()).find(({ messageId }) => messageId === id)?.serverId).toBe(removedId);
  await harness.bot.stop();
  await removeServer(db, slug, { actor: 'operator' });
  await refreshServers();
  await restart();
  await shows(en.server.noLongerListed);
  expect(fake.messages.get(id)?.embeds[0]?.footer).toBeUndefined();
  await ends();
});

test('a double click posts one live status message, and a click after it was deleted another', async () => {
  const actor = { ...english, channelId: '910000000000000079' };
  const message = messageOf(await fake.command('server', { name: 'live' }, actor));
  const press = () => fake.click(message, en.buttons.pin, actor);
  for (const exchange of await Promise.all([press(), press()]))
    expect(textOf(exchange)).toContain(en.refusals.pinned);
  const [posted, ...others] = fake.postsIn(actor.channelId);
  expect(others).toEqual([]);
  fake.messages.delete(posted?.id ?? '');
  await press();
  expect(fake.postsIn(actor.channelId)).toHaveLength(1);
});

test('a live status message ends cleanly when it or its channel is gone', async () => {
  const first = await pin();
  const second = await pin({ ...moderator, channelId: '910000000000000009' });
  fake.messages.delete(first.id);
  fake.goneChannels.add('910000000000000009');
  await addPlayer();
  await first.ends();
  await second.ends();
  const attempts = first.edits().length;
  await addPlayer();
  await Bun.sleep(2 * INTERVAL_MS);
  expect(first.edits()).toHaveLength(attempts);
});

test('a live status message opens its thread again, which Discord has archived meanwhile', async () => {
  const thread = { ...moderator, channelId: '910000000000000077' };
  const { showsLastPlayer } = await pin(thread);
  fake.archivedThreads.add(thread.channelId);
  await addPlayer();
  await showsLastPlayer();
  expect(fake.archivedThreads.has(thread.channelId)).toBe(false);
});

test('a live status message is paused at the fifth refusal in a row, not before', async () => {
  await restart({ timings: { liveIntervalMs: 10 } });
  const { edits, failEdits, showsLastPlayer, isPaused } = await pin();
  failEdits(refuse(403, 50_013), 4);
  await addPlayer();
  await showsLastPlayer();
  failEdits(refuse(403, 50_013), 5);
  await addPlayer();
  await waitFor(isPaused);
  await waitFor(() => fake.directMessagesTo(moderator.user.id).length > 0);
  expect(edits().filter(({ status }) => status === 403)).toHaveLength(9);
  const told = await waitFor(() => fake.directMessagesTo(moderator.user.id)[0]);
  expect(told.content).toStartWith(pl.server.updatesForbidden(`<#${moderator.channelId}>`));
});

test('a paused live status message is edited again once another message in its guild works', async () => {
  await restart({ timings: { liveIntervalMs: 10 } });
  const place = { ...english, guildId: '900000000000000017' };
  const paused = await pin({ ...place, channelId: '910000000000000061' });
  paused.failEdits(refuse(403, 50_013), 6);
  await addPlayer();
  await waitFor(paused.isPaused);
  const tries = paused.edits().length;
  // Refused once more: it stays paused, and nobody is told again.
  const other = await pin({ ...place, channelId: '910000000000000062' });
  await waitFor(() => paused.edits().length > tries);
  await addPlayer();
  await other.showsLastPlayer();
  expect(paused.edits()).toHaveLength(tries + 1);
  expect(await paused.isPaused()).toBe(true);
  await restart({ timings: { liveIntervalMs: 10 } });
  await pin({ ...place, channelId: '910000000000000063' });
  await paused.showsLastPlayer();
  await waitFor(async () => !(await paused.isPaused()));
});

test('a live status message in an announcement channel is published once', async () => {
  await restart({ timings: { liveIntervalMs: 10 } });
  const place = { ...english, channelId: '910000000000000065' };
  fake.announcementChannels.add(place.channelId);
  const { id, showsLastPlayer } = await pin(place);
  await addPlayer();
  await showsLastPlayer();
  await waitFor(() => fake.published.length > 0);
  expect(fake.published).toEqual([id]);
});

test('a paused live status message is replaced when it is pinned again', async () => {
  await restart({ timings: { liveIntervalMs: 10 } });
  const place = { ...english, channelId: '910000000000000064' };
  const { id, failEdits, isPaused } = await pin(place);
  failEdits(refuse(403, 50_013), 5);
  await addPlayer();
  await waitFor(isPaused);
  const next = await pin(place);
  expect(fake.postsIn(place.channelId).map((message) => message.id)).toEqual([next.id]);
  expect(fake.messages.has(id)).toBe(false);
});

test('a live status message is paused in a thread that was archived and locked, which the bot may not open', async () => {
  await restart({ timings: { liveIntervalMs: 10 } });
  const thread = { ...moderator, channelId: '910000000000000076' };
  const { isPaused } = await pin(thread);
  fake.archivedThreads.add(thread.channelId);
  const matches = new RegExp(`^PATCH /channels/${thread.channelId}$`);
  fake.fail({ matches, times: 1000, response: refuse(403, 50_013) });
  await addPlayer();
  await waitFor(isPaused);
});

test('the log does not name the person who pinned a live status message, whom nobody could tell of its end', async () => {
  await restart({ timings: { liveIntervalMs: 10 } });
  const { failEdits } = await pin();
  failEdits(refuse(403, 50_013), 5);
  fake.fail({ matches: /^POST \/users\/@me\/channels/, response: refuse(403, 50_007) });
  await addPlayer();
  const line = await waitFor(() => linesAbout('could not be notified by direct message')[0]);
  // The service's own logger writes no bodies of requests.
  expect(JSON.stringify({ ...line, err: undefined })).not.toContain(moderator.user.id);
});

test('a live status message that could not be stored is removed', async () => {
  await db.execute(sql`alter table live_status_messages add constraint refused check (false) not valid`);
  const { exchange, posted } = await pin({ ...moderator, channelId: '910000000000000078' });
  await db.execute(sql`alter table live_status_messages drop constraint refused`);
  expect(textOf(exchange)).toMatch(new RegExp(en.refusals.failed('[0-9a-f]{8}')));
  expect(posted).toBeUndefined();
});

test('a live status message is edited again soon after a refresh without changes failed', async () => {
  const liveRefreshMs = 2000;
  await restart({ timings: { liveIntervalMs: 50, liveRefreshMs } });
  const { edits, failEdits } = await pin();
  failEdits(refuse(401));
  await waitFor(() => edits().some(({ status }) => status === 200));
  const [failed, repeated] = edits();
  expect([failed?.status, repeated?.status]).toEqual([401, 200]);
  expect((repeated?.at ?? 0) - (failed?.at ?? 0)).toBeLessThan(liveRefreshMs / 2);
});

test('no live status message is posted where the bot may not write', async () => {
  const { exchange, posted } = await pin({ ...moderator, locale: 'pl', appPermissions: '1024' });
  expect(textOf(exchange)).toContain(pl.refusals.cannotPost);
  expect(posted).toBeUndefined();
  // The permissions in the interaction may be out of date: Discord's response decides.
  for (const response of [refuse(403, 50_013), refuse(400, 50_008), refuse(400, 160_005)]) {
    fake.fail({ matches: /^POST \/channels/, response });
    expect(textOf((await pin(english)).exchange)).toContain(en.refusals.cannotPost);
  }
});

test('a live status message leaves out a link that Discord refuses (localhost)', async () => {
  await restart({ publicUrl: 'http://localhost:3000' });
  const { posted } = await pin(english);
  expect(findButton(posted, en.buttons.players)).toBeDefined();
  expect(findButton(posted, en.buttons.connect)).toBeUndefined();
});

test('a bot that stops while Discord slows it down leaves its edits of live status messages to the next', async () => {
  const timings = { liveIntervalMs: 50 };
  await restart({ timings });
  harness.lines.length = 0;
  const { edits, failEdits, showsLastPlayer } = await pin();
  failEdits(slowDown(1));
  await addPlayer();
  await waitFor(() => edits().length === 1);
  await harness.bot.stop();
  await addPlayer();
  // By the time the next bot may edit, the first one would have sent its edit, which is outdated.
  failEdits(slowDown(2));
  await restart({ timings });
  await showsLastPlayer();
  await harness.bot.stop();
  expect(edits()).toHaveLength(3);
  expect(linesAbout('editing a live status message failed')).toEqual([]);
});

test('a live list shows all servers, and is not edited when only scores have changed, which it does not show', async () => {
  await restart({ timings: { liveIntervalMs: 50 } });
  const [list, card] = [await pin(english, {}), await pin()];
  const { allServers: title, live: text } = en.server;
  expect(list.posted?.embeds[0]).toMatchObject({ title, footer: { text } });
  const score = async (playersCount: number, points: number) => {
    await poll(serverId, { playersCount, players: [{ name: 'P1', score: points }] });
    await card.shows(`  ${points}`);
  };
  // Whatever the earlier tests left is shown first.
  await score(1, 10);
  await list.shows(' 1/32');
  const before = list.edits().length;
  for (const points of [20, 30]) await score(1, points);
  expect(list.edits()).toHaveLength(before);
  await score(2, 30);
  await waitFor(() => list.edits().length === before + 1);
});
