import { beforeEach, expect, test } from 'bun:test';
import pino from 'pino';
import { type Registration, registerAtStart, registerCommands } from '../../bot/register.ts';
import { createRest } from '../../bot/rest.ts';
import { settings } from '../../src/db/schema/settings.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { startFakeDiscord } from '../support/discord/fake-discord.ts';
import { waitFor } from '../support/wait.ts';

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
    ['server', 'ban-check', 'lookup', 'feed'].map((name) => [name, fake.commandId(name)]),
  );
  expect(first).toEqual({ isChanged: true, commands: 5, scope: 'global', ids } as Registration);
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
      ],
      permissions: '32',
      contexts: [0],
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
        ['penalties', 'Kary'],
        ['servers', 'Serwery'],
      ],
    ],
    ['types', 3, 'rodzaje', false, undefined],
    ['server', 3, 'serwer', false, undefined],
    ['players', 4, 'gracze', false, undefined],
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

test('in one guild without what only global commands take, and removes the global ones', async () => {
  await registerCommands({ rest: rest(), db, guildId: undefined });
  await registerCommands({ rest: rest(), db, guildId: GUILD });
  expect(fake.commands.get('global')).toEqual([]);
  expect(fake.commands.get(GUILD)?.every((command) => command.contexts === undefined)).toBe(true);
  await registerCommands({ rest: rest(), db, guildId: undefined });
  expect(fake.commands.get(GUILD)).toEqual([]);
});

test('keeps the commands where they are when Discord refuses them in another guild', async () => {
  const { ids } = await registerCommands({ rest: rest(), db, guildId: undefined });
  fake.state.guildAccess = false;
  await expect(registerCommands({ rest: rest(), db, guildId: GUILD })).rejects.toThrow('Missing Access');
  const again = await registerCommands({ rest: rest(), db, guildId: undefined });
  expect(again.ids).toEqual(ids);
  expect(fake.commands.get('global')).toHaveLength(5);
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

test('at the start keeps trying while Discord is unreachable, until the bot stops', async () => {
  const stopping = new AbortController();
  const lines: { msg: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const away = createRest({ apiUrl: 'http://127.0.0.1:1', token: 'x' });
  const registering = registerAtStart({ rest: away, db, guildId: undefined, log }, stopping.signal);
  await waitFor(() => lines.length === 1);
  expect(lines[0]?.msg).toBe('slash commands could not be registered: retrying with growing pauses');
  stopping.abort();
  await registering;
  expect(lines).toHaveLength(1);
});

test('at the start gives up when Discord refuses', async () => {
  const lines: { msg: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const refused = createRest({ apiUrl: fake.apiUrl, token: 'wrong' });
  const { signal } = new AbortController();
  await registerAtStart({ rest: refused, db, guildId: undefined, log }, signal);
  expect(lines.map(({ msg }) => msg)).toEqual(['slash commands could not be registered']);
});
