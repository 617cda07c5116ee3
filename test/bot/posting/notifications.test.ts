import { beforeEach, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { discordNotifications } from '../../../src/db/schema/discord.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { removeServer, setServerHidden } from '../../../src/queries/servers/servers.ts';
import { insertAppeal } from '../../support/bot/appeals.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, erase, insertServer, insertUser } from '../../support/database/builders.ts';
import { readPerson } from '../../support/database/person-export.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { messageOf, textOf } from '../../support/discord/exchange.ts';
import { refuse, slowDown } from '../../support/discord/faults.ts';
import type { OptionValue } from '../../support/discord/interactions.ts';
import { isEphemeral } from '../../support/discord/messages.ts';
import { waitFor } from '../../support/wait.ts';

const START = new Date('2026-11-21T12:00:00Z');
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
let now = START;
const timings = { feedIntervalMs: 20 };
const harness = await startTestBot({ bot: { timings, now: () => now, timeZone: 'Europe/Warsaw' } });
const { fake, db, poll, refreshServers } = harness;
const { notify: words, buttons, refusals, feed: feedWords } = BOT_TEXTS.en;
await harness.connect();
let serverId = 0;
beforeEach(async () => {
  now = START;
  fake.clearFaults();
  await db.delete(servers);
  ({ id: serverId } = await insertServer(db, { slug: 'retake', name: 'Retake' }));
  await setPlayers(2);
});

const setPlayers = (playersCount: number, id = serverId) => poll(id, { playersCount });
async function run(actor: Actor, command: string, options: Record<string, OptionValue> = {}) {
  const exchange = await fake.command(`notify ${command}`, options, actor);
  await waitFor(() => exchange.message?.embeds.length);
  expect(isEphemeral(exchange.message)).toBe(true);
  return textOf(exchange);
}
const wanted = (players: number) => ({ server: 'retake', players });
/** What somebody was told about servers that have enough players. */
const sentTo = ({ user }: Actor) =>
  fake.directMessagesTo(user.id).filter(({ content }) => content.startsWith('👥'));
const rowsOf = ({ user }: Actor) =>
  db.select().from(discordNotifications).where(eq(discordNotifications.discordId, user.id));
const received = (person: Actor, amount = 1) => waitFor(() => sentTo(person).length === amount);
const isArmed = async (person: Actor) => (await rowsOf(person))[0]?.isArmed;
/** People who want to be told of a server. */
async function follow(players: number, { people = 1, server = 'retake' } = {}): Promise<Actor[]> {
  const followers = Array.from({ length: people }, () => anActor());
  for (const person of followers) await run(person, 'on', { server, players });
  return followers;
}
/** When inboxes were opened. */
const openings = () => fake.requests.filter(({ path }) => path === '/users/@me/channels').map(({ at }) => at);
const witness = await insertAppeal(db, { wantsMessages: true });
/** Sends two messages to another person: any other message that was due is sent before the second one. */
async function settle(): Promise<void> {
  const told = () => fake.directMessagesTo(witness.discordId).length;
  for (const _ of ['first', 'second']) {
    const before = told();
    await witness.act('asked');
    await waitFor(() => told() > before);
  }
}
/** The server has this many players for some minutes, during which the bot checks it. */
async function stay(playersCount: number, minutes: number): Promise<void> {
  await setPlayers(playersCount);
  await settle();
  now = new Date(now.getTime() + minutes * MINUTE_MS);
  await settle();
}

test('/notify sends a first message at once and one when a server reaches the number; a button ends it', async () => {
  const person = anActor({ locale: 'pl' });
  const polish = BOT_TEXTS.pl;
  const promise = polish.notify.promise({ server: '**Retake**', players: 10 });
  const off = fake.mention('notify off');
  expect(await run(person, 'on', wanted(10))).toBe(`🔔 ${polish.notify.on(off)}\n${promise}`);
  expect(fake.directMessagesTo(person.user.id).map(({ content }) => content)).toEqual([`🔔 ${promise}`]);
  await setPlayers(9);
  await settle();
  expect(sentTo(person)).toEqual([]);
  await setPlayers(10);
  await received(person);
  const [message] = sentTo(person);
  expect(message).toMatchObject({
    content: `👥 ${polish.feed.one.players('Retake', 10)}`,
    allowedMentions: { parse: [] },
  });
  const inbox = { ...person, guildId: undefined, channelId: message?.channel_id ?? '' };
  const pressed = await fake.click(message, polish.buttons.notifyOff, inbox);
  expect(textOf(pressed)).toBe(`🔔 ${polish.notify.off(1)}`);
  expect(await rowsOf(person)).toEqual([]);
});

test('a person is notified again only after a server had at most three quarters of the number for ten minutes', async () => {
  await setPlayers(4);
  const person = anActor();
  expect(await run(person, 'on', wanted(4))).toEndWith(words.reachedAlready);
  for (const _ of Array(2)) {
    await stay(3, 9);
    await stay(4, 10);
  }
  expect(await isArmed(person)).toBe(false);
  await stay(3, 10);
  await waitFor(() => isArmed(person));
  expect(sentTo(person)).toEqual([]);
  await setPlayers(4);
  await received(person);
});

test('time in which a server is offline does not count as having few players', async () => {
  await setPlayers(4);
  const [person = anActor()] = await follow(4);
  await stay(3, 6);
  for (const _ of ['first', 'second']) await poll(serverId, undefined);
  await settle();
  now = new Date(now.getTime() + HOUR_MS);
  await settle();
  await stay(3, 3);
  expect(await isArmed(person)).toBe(false);
  await stay(3, 1);
  await waitFor(() => isArmed(person));
});

test('a person gets one message about a server in six hours, and the next one after that', async () => {
  const [person = anActor()] = await follow(10);
  await setPlayers(10);
  await received(person);
  const sentAt = now;
  await stay(3, 10);
  await waitFor(() => isArmed(person));
  now = new Date(sentAt.getTime() + 6 * HOUR_MS - 1);
  await setPlayers(11);
  await settle();
  expect(sentTo(person)).toHaveLength(1);
  now = new Date(sentAt.getTime() + 6 * HOUR_MS);
  await received(person, 2);
});

test("no notification is sent from 0 to 8 in the site's time zone, and afterwards only while the number holds", async () => {
  // 22:59 in Warsaw, where it is an hour later than in UTC.
  now = new Date('2026-11-21T21:59:00Z');
  const [early = anActor(), late = anActor()] = [...(await follow(10)), ...(await follow(5))];
  now = new Date('2026-11-21T23:00:00Z');
  await setPlayers(10);
  await settle();
  now = new Date('2026-11-22T06:59:59Z');
  await settle();
  await setPlayers(7);
  expect([...sentTo(early), ...sentTo(late)]).toEqual([]);
  now = new Date('2026-11-22T07:00:00Z');
  await received(late);
  await settle();
  expect(sentTo(early)).toEqual([]);
});

test('a person who ended their notification and asks again gets another message within minutes', async () => {
  const person = anActor();
  for (const messages of [1, 2]) {
    await run(person, 'on', wanted(10));
    await setPlayers(10);
    await received(person, messages);
    await waitFor(async () => (await rowsOf(person))[0]?.notifiedAt);
    await run(person, 'off');
    await setPlayers(3);
  }
});

test('a person can change the number, and follow at most ten servers, even with concurrent commands', async () => {
  const person = anActor();
  await run(person, 'on', wanted(10));
  await run(person, 'on', wanted(5));
  expect(await rowsOf(person)).toMatchObject([{ playersAtLeast: 5 }]);
  const slugs = Array.from({ length: 12 }, (_, number) => `server-${number}`);
  for (const slug of slugs) await insertServer(db, { slug, name: slug });
  await refreshServers();
  const said = await Promise.all(slugs.map((server) => run(person, 'on', { server, players: 3 })));
  expect(said.filter((text) => text === words.tooMany(10))).toHaveLength(3);
  expect(await rowsOf(person)).toHaveLength(10);
  expect(await run(person, 'off', { server: 'retake' })).toBe(`🔔 ${words.off(1)}`);
  expect(await run(person, 'off')).toBe(`🔔 ${words.off(9)}`);
  expect(await run(person, 'off')).toBe(words.none(fake.mention('notify on')));
  expect(await rowsOf(person)).toEqual([]);
});

test('/notify and /feed refuse more players than a server has slots, and name the slots', async () => {
  await poll(serverId, { playersCount: 2, maxPlayers: 12 });
  const person = anActor({ isManager: true });
  expect(await run(person, 'on', wanted(13))).toBe(refusals.tooManyPlayers(12));
  expect(await run(person, 'on', wanted(12))).toContain(words.promise({ server: '**Retake**', players: 12 }));
  await insertServer(db, { slug: 'new', name: 'New' });
  await refreshServers();
  expect(await run(person, 'on', { server: 'new', players: 65 })).toBe(refusals.tooManyPlayers(64));
  const feed = { what: 'servers', server: 'retake', players: 13 };
  expect(textOf(await fake.command('feed start', feed, person))).toBe(refusals.tooManyPlayers(12));
});

test("/notify list shows a person's notifications, and its menu ends one", async () => {
  const { id: otherId } = await insertServer(db, { slug: 'other', name: 'Other' });
  await setPlayers(1, otherId);
  const person = anActor();
  expect(await run(person, 'list')).toBe(words.none(fake.mention('notify on')));
  await run(person, 'on', wanted(10));
  await run(person, 'on', { server: 'other', players: 20 });
  await setServerHidden(db, 'other', { isHidden: true, actor: 'operator' });
  await refreshServers();
  const listed = await fake.command('notify list', {}, person);
  const lines = {
    other: `**Other**: ${feedWords.playersAtLeast(20)}`,
    retake: `**Retake**: ${feedWords.playersAtLeast(10)}`,
  };
  expect(textOf(listed)).toBe(`${lines.other}\n${lines.retake}`);
  const ended = await fake.choose(listed.message, 'notify.end', String(otherId), person);
  expect(textOf(ended)).toBe(lines.retake);
});

test('the command that ends notifications suggests those of the person, hidden servers too', async () => {
  const { id: hiddenId } = await insertServer(db, { slug: 'secret', name: 'Secret' });
  await setPlayers(1, hiddenId);
  const person = anActor();
  await run(person, 'on', { server: 'secret', players: 3 });
  await setServerHidden(db, 'secret', { isHidden: true, actor: 'operator' });
  await refreshServers();
  const label = `Secret · ${feedWords.playersAtLeast(3)}`;
  const suggested = await fake.autocomplete('notify off', 'server', '', person);
  expect(suggested.choices).toEqual([{ name: label, value: 'secret' }]);
  expect((await fake.autocomplete('notify on', 'server', '', person)).choices).toHaveLength(1);
  expect(await run(person, 'off', { server: label })).toBe(`🔔 ${words.off(1)}`);
});

const CLOSED = [
  [403, 50_007],
  [403, 50_278],
  [404, 10_013],
] as const;

test.each(CLOSED)(
  'a person whose inbox is closed (%d, %d) is told so instead of "done"',
  async (status, code) => {
    const person = anActor();
    fake.fail({ matches: /^POST \/channels\/\d+\/messages/, response: refuse(status, code) });
    expect(await run(person, 'on', wanted(3))).toBe(words.inboxClosed);
    expect(await rowsOf(person)).toEqual([]);
  },
);

test.each(CLOSED)(
  'an inbox that closes (%d, %d) pauses what that person follows, and the next command resumes it',
  async (status, code) => {
    await insertServer(db, { slug: 'other', name: 'Other' });
    await refreshServers();
    const [closed = anActor()] = await follow(3);
    await run(closed, 'on', { server: 'other', players: 3 });
    const [open = anActor()] = await follow(3, { server: 'other' });
    fake.fail({ matches: /^POST \/channels\/\d+\/messages/, response: refuse(status, code) });
    await setPlayers(3);
    await waitFor(async () => (await rowsOf(closed)).every(({ pausedAt }) => pausedAt !== null));
    expect(await rowsOf(open)).toMatchObject([{ pausedAt: null }]);
    const listed = await fake.command('notify list', {}, closed);
    expect(textOf(listed)).toBe(words.resumed);
    await received(closed);
    expect(textOf(await fake.command('notify list', {}, closed))).not.toBe(words.resumed);
  },
);

test('the bot opens channels for direct messages one at a time, at intervals, and remembers them', async () => {
  const people = await follow(10, { people: 3 });
  await harness.restart({ timings: { inboxIntervalMs: 500 } });
  fake.requests.length = 0;
  await setPlayers(10);
  for (const person of people) await received(person);
  const times = openings();
  expect(times).toHaveLength(3);
  expect(Math.max(...times) - Math.min(...times)).toBeGreaterThan(500);
  await waitFor(async () => (await db.select().from(discordNotifications)).every(({ isArmed }) => !isArmed));
  await db.update(discordNotifications).set({ isArmed: true, notifiedAt: null, createdAt: new Date(0) });
  for (const person of people) await received(person, 2);
  expect(openings()).toHaveLength(3);
  await harness.restart();
});

test('the follower of one server does not wait for the many followers of another', async () => {
  const { id: otherId } = await insertServer(db, { slug: 'other', name: 'Other' });
  await setPlayers(1, otherId);
  const many = await follow(10, { people: 4 });
  const [only = anActor()] = await follow(10, { server: 'other' });
  fake.fail({ matches: /^POST \/channels\/\d+\/messages/, response: 'hang' });
  await setPlayers(10);
  await waitFor(fake.isHanging);
  await setPlayers(10, otherId);
  fake.clearFaults();
  for (const person of [only, ...many]) await received(person);
  const ids = [only, ...many].flatMap(sentTo).map(({ id }) => BigInt(id));
  const [onlyId = 0n, ...others] = ids;
  expect(others.filter((id) => id < onlyId)).toHaveLength(1);
});

test.each([
  ['players have left', () => setPlayers(9)],
  [
    'the person has ended it',
    ({ user }: Actor) => db.delete(discordNotifications).where(eq(discordNotifications.discordId, user.id)),
  ],
])('a person whose inbox has to wait is not told if %s meanwhile', async (_, happen) => {
  const followers = await follow(10, { people: 2 });
  await harness.restart({ timings: { inboxIntervalMs: 2000 } });
  await setPlayers(10);
  const isTold = (person: Actor) => sentTo(person).length > 0;
  await waitFor(() => followers.some(isTold));
  const [waiting] = followers.filter((person) => !isTold(person));
  if (!waiting) throw new Error('nobody waits');
  await happen(waiting);
  await waitFor(() => harness.bot.health().directMessages.total === 0);
  expect(isTold(waiting)).toBe(false);
  await harness.restart();
});

test.each([
  ['inboxes are opened too fast', /^POST \/users\/@me\/channels/, refuse(403, 40_003)],
  ['messages are limited', /^POST \/channels\/\d+\/messages/, slowDown(600)],
])('all direct messages pause when Discord says that %s', async (_, matches, response) => {
  const [first = anActor(), second = anActor()] = await follow(10, { people: 2 });
  const appeal = await insertAppeal(db, { wantsMessages: true });
  await harness.restart();
  const starts = harness.linesAbout('Discord limits direct messages').length;
  fake.fail({ matches, response });
  await setPlayers(10);
  await waitFor(() => harness.bot.health().directMessages.pausedUntil);
  await appeal.act('asked');
  const said = await run(anActor(), 'on', wanted(3));
  expect(said).toStartWith(words.limited('').slice(0, 20));
  await setPlayers(11);
  expect([...sentTo(first), ...sentTo(second), ...fake.directMessagesTo(appeal.discordId)]).toEqual([]);
  expect(harness.linesAbout('Discord limits direct messages')).toHaveLength(starts + 1);
  await harness.restart();
  for (const person of [first, second]) await received(person);
  await waitFor(() => fake.directMessagesTo(appeal.discordId).length === 1);
});

test('a direct message that Discord refuses at first is sent once Discord accepts it', async () => {
  const [person = anActor()] = await follow(3);
  fake.fail({ matches: /^POST \/channels\/\d+\/messages/, response: refuse(503), times: 6 });
  await setPlayers(3);
  await received(person);
});

test('hiding a server pauses its notifications, and removing it ends them', async () => {
  const [person = anActor()] = await follow(3);
  await setServerHidden(db, 'retake', { isHidden: true, actor: 'operator' });
  await setPlayers(5);
  await settle();
  expect(sentTo(person)).toEqual([]);
  await setServerHidden(db, 'retake', { isHidden: false, actor: 'operator' });
  await refreshServers();
  await received(person);
  await removeServer(db, 'retake', { actor: 'operator' });
  expect(await rowsOf(person)).toEqual([]);
});

test('the data download of a linked person contains their notifications, and erasure removes them', async () => {
  const person = anActor();
  await run(person, 'on', wanted(7));
  await insertUser(db, 91, { discordId: person.user.id });
  const exported = await readPerson(db, aSteamId(91), { actor: 'operator', now });
  expect(exported).toMatchObject({ discordNotifications: [{ serverId, playersAtLeast: 7 }] });
  await erase(db, aSteamId(91));
  expect(await rowsOf(person)).toEqual([]);
});

test('/notify refuses a forged button and an unknown server', async () => {
  const person = anActor();
  expect(await run(person, 'on', { server: 'nuke', players: 3 })).toContain(refusals.serverNotFound('nuke'));
  await run(person, 'on', wanted(3));
  await setPlayers(3);
  await received(person);
  const [message] = sentTo(person);
  const pressed = await fake.press(messageOf({ message }), 'notify.off:x', person);
  expect(textOf(pressed)).toBe(refusals.outdated);
  // Another person's press ends nothing of theirs.
  await fake.click(message, buttons.notifyOff, anActor());
  expect(await rowsOf(person)).toHaveLength(1);
});
