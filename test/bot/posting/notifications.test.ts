import { beforeEach, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { discordNotifications } from '../../../src/db/schema/discord.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { removeServer, setServerHidden } from '../../../src/queries/servers/servers.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, erase, insertServer, insertUser } from '../../support/database/builders.ts';
import { readPerson } from '../../support/database/person-export.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { messageOf, textOf } from '../../support/discord/exchange.ts';
import { refuse } from '../../support/discord/faults.ts';
import type { OptionValue } from '../../support/discord/interactions.ts';
import { isEphemeral } from '../../support/discord/messages.ts';
import { waitFor } from '../../support/wait.ts';

const START = new Date('2026-11-21T12:00:00Z');
let now = START;
const harness = await startTestBot({ bot: { timings: { feedIntervalMs: 20 }, now: () => now } });
const { fake, db, poll, refreshServers } = harness;
const { notify: words, buttons } = BOT_TEXTS.en;
await harness.connect();
let serverId = 0;
beforeEach(async () => {
  now = START;
  fake.clearFaults();
  await db.delete(servers);
  ({ id: serverId } = await insertServer(db, { slug: 'retake', name: 'Retake' }));
  await setPlayers(2);
});

const setPlayers = (playersCount: number) => poll(serverId, { playersCount });
async function run(actor: Actor, command: string, options: Record<string, OptionValue> = {}) {
  const exchange = await fake.command(`notify ${command}`, options, actor);
  expect(isEphemeral(exchange.message)).toBe(true);
  return textOf(exchange);
}
const wanted = (players: number) => ({ server: 'retake', players });
const sentTo = ({ user }: Actor) => fake.directMessagesTo(user.id);
const rowsOf = ({ user }: Actor) =>
  db.select().from(discordNotifications).where(eq(discordNotifications.discordId, user.id));
const notified = (person: Actor) => waitFor(async () => (await rowsOf(person))[0]?.notifiedAt);
const armed = (person: Actor) => waitFor(async () => (await rowsOf(person))[0]?.isArmed);
const received = (person: Actor, amount = 1) => waitFor(() => sentTo(person).length === amount);
/** Another person is notified, who asked later: everybody else has been by then. */
async function settle(): Promise<void> {
  const witness = anActor();
  const { id, slug } = await insertServer(db);
  await refreshServers();
  await run(witness, 'on', { server: slug, players: 1 });
  await poll(id, { playersCount: 1 });
  await received(witness);
}

test('a person gets a direct message in their language when a server reaches the number, and a button ends it', async () => {
  const person = anActor({ locale: 'pl' });
  const polish = BOT_TEXTS.pl;
  const off = fake.mention('notify off');
  expect(await run(person, 'on', wanted(10))).toBe(
    `🔔 ${polish.notify.on({ server: '**Retake**', players: 10, off })}`,
  );
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

test('a server that has them already is posted only after it fell under the number', async () => {
  await setPlayers(12);
  const person = anActor();
  expect(await run(person, 'on', wanted(10))).toEndWith(words.reachedAlready);
  await setPlayers(14);
  await settle();
  expect(sentTo(person)).toEqual([]);
  await setPlayers(9);
  await armed(person);
  await setPlayers(10);
  await received(person);
});

test('a server that goes offline for a moment has not fallen under the number', async () => {
  const person = anActor();
  await run(person, 'on', wanted(10));
  await setPlayers(12);
  await notified(person);
  now = new Date(START.getTime() + 3_600_000);
  for (const _ of ['first', 'second']) await poll(serverId, undefined);
  await settle();
  expect(await rowsOf(person)).toMatchObject([{ isArmed: false }]);
  await setPlayers(12);
  await settle();
  expect(sentTo(person)).toHaveLength(1);
});

test('a person gets one message an hour of a server, and the next one once it is over', async () => {
  const person = anActor();
  await run(person, 'on', wanted(10));
  await setPlayers(10);
  await notified(person);
  await setPlayers(3);
  await armed(person);
  now = new Date(START.getTime() + 3_599_999);
  await setPlayers(11);
  await settle();
  expect(sentTo(person)).toHaveLength(1);
  now = new Date(START.getTime() + 3_600_000);
  await received(person, 2);
  // A clock that was ahead blocks nothing.
  await setPlayers(3);
  await armed(person);
  now = START;
  await setPlayers(11);
  await received(person, 3);
});

test('a person who ended their notification and asks again gets another message within minutes', async () => {
  const person = anActor();
  for (const messages of [1, 2]) {
    await run(person, 'on', wanted(10));
    await setPlayers(10);
    await notified(person);
    expect(sentTo(person)).toHaveLength(messages);
    await run(person, 'off');
    await setPlayers(3);
  }
});

test('a person asks again with another number, and of ten servers at most, also at the same time', async () => {
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
  expect(await run(person, 'off')).toBe(words.none);
  expect(await rowsOf(person)).toEqual([]);
});

test.each([
  [403, 50_007],
  [403, 50_278],
  [404, 10_013],
])(
  'a closed inbox (%d, %d) ends all notifications of that person, and of nobody else',
  async (status, code) => {
    await insertServer(db, { slug: 'other', name: 'Other' });
    await refreshServers();
    const [closed, open] = [anActor(), anActor()];
    await run(closed, 'on', wanted(3));
    for (const person of [closed, open]) await run(person, 'on', { server: 'other', players: 3 });
    fake.fail({ matches: /^POST \/users\/@me\/channels/, response: refuse(status, code) });
    await setPlayers(3);
    await waitFor(async () => (await rowsOf(closed)).length === 0);
    expect(await rowsOf(open)).toHaveLength(1);
  },
);

test('a message that Discord does not take at once is sent once it does', async () => {
  const person = anActor();
  await run(person, 'on', wanted(3));
  fake.fail({ matches: /^POST \/channels\/\d+\/messages/, response: refuse(503), times: 6 });
  await setPlayers(3);
  await notified(person);
  expect(sentTo(person)).toHaveLength(1);
});

test('a hidden server waits, and a removed one ends its notifications', async () => {
  const person = anActor();
  await run(person, 'on', wanted(3));
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

test('the own data of a linked person has them, and erasure removes them', async () => {
  const person = anActor();
  await run(person, 'on', wanted(7));
  await insertUser(db, 91, { discordId: person.user.id });
  const exported = await readPerson(db, aSteamId(91), { actor: 'operator', now });
  expect(exported).toMatchObject({ discordNotifications: [{ serverId, playersAtLeast: 7 }] });
  await erase(db, aSteamId(91));
  expect(await rowsOf(person)).toEqual([]);
});

test('a forged button and an unknown server are refused', async () => {
  const person = anActor();
  expect(await run(person, 'on', { server: 'nuke', players: 3 })).toContain(
    BOT_TEXTS.en.refusals.serverNotFound('nuke'),
  );
  await run(person, 'on', wanted(3));
  await setPlayers(3);
  await received(person);
  const [message] = sentTo(person);
  const pressed = await fake.press(messageOf({ message }), 'notify.off:x', person);
  expect(textOf(pressed)).toBe(BOT_TEXTS.en.refusals.outdated);
  // Another person's press ends nothing of theirs.
  await fake.click(message, buttons.notifyOff, anActor());
  expect(await rowsOf(person)).toHaveLength(1);
});
