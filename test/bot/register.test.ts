import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import pino from 'pino';
import type { CommandIds } from '../../bot/command-mentions.ts';
import { BOT_TEXTS } from '../../bot/locales/localization.ts';
import { createCommandRegistration, type Registration, registerCommands } from '../../bot/register.ts';
import { createRest } from '../../bot/rest.ts';
import { TIMINGS } from '../../bot/timings.ts';
import { settings } from '../../src/db/schema/settings.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { startFakeDiscord } from '../support/discord/fake-discord.ts';
import { refuse, slowDown } from '../support/discord/faults.ts';
import { waitFor } from '../support/wait.ts';

const { pl } = BOT_TEXTS;

const GUILD = '900000000000000001';
const { db } = await createTestDatabase();
let fake = await startFakeDiscord();
const puts = () => fake.requests.filter(({ method }) => method === 'PUT');
const rest = () => createRest({ apiUrl: fake.apiUrl, token: fake.token });

beforeEach(async () => {
  await fake.stop();
  fake = await startFakeDiscord();
  await db.delete(settings);
});

test('registers all commands in one request, once, and again only when forced', async () => {
  const first = await registerCommands({ rest: rest(), db, guildId: undefined });
  const ids = Object.fromEntries(
    ['server', 'ban-check', 'lookup', 'feed', 'notify'].map((name) => [name, fake.commandId(name)]),
  );
  expect(first).toEqual({ isChanged: true, commands: 6, scope: 'global', ids } as Registration);
  expect(await registerCommands({ rest: rest(), db, guildId: undefined })).toEqual({
    ...first,
    isChanged: false,
  });
  expect(puts()).toHaveLength(1);
  expect(
    (await registerCommands({ rest: rest(), db, guildId: undefined }, { isForced: true })).isChanged,
  ).toBe(true);
  expect(puts()).toHaveLength(2);
});

test('names, options and descriptions are localised; permissions are a default only', async () => {
  await registerCommands({ rest: rest(), db, guildId: undefined });
  const commands = fake.commands.get('global') ?? [];
  expect(
    commands.map((command) => ({
      name: command.name,
      pl: command.name_localizations?.pl,
      options: command.options?.map(({ name, type, name_localizations: names }) => [name, type, names?.pl]),
      permissions: command.default_member_permissions,
      contexts: command.contexts,
    })),
  ).toEqual([
    {
      name: 'server',
      pl: 'serwer',
      options: [['name', 3, 'nazwa']],
      permissions: undefined,
      contexts: [0, 1],
    },
    {
      name: 'ban-check',
      pl: 'sprawdź-bany',
      options: [
        ['steamid', 3, 'steamid'],
        ['user', 6, 'użytkownik'],
        ['player', 3, 'gracz'],
        ['show', 5, 'pokaż'],
      ],
      permissions: undefined,
      contexts: [0, 1],
    },
    {
      name: 'lookup',
      pl: 'wyszukaj',
      options: [
        ['user', 6, 'użytkownik'],
        ['steamid', 3, 'steamid'],
        ['player', 3, 'gracz'],
        ['show', 5, 'pokaż'],
      ],
      permissions: '1099511627776',
      contexts: [0],
    },
    {
      name: 'Check bans',
      pl: 'Sprawdź bany',
      options: undefined,
      permissions: '1099511627776',
      contexts: [0],
    },
    {
      name: 'feed',
      pl: 'powiadomienia',
      options: [
        ['start', 1, 'włącz'],
        ['list', 1, 'lista'],
        ['stop', 1, 'wyłącz'],
        ['test', 1, 'wypróbuj'],
      ],
      permissions: '32',
      contexts: [0],
    },
    {
      name: 'notify',
      pl: 'powiadom',
      options: [
        ['on', 1, 'włącz'],
        ['off', 1, 'wyłącz'],
      ],
      permissions: undefined,
      contexts: [0, 1],
    },
  ]);
  const start = commands[4]?.options?.[0];
  expect(
    start?.options?.map(({ name, type, required, choices, name_localizations: names }) => [
      name,
      type,
      names?.pl,
      required,
      choices?.map(({ value, name_localizations: labels }) => [value, labels?.pl]),
    ]),
  ).toEqual([
    [
      'what',
      3,
      'co',
      true,
      [
        ['penalties', pl.feed.subjects.penalties],
        ['servers', pl.feed.subjects.servers],
        ['appeals', pl.feed.subjects.appeals],
      ],
    ],
    ['types', 3, 'rodzaje', false, undefined],
    ['server', 3, 'serwer', false, undefined],
    ['players', 4, 'gracze', false, undefined],
    ['after', 4, 'po', false, undefined],
    ['role', 8, 'rola', false, undefined],
  ]);
  for (const command of commands.filter(({ name }) => name !== 'Check bans')) {
    expect(command.description_localizations?.pl).toBeString();
    for (const option of command.options ?? []) {
      expect(option.description_localizations?.pl).toBeString();
      for (const inner of option.options ?? []) expect(inner.description_localizations?.pl).toBeString();
    }
  }
});

test('registers commands in one guild without what only global commands take', async () => {
  await registerCommands({ rest: rest(), db, guildId: GUILD });
  expect(fake.commands.get(GUILD)?.every((command) => command.contexts === undefined)).toBe(true);
});

test.each([
  ['the same database', async () => undefined],
  ['a new database', () => db.delete(settings)],
])('moves the commands between the guild and all guilds, with %s', async (_, changeDatabase) => {
  await registerCommands({ rest: rest(), db, guildId: undefined });
  for (const [guildId, here, there] of [
    [GUILD, GUILD, 'global'],
    [undefined, 'global', GUILD],
  ] as const) {
    await changeDatabase();
    await registerCommands({ rest: rest(), db, guildId });
    expect(fake.commands.get(here)).toHaveLength(6);
    expect(fake.commands.get(there)).toEqual([]);
  }
});

test('removes only its own commands from another scope', async () => {
  const foreign = {
    name: 'music',
    name_localizations: { pl: 'muzyka' },
    description: 'Plays music',
  };
  await registerCommands({ rest: rest(), db, guildId: undefined });
  fake.commands.set('global', [...(fake.commands.get('global') ?? []), foreign]);
  await registerCommands({ rest: rest(), db, guildId: GUILD });
  expect(fake.commands.get('global')).toMatchObject([foreign]);
});

test('keeps the commands where they are when Discord refuses them in another guild', async () => {
  const { ids } = await registerCommands({ rest: rest(), db, guildId: undefined });
  fake.state.guildAccess = false;
  await expect(registerCommands({ rest: rest(), db, guildId: GUILD })).rejects.toThrow('Missing Access');
  const again = await registerCommands({ rest: rest(), db, guildId: undefined });
  expect(again.ids).toEqual(ids);
  expect(fake.commands.get('global')).toHaveLength(6);
});

test('logs the reason when Discord refuses, and when it is unreachable', async () => {
  fake.state.guildAccess = false;
  await expect(registerCommands({ rest: rest(), db, guildId: GUILD })).rejects.toThrow(
    'Discord rejected the request (Missing Access): invite the application to the guild of DISCORD_GUILD_ID first',
  );
  await expect(
    registerCommands({ rest: createRest({ apiUrl: fake.apiUrl, token: 'wrong' }), db, guildId: undefined }),
  ).rejects.toThrow('Discord rejected DISCORD_TOKEN');
  await expect(
    registerCommands({
      rest: createRest({ apiUrl: 'http://127.0.0.1:1', token: 'x' }),
      db,
      guildId: undefined,
    }),
  ).rejects.toThrow('Discord cannot be reached');
});

test('says how long Discord allows no further registration, instead of waiting for it', async () => {
  fake.fail({ matches: /^PUT .*commands$/, response: slowDown(3480) });
  await expect(registerCommands({ rest: rest(), db, guildId: undefined })).rejects.toThrow(
    'Discord allows no further requests of this kind for 58 minutes',
  );
});

describe('a running bot', () => {
  const clock = { aheadMs: 0 };
  const stops: (() => Promise<void>)[] = [];
  const lines: { msg: string; err?: { message: string } }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });

  function start({ guildId = GUILD, apiUrl = fake.apiUrl, token = fake.token, everyMs = 20 } = {}) {
    let ids: CommandIds = {};
    const registration = createCommandRegistration({
      rest: createRest({ apiUrl, token }),
      db,
      guildId,
      log,
      now: () => new Date(Date.now() + clock.aheadMs),
      timings: { ...TIMINGS, commandCheckMs: everyMs },
      setIds: (next) => {
        ids = next;
      },
    });
    registration.start([GUILD]);
    stops.push(registration.stop);
    return { ...registration, ids: () => ids };
  }
  const isRegistered = () => fake.commands.get(GUILD)?.length === 6;
  const listings = () =>
    fake.requests.filter(({ method, path }) => method === 'GET' && path.endsWith('/commands'));

  beforeEach(() => {
    lines.length = 0;
    clock.aheadMs = 0;
  });
  afterEach(async () => {
    await Promise.all(stops.splice(0).map((stop) => stop()));
  });

  test('registers the commands again after it was removed from the guild and invited again', async () => {
    const registration = start();
    await waitFor(isRegistered);
    fake.removeBot();
    const reason =
      'Discord rejected the request (Missing Access): invite the application to the guild of DISCORD_GUILD_ID first';
    await waitFor(() => registration.health() === reason);
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
