import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { ApplicationCommandOptionType } from 'discord.js';
import {
  createCommandRegistration,
  type Registration,
  registerCommands,
} from '../../../bot/commands/register.ts';
import { createRest } from '../../../bot/gateway/rest.ts';
import type { CommandIds } from '../../../bot/locales/command-mentions.ts';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { TIMINGS } from '../../../bot/timings.ts';
import { settings } from '../../../src/db/schema/settings.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import type { FakeCommandOption } from '../../support/discord/application-routes.ts';
import { textOf } from '../../support/discord/exchange.ts';
import { refuse, slowDown } from '../../support/discord/faults.ts';
import { waitFor } from '../../support/wait.ts';

const { en, pl } = BOT_TEXTS;

const GUILD = '900000000000000001';
const NOT_INVITED =
  'Discord rejected the request (Missing Access): invite the application to the guild of DISCORD_GUILD_ID first';
const { fake, db, deps, lines, linesAbout, startNext } = await startTestBot();
const puts = () => fake.requests.filter(({ method }) => method === 'PUT');

beforeEach(async () => {
  await db.delete(settings);
  fake.clearFaults();
  fake.commands.clear();
  fake.inviteBot();
  fake.requests.length = 0;
  lines.length = 0;
});

/** Registers the commands, in all guilds unless told otherwise. */
function register(
  guildId: string | undefined = undefined,
  { isForced = false, apiUrl = fake.apiUrl, token = fake.token } = {},
): Promise<Registration> {
  return registerCommands({ rest: createRest({ apiUrl, token }), db, guildId }, { isForced });
}

test('registers all commands in one request, once, and again only when forced', async () => {
  const first = await register();
  const names = ['server', 'ban-check', 'lookup', 'feed', 'notify'];
  const ids = Object.fromEntries(names.map((name) => [name, fake.commandId(name)]));
  expect(first).toEqual({ isChanged: true, commands: 6, scope: 'global', ids } as Registration);
  expect(await register()).toEqual({ ...first, isChanged: false });
  expect(puts()).toHaveLength(1);
  expect((await register(undefined, { isForced: true })).isChanged).toBe(true);
  expect(puts()).toHaveLength(2);
});

/** `name · name in Polish · type` of each option. */
const describeOptions = (options: FakeCommandOption[] = []) =>
  options.map(
    ({ name, type, name_localizations: names }) =>
      `${name} · ${names?.pl} · ${ApplicationCommandOptionType[type]}`,
  );

test('names, options and descriptions are localised; permissions are a default only', async () => {
  await register();
  const commands = fake.commands.get('global') ?? [];
  const [timeoutMembers, manageServer] = ['1099511627776', '32'];
  const people = ['user · użytkownik · User', 'player · gracz · String', 'show · pokaż · Boolean'];
  const [user = '', ...others] = people;
  const steamId = 'steamid · steamid · String';
  const subcommands = (...names: string[]) => names.map((name) => `${name} · Subcommand`);
  expect(
    commands.map((command) => [
      `${command.name} · ${command.name_localizations?.pl}`,
      command.default_member_permissions,
      command.contexts,
      describeOptions(command.options),
    ]),
  ).toEqual([
    ['server · serwer', undefined, [0, 1], ['name · nazwa · String']],
    ['ban-check · sprawdź-bany', undefined, [0, 1], [steamId, user, ...others]],
    ['lookup · wyszukaj', timeoutMembers, [0], [user, steamId, ...others]],
    ['Check bans · Sprawdź bany', timeoutMembers, [0], []],
    [
      'feed · powiadomienia-kanału',
      manageServer,
      [0],
      subcommands('start · włącz', 'list · lista', 'stop · wyłącz', 'test · wypróbuj'),
    ],
    ['notify · powiadom', undefined, [0, 1], subcommands('on · włącz', 'list · lista', 'off · wyłącz')],
  ]);
  const start = commands[4]?.options?.[0]?.options ?? [];
  expect(describeOptions(start)).toEqual([
    'what · co · String',
    'types · rodzaje · String',
    'server · serwer · String',
    'players · gracze · Integer',
    'after · po-minutach · Integer',
    'role · rola · Role',
    'channel · kanał · Channel',
  ]);
  expect(start.map(({ required }) => required)).toEqual([true, ...Array(6).fill(false)]);
  expect(
    start.map(({ choices }) => choices?.map(({ value, name_localizations: names }) => [value, names?.pl])),
  ).toEqual([Object.entries(pl.feed.subjects), ...Array(5).fill(undefined)]);
});

test('registers commands in one guild without what only global commands take', async () => {
  await register(GUILD);
  expect(fake.commands.get(GUILD)).toHaveLength(6);
  for (const command of fake.commands.get(GUILD) ?? []) {
    expect(command).not.toHaveProperty('contexts');
    expect(command).not.toHaveProperty('integration_types');
  }
});

test.each([
  ['the same database', async () => undefined],
  ['a new database', () => db.delete(settings)],
])('moves the commands between the guild and all guilds, with %s', async (_, changeDatabase) => {
  await register();
  for (const [guildId, here, there] of [
    [GUILD, GUILD, 'global'],
    [undefined, 'global', GUILD],
  ] as const) {
    await changeDatabase();
    await register(guildId);
    expect(fake.commands.get(here)).toHaveLength(6);
    expect(fake.commands.get(there)).toEqual([]);
  }
});

test('removes only its own commands from another scope', async () => {
  const names = { name: 'music', name_localizations: { pl: 'muzyka' } };
  const foreign = { ...names, description: 'Plays music' };
  await register();
  fake.commands.set('global', [...(fake.commands.get('global') ?? []), foreign]);
  await register(GUILD);
  expect(fake.commands.get('global')).toMatchObject([foreign]);
});

test('keeps the commands where they are when Discord refuses them in another guild', async () => {
  const { ids } = await register();
  fake.state.guildAccess = false;
  await expect(register(GUILD)).rejects.toThrow(NOT_INVITED);
  expect((await register()).ids).toEqual(ids);
  expect(fake.commands.get('global')).toHaveLength(6);
});

test.each([
  ['the token is wrong', () => register(undefined, { token: 'wrong' }), 'Discord rejected DISCORD_TOKEN'],
  [
    'Discord is unreachable',
    () => register(undefined, { apiUrl: 'http://127.0.0.1:1' }),
    'Discord cannot be reached',
  ],
  [
    'Discord allows no further registration for long',
    () => {
      fake.fail({ matches: /^PUT .*commands$/, response: slowDown(3480) });
      return register();
    },
    'Discord allows no further requests of this kind for 58 minutes',
  ],
])('says so at once when %s', async (_, attempt, message) => {
  await expect(attempt()).rejects.toThrow(message);
});

describe('a running bot', () => {
  const clock = { aheadMs: 0 };
  const stops: (() => Promise<void>)[] = [];

  function start({ apiUrl = fake.apiUrl } = {}) {
    let ids: CommandIds = {};
    const registration = createCommandRegistration({
      rest: createRest({ apiUrl, token: fake.token }),
      db,
      guildId: GUILD,
      log: deps.log,
      now: () => new Date(Date.now() + clock.aheadMs),
      timings: { ...TIMINGS, commandCheckMs: 20 },
      setIds: (next) => {
        ids = next;
      },
      onReturned: () => undefined,
    });
    registration.start([GUILD]);
    stops.push(registration.stop);
    return { ...registration, ids: () => ids };
  }
  const isRegistered = () => fake.commands.get(GUILD)?.length === 6;
  const listings = () =>
    fake.requests.filter(({ method, path }) => method === 'GET' && path.endsWith('/commands'));

  afterEach(async () => {
    clock.aheadMs = 0;
    await Promise.all(stops.splice(0).map((stop) => stop()));
  });

  test('registers the commands again after it was removed from the guild and invited again', async () => {
    const registration = start();
    await waitFor(isRegistered);
    fake.removeBot();
    await waitFor(() => registration.health() === NOT_INVITED);
    fake.inviteBot();
    await waitFor(isRegistered);
    await waitFor(() => registration.health() === 'registered');
    expect(registration.ids().server).toBe(fake.commandId('server', GUILD));
    expect(lines.map(({ msg }) => msg)).toEqual([
      'slash commands registered',
      'slash commands could not be registered: retrying',
      'slash commands registered',
    ]);
  });

  test('registers the commands at its start when they were dropped since', async () => {
    const first = start();
    await waitFor(isRegistered);
    await first.stop();
    fake.removeBot();
    fake.inviteBot();
    const next = start();
    await waitFor(() => next.health() === 'registered');
    expect(isRegistered()).toBe(true);
  });

  test('registers a single command that is missing, and writes nothing while all are there', async () => {
    start();
    await waitFor(isRegistered);
    fake.commands.set(GUILD, fake.commands.get(GUILD)?.slice(1) ?? []);
    await waitFor(isRegistered);
    const before = listings().length;
    await waitFor(() => listings().length > before + 2);
    expect(puts()).toHaveLength(2);
  });

  test('waits for its invitation, and after an hour checks less often', async () => {
    fake.removeBot();
    const registration = start();
    const pauses = async () => {
      const before = listings().length;
      await waitFor(() => listings().length > before + 3);
      const [first, last] = [listings().at(-3)?.at ?? 0, listings().at(-1)?.at ?? 0];
      return last - first;
    };
    await waitFor(() => registration.health().includes('invite the application'));
    clock.aheadMs = 3_600_001;
    await waitFor(async () => (await pauses()) >= 2 * 5 * 20);
    fake.inviteBot();
    await waitFor(() => registration.health() === 'registered');
    expect(lines.map(({ msg }) => msg)).toEqual([
      'slash commands could not be registered: retrying',
      'slash commands registered',
    ]);
  });

  test('keeps trying while Discord is unreachable, until it stops', async () => {
    const registration = start({ apiUrl: 'http://127.0.0.1:1' });
    await waitFor(() => lines.length === 1);
    expect(registration.health()).toContain('Discord cannot be reached');
    await registration.stop();
    expect(lines).toHaveLength(1);
  });

  test('counts as registered during an outage of Discord', async () => {
    const registration = start();
    await waitFor(isRegistered);
    await waitFor(() => registration.health() === 'registered');
    const { length } = listings();
    fake.fail({ matches: /commands$/, response: refuse(500), times: 9 });
    await waitFor(() => listings().length > length + 9);
    expect(registration.health()).toBe('registered');
    expect(lines).toHaveLength(1);
  });
});

/**
 * The first lines of the responses to a member who asks about somebody else, and to a manager who lists, starts and
 * stops feeds.
 */
async function readNotices(locale: string): Promise<string[]> {
  const member = anActor({ locale });
  const manager = anActor({ locale, isManager: true });
  const refused = await fake.command('ban-check', { steamid: aSteamId(5) }, member);
  const listed = await fake.command('feed list', {}, manager);
  const started = await fake.command('feed start', { what: 'servers' }, manager);
  await fake.command('feed stop', { what: 'servers' }, manager);
  const followed = await fake.command('notify list', {}, member);
  return [refused, listed, started, followed].map((exchange) => textOf(exchange).split('\n')[0] ?? '');
}

test('names commands as the reader types them while Discord has not registered them', async () => {
  fake.fail({ matches: /^PUT .*commands/, response: () => new Response('no', { status: 400 }), times: 100 });
  const bot = await startNext();
  await waitFor(() => linesAbout('could not be registered').length > 0);
  const feed = { subject: 'servers', channel: `<#${anActor().channelId}>` } as const;
  expect(await readNotices('en-US')).toEqual([
    en.refusals.moderateMembersRequired('`/ban-check`'),
    en.feed.none('`/feed start`'),
    `📣 ${en.feed.started({ ...feed, stop: '`/feed stop`' })}`,
    en.notify.none('`/notify on`'),
  ]);
  expect(await readNotices('pl')).toEqual([
    pl.refusals.moderateMembersRequired('`/sprawdź-bany`'),
    pl.feed.none('`/powiadomienia-kanału włącz`'),
    `📣 ${pl.feed.started({ ...feed, stop: '`/powiadomienia-kanału wyłącz`' })}`,
    pl.notify.none('`/powiadom włącz`'),
  ]);
  await bot.stop();
});

test.each([
  ['global', undefined],
  ['guild', GUILD],
])('%s commands are mentioned by their ids, in both languages, after a restart too', async (_, guildId) => {
  for (const start of ['first', 'second']) {
    lines.length = 0;
    const before = puts().length;
    const next = await startNext({ guildId });
    await waitFor(() => linesAbout('slash commands').length > 0);
    const [banCheck, feed] = ['ban-check', 'feed'].map((name) => fake.commandId(name, guildId));
    expect(banCheck).toMatch(/^[0-9]+$/);
    for (const locale of ['en-US', 'pl']) {
      const [refused, listed, started] = await readNotices(locale);
      expect(refused).toContain(`</ban-check:${banCheck}>`);
      expect(listed).toContain(`</feed start:${feed}>`);
      expect(started).toContain(`</feed stop:${feed}>`);
      for (const text of [refused, listed, started]) expect(text).not.toContain('`/');
    }
    // The second start finds them registered, and asks for their ids.
    if (start === 'second') expect(puts()).toHaveLength(before);
    await next.stop();
  }
});
