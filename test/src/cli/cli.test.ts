import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import packageJson from '../../../package.json';
import { apiTokens, users } from '../../../src/db/schema/accounts.ts';
import { auditLog } from '../../../src/db/schema/audit-log.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { serverSnapshots, servers } from '../../../src/db/schema/servers.ts';
import { isApiToken } from '../../../src/domain/api-token.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { aSteamId, insertServer, saveServerPoll } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { anInfoPacket, aPlayersPacket, startRawServer } from '../../support/game-server/a2s.ts';
import { createTestFolder, startProgram } from '../../support/service/program.ts';
import { aToken, bearer, startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const { db } = database;
const folder = createTestFolder();
afterAll(folder.remove);
beforeEach(async () => {
  for (const table of [apiTokens, users, servers, penalties, auditLog]) await db.delete(table);
});

type Ended = { code: number; stdout: string; stderr: string };

async function cli(args: string[], env: Record<string, string> = {}): Promise<Ended> {
  const program = startProgram(
    'src/cli.ts',
    { DATABASE_URL: database.url, DATA_DIR: folder.path, ...env },
    args,
  );
  const code = await program.exited;
  return { code, stdout: program.stdout(), stderr: program.stderr() };
}

/** Asserts a call that succeeds without a word on stderr. */
async function succeed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(args);
  expect([args, code, stderr]).toEqual([args, 0, '']);
  return stdout;
}

const fail = async (...args: string[]) => {
  const { code, stdout, stderr } = await cli(args);
  return [code, stdout, stderr];
};

describe('the tool itself', () => {
  test('prints help, even where the configuration is broken and no database is in reach', async () => {
    const broken = { PORT: 'x', DATABASE_URL: 'nonsense' };
    const [bare, asked, ofNoun, version] = await Promise.all([
      cli([], broken),
      cli(['--help'], broken),
      cli(['tokens', 'create', '--help'], broken),
      cli(['--version'], broken),
    ]);
    expect([bare.code, bare.stderr, bare.stdout]).toEqual([0, '', asked.stdout]);
    for (const noun of ['servers', 'tokens', 'users', 'penalties', 'sounds', 'bot', '--json']) {
      expect(bare.stdout).toContain(noun);
    }
    expect([ofNoun.code, ofNoun.stdout]).toEqual([0, expect.stringContaining('--steamid64 <id>')]);
    expect([version.code, version.stdout]).toEqual([0, `${packageJson.version}\n`]);
  });

  test('ends with 2 and a hint on stderr for wrong usage', async () => {
    const calls = [
      ['nonsense'],
      ['servers'],
      ['servers', 'nonsense'],
      ['servers', 'add', '--name', 'x'],
      ['servers', 'list', 'extra'],
      ['servers', 'remove'],
      ['tokens', 'create', '--name'],
      ['tokens', 'list', '--nonsense'],
      ['users', 'set'],
    ];
    for (const { args, ended } of await Promise.all(
      calls.map(async (args) => ({ args, ended: await cli(args) })),
    )) {
      expect([args, ended.code, ended.stdout]).toEqual([args, 2, '']);
      expect(ended.stderr).not.toBe('');
      expect(ended.stderr).not.toContain('    at ');
      expect(ended.stderr).not.toStartWith('error:');
    }
  });

  test('ends with 1 and one line when the database is out of reach, or a setting is bad', async () => {
    const missing = new URL(database.url);
    missing.pathname = '/never_made';
    const [away, none, bad] = await Promise.all([
      cli(['servers', 'list'], { DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/x' }),
      cli(['servers', 'list'], { DATABASE_URL: missing.href }),
      cli(['servers', 'list'], { DATABASE_URL: 'mysql://user:hunter2@127.0.0.1/x' }),
    ]);
    expect(away).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The database of DATABASE_URL is out of reach: 127.0.0.1:1\n',
    });
    expect(none).toEqual({
      code: 1,
      stdout: '',
      stderr: `The database of DATABASE_URL cannot be used: database "never_made" does not exist (${missing.host})\n`,
    });
    expect(bad).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining('DATABASE_URL=') });
    for (const { stderr } of [away, bad]) {
      expect(stderr.trimEnd()).not.toContain('\n');
      expect(stderr).not.toContain('hunter2');
    }
  });
});

describe('servers', () => {
  test('add makes the slug of the name, tells names apart, and list shows what there is', async () => {
    expect(await succeed('servers', 'list')).toBe(
      'No servers yet: bun run cli servers add --name NAME --address HOST:PORT\n',
    );
    const add = ['servers', 'add', '--name', 'Zażółć #1'];
    const first = await succeed(
      ...[...add, '--address', 'play.example.org:27015', '--mode', 'Competitive', '--region', 'EU'],
    );
    const [row] = await db.select().from(servers);
    expect(first).toStartWith('Added zazolc-1 (play.example.org:27015)\ndoes not answer: ');
    expect(row).toMatchObject({ slug: 'zazolc-1', mode: 'Competitive', region: 'EU' });
    expect(await succeed(...add, '--address', '[2001:db8::1]:27015')).toStartWith('Added zazolc-1-2 (');
    const third = JSON.parse(
      await succeed('--json', ...add, '--address', '203.0.113.7:27015', '--slug', '1'),
    );
    expect(third).toMatchObject({
      slug: '1',
      name: 'Zażółć #1',
      address: '203.0.113.7:27015',
      answers: false,
    });

    const listed = JSON.parse(await succeed('servers', 'list', '--json'));
    expect(listed.map(({ slug }: { slug: string }) => slug)).toEqual(['zazolc-1', 'zazolc-1-2', '1']);
    const table = (await succeed('servers', 'list')).trimEnd().split('\n');
    expect(table).toHaveLength(4);
    expect(table[0]).toMatch(/^SLUG +NAME +ADDRESS +MODE +REGION +STATUS +PLAYERS +LAST SEEN$/);
    expect(table[1]).toMatch(
      /^zazolc-1 +Zażółć #1 +play\.example\.org:27015 +Competitive +EU +not polled yet +- +never$/,
    );
  });

  test('add refuses what is taken or not allowed, in one line, and adds nothing', async () => {
    await succeed('servers', 'add', '--name', 'One', '--address', '203.0.113.7:27015', '--slug', 'one');
    const add = (name: string, address: string, ...rest: string[]) =>
      fail('servers', 'add', '--name', name, '--address', address, ...rest);
    expect(
      await Promise.all([
        add('Two', '203.0.113.7:27015'),
        add('Two', '203.0.113.8:27015', '--slug', 'one'),
        add('Two', '203.0.113.8'),
        add('Two', '203.0.113.8:70000'),
        add('Two', '203.0.113.8:27015', '--slug', 'Not A Slug'),
        add('  ', '203.0.113.8:27015'),
        add('\u3164\u200b', '203.0.113.8:27015'),
      ]),
    ).toEqual([
      [1, '', 'The address 203.0.113.7:27015 belongs to one already\n'],
      [1, '', 'The slug one is taken: give another with --slug\n'],
      [1, '', expect.stringMatching(/^address "203\.0\.113\.8" is not allowed: give HOST:PORT.*\n$/)],
      [1, '', expect.stringMatching(/^address "203\.0\.113\.8:70000" is not allowed.*\n$/)],
      [1, '', expect.stringMatching(/^slug "Not A Slug" is not allowed.*\n$/)],
      [1, '', expect.stringMatching(/^name " {2}" is not allowed.*\n$/)],
      [
        1,
        '',
        expect.stringMatching(/^name "\u3164\u200b" is not allowed: .*at least one of them visible\n$/),
      ],
    ]);
    expect(await db.select().from(servers)).toHaveLength(1);
  });

  test('add says what the server answered, or which port to open', async () => {
    const info = anInfoPacket({ map: 'de_mirage', players: 7, maxPlayers: 24 });
    const game = await startRawServer(({ isInfo }) => (isInfo ? [info] : [aPlayersPacket([])]));
    try {
      const added = await succeed('servers', 'add', '--name', 'One', '--address', game.address);
      expect(added).toMatch(/^Added one \(127\.0\.0\.1:\d+\)\nanswers: de_mirage 7\/24, \d+ ms\n$/);
    } finally {
      await game.stop();
    }
    const refused = await succeed(
      'servers',
      'add',
      '--name',
      'Two',
      '--address',
      game.address.replace('127.0.0.1', 'localhost'),
    );
    expect(refused).toMatch(
      /\ndoes not answer: nothing listens at UDP port \d+: is the game server running\?\n$/,
    );
    const lost = await succeed('servers', 'set', 'two', '--address', '203.0.113.9:27016');
    expect(lost).toMatch(/^Changed two\ndoes not answer: .*\n$/);
  });

  test('set changes what is given, and the history stays', async () => {
    const server = await insertServer(db, { slug: 'one', address: '203.0.113.7:27015', mode: 'Casual' });
    const other = await insertServer(db);
    const polledAt = new Date('2026-11-21T12:00:00Z');
    await saveServerPoll(db, server.id, { state: undefined, polledAt });
    expect(await succeed('servers', 'set', 'one', '--name', ' New name ', '--region', 'PL')).toBe(
      'Changed one\n',
    );
    const [changed] = await db.select().from(servers).where(eq(servers.slug, 'one'));
    expect(changed).toEqual({ ...server, name: 'New name', region: 'PL' });
    expect(await db.select().from(serverSnapshots)).toMatchObject([{ serverId: server.id, polledAt }]);
    expect(
      await Promise.all([
        fail('servers', 'set', 'one', '--address', other.address),
        fail('servers', 'set', 'one', '--address', 'nowhere'),
        fail('servers', 'set', 'one', '--name', ' '),
        fail('servers', 'set', 'nothing', '--name', 'x'),
      ]),
    ).toEqual([
      [1, '', `The address ${other.address} belongs to ${other.slug} already\n`],
      [1, '', expect.stringContaining('address "nowhere" is not allowed')],
      [1, '', expect.stringContaining('name " " is not allowed')],
      [1, '', 'There is no server "nothing"\n'],
    ]);
    expect((await cli(['servers', 'set', 'one'])).code).toBe(2);
    const entries = await db.select().from(auditLog).where(eq(auditLog.action, 'server.changed'));
    expect(entries).toMatchObject([{ subject: 'one', details: { name: 'New name', region: 'PL' } }]);
  });

  test('list tells status, players and when each was last seen', async () => {
    const seenAt = new Date('2026-11-21T12:34:56Z');
    const state = { hostname: '', map: 'de_nuke', playersCount: 3, maxPlayers: 10, players: [], pingMs: 5 };
    const online = await insertServer(db, { slug: 'a', name: 'A', address: 'a.example:1' });
    await saveServerPoll(db, online.id, { state, polledAt: seenAt });
    await insertServer(db, { slug: 'b', name: 'B', address: 'b.example:1', isHidden: true });
    const lines = (await succeed('servers', 'list')).split('\n');
    expect(lines[1]).toMatch(/ online +3\/10 +2026-11-21 12:34 UTC$/);
    expect(lines[2]).toMatch(/ hidden +- +never$/);
  });

  test('hide, unhide and remove work by slug, and a running service follows', async () => {
    const service = await startTestService({ databaseUrl: database.url });
    await succeed('servers', 'add', '--name', 'One', '--address', '203.0.113.7:27015');
    const isListed = async () => (await service.ask('/api/v1/servers/one')).status === 200;
    await waitFor(isListed);
    expect(await succeed('servers', 'hide', 'one')).toBe('one is hidden\n');
    await waitFor(async () => !(await isListed()));
    expect(await succeed('servers', 'unhide', 'one', '--json')).toBe(
      `${JSON.stringify({ slug: 'one', isHidden: false }, null, 2)}\n`,
    );
    await waitFor(isListed);
    expect(await fail('servers', 'remove', 'one')).toEqual([
      1,
      '',
      'There is nobody to ask here: give --yes\n',
    ]);
    expect(await succeed('servers', 'remove', 'one', '--yes')).toBe('Removed one\n');
    await waitFor(async () => !(await isListed()));
    expect(await Promise.all([fail('servers', 'remove', 'one'), fail('servers', 'hide', 'one')])).toEqual([
      [1, '', 'There is no server "one"\n'],
      [1, '', 'There is no server "one"\n'],
    ]);
  });
});

describe('tokens', () => {
  test('create prints the token alone, list never does, revoke ends it in a running service', async () => {
    const service = await startTestService({ databaseUrl: database.url, hasRealClock: true });
    const stdout = await succeed('tokens', 'create', '--steamid64', '[U:1:39734273]', '--name', 'website');
    const token = stdout.trimEnd();
    expect([stdout, isApiToken(token)]).toEqual([`${token}\n`, true]);
    expect((await service.get('/bans', bearer(token))).status).toBe(200);

    const table = await succeed('tokens', 'list');
    expect(table).not.toContain(token);
    expect(table.split('\n')[1]).toMatch(
      new RegExp(`^[0-9]+ +${aSteamId(1)} +website +…${token.slice(-4)} +[0-9-]{10} +\\S+ +all +live$`),
    );
    const [row] = JSON.parse(await succeed('--json', 'tokens', 'list'));
    expect(row).toMatchObject({ steamId64: aSteamId(1), name: 'website', revokedAt: null });
    expect(JSON.stringify(row)).not.toContain('Hash');

    expect(await succeed('tokens', 'revoke', String(row.id))).toBe(`Revoked token ${row.id}\n`);
    await waitFor(async () => (await service.ask('/api/v1/bans', bearer(token))).status === 401, {
      limitMs: 1000,
    });
    expect(await succeed('tokens', 'list')).toContain('revoked');
    expect(await fail('tokens', 'revoke', '999999')).toEqual([1, '', 'There is no token 999999\n']);
    expect(await fail('tokens', 'revoke', '1e3')).toEqual([1, '', '"1e3" is no token id: see tokens list\n']);
  });

  test('list gives a hundred at a time, and says how to see the others', async () => {
    const owner = await saveUser(db, aSteamId(3), { actor: 'operator' });
    await database.connection`
      insert into api_tokens (user_id, name, token_hash, last_four, created_at)
      select ${owner.id}, 'no ' || n, md5(n::text), 'abcd', now() from generate_series(1, 230) as n`;
    const names = (table: string): string[] => [...table.matchAll(/no \d+/g)].map(([name]) => name);
    const down = (from: number, to: number) =>
      Array.from({ length: from - to + 1 }, (_, index) => `no ${from - index}`);
    const first = await succeed('tokens', 'list');
    expect(names(first)).toEqual(down(230, 131));
    const next = /\n… and 130 older: tokens list --before (\d+)\n$/.exec(first)?.[1] ?? '';
    const second = await succeed('tokens', 'list', '--before', next);
    expect(names(second)).toEqual(down(130, 31));
    const last = /\n… and 30 older: tokens list --before (\d+)\n$/.exec(second)?.[1] ?? '';
    const third = JSON.parse(await succeed('--json', 'tokens', 'list', '--before', last));
    expect(third.map(({ name }: { name: string }) => name)).toEqual(down(30, 1));
    const [{ id: oldest }] = third.slice(-1);
    expect(
      await Promise.all([String(oldest), 'x'].map((before) => fail('tokens', 'list', '--before', before))),
    ).toEqual([
      [0, `No tokens older than ${oldest}.\n`, ''],
      [1, '', '"x" is no token id: see tokens list\n'],
    ]);
  });

  test('create takes an expiry, and refuses one it does not know', async () => {
    const create = ['tokens', 'create', '--steamid64', aSteamId(2), '--name', 'bot'];
    const made = JSON.parse(await succeed('--json', ...create, '--expires', '90d'));
    expect(isApiToken(made.token)).toBe(true);
    expect(Date.parse(made.expiresAt) - Date.now()).toBeWithin(89.9 * 86_400_000, 90 * 86_400_000);
    expect(
      await Promise.all(['0d', '90', 'x', '-1d', '1y'].map((time) => fail(...create, `--expires=${time}`))),
    ).toEqual(
      ['0d', '90', 'x', '-1d', '1y'].map((time) => [
        1,
        '',
        `--expires "${time}" is not allowed: give a number and m, h, d or w, such as 90d\n`,
      ]),
    );
  });

  test('create takes scopes, all by default, and refuses one it does not know', async () => {
    const create = ['tokens', 'create', '--steamid64', aSteamId(5), '--name', 'scoped'];
    const all = JSON.parse(await succeed('--json', ...create));
    expect(all.scopes).toEqual(['servers', 'penalties', 'lookup', 'events']);
    const few = JSON.parse(await succeed('--json', ...create, '--scopes', 'events, lookup,events'));
    expect(few.scopes).toEqual(['lookup', 'events']);
    expect(await succeed('tokens', 'list')).toMatch(/ lookup,events +live$/m);
    expect(
      await Promise.all(['bans', 'lookup,*', ' ,'].map((list) => fail(...create, '--scopes', list))),
    ).toEqual([
      [1, '', '"bans" is no scope: give any of servers, penalties, lookup, events\n'],
      [1, '', '"*" is no scope: give any of servers, penalties, lookup, events\n'],
      [1, '', 'A token needs a scope: give any of servers, penalties, lookup, events\n'],
    ]);
  });

  test('create stops at ten live tokens of a user, and at what is no SteamID', async () => {
    for (let i = 0; i < 10; i++) await aToken(db, 3);
    expect(
      await Promise.all([
        fail('tokens', 'create', '--steamid64', aSteamId(3), '--name', 'x'),
        fail('tokens', 'create', '--steamid64', 'BOT', '--name', 'x'),
        fail('tokens', 'create', '--steamid64', aSteamId(4), '--name', ' '),
      ]),
    ).toEqual([
      [1, '', 'A user has at most 10 live tokens: revoke one first\n'],
      [1, '', expect.stringMatching(/^"BOT" is not a SteamID: give .*\n$/)],
      [1, '', expect.stringMatching(/^The name of a token has 1 to 64 characters.*\n$/)],
    ]);
    expect(await db.select().from(apiTokens)).toHaveLength(10);
  });
});

describe('users', () => {
  test('set makes a user and changes what is given; show finds him by every id', async () => {
    const id = ['--steamid64', aSteamId(1)];
    expect(
      await succeed(
        ...['users', 'set', ...id, '--nickname', 'Rzeźnik', '--discord-id', '1152921504606846977'],
        ...['--discord-username', 'rzeznik', '--discord-avatar', 'abc', '--admin', '--svip'],
      ),
    ).toBe(`Saved ${aSteamId(1)} (Rzeźnik)\n`);
    expect(JSON.parse(await succeed('--json', 'users', 'set', ...id, '--no-admin', '--owner'))).toMatchObject(
      {
        nickname: 'Rzeźnik',
        discordId: '1152921504606846977',
        isAdmin: false,
        isOwner: true,
        hasSvip: true,
        isServiceplus: false,
      },
    );
    const shown = await Promise.all(
      [
        aSteamId(1),
        'STEAM_0:1:19867136',
        '[U:1:39734273]',
        '1152921504606846977',
        `https://steamcommunity.com/profiles/${aSteamId(1)}/`,
      ].map((who) => succeed('--json', 'users', 'show', who)),
    );
    for (const stdout of shown) {
      expect(JSON.parse(stdout)).toMatchObject({ steamId64: aSteamId(1), isOwner: true, isBanned: false });
    }
    expect(await succeed('users', 'show', aSteamId(1))).toMatch(
      /^Name +Rzeźnik\nSteamID64 +\d{17}\nProfile +https:\S+\nFlags +owner, .*\n/,
    );
    expect(await succeed('users', 'list', 'RZEŹ')).toMatch(
      /^STEAMID64 +NAME +FLAGS +DISCORD +TOKENS +SINCE\n\d{17} +Rzeźnik +owner, .*\n$/,
    );
    expect(await succeed('users', 'list', 'nobody')).toBe('No users.\n');
    expect(await fail('users', 'show', 'https://steamcommunity.com/id/rzeznik')).toEqual([
      1,
      '',
      'https://steamcommunity.com/id/rzeznik can be looked up with STEAM_API_KEY alone: give the SteamID\n',
    ]);
    await succeed('users', 'set', ...id, '--discord-id', '', '--no-svip', '--no-owner', '--serviceplus');
    expect(await db.select().from(users)).toMatchObject([
      { discordId: null, hasSvip: false, isOwner: false, isServiceplus: true, discordUsername: 'rzeznik' },
    ]);
  });

  test('set and show refuse what is taken, unknown or no id, in one line', async () => {
    await succeed('users', 'set', '--steamid64', aSteamId(1), '--discord-id', '42');
    const set = (id: string) => fail('users', 'set', '--steamid64', aSteamId(2), '--discord-id', id);
    expect(
      await Promise.all([
        set('42'),
        set('x'),
        set('9223372036854775808'),
        fail('users', 'show', aSteamId(9)),
        fail('users', 'show', 'nobody'),
        fail('users', 'set', '--steamid64', '1'),
      ]),
    ).toEqual([
      [1, '', `The Discord account 42 is linked to ${aSteamId(1)}\n`],
      [1, '', expect.stringMatching(/^--discord-id "x" is not allowed.*\n$/)],
      [1, '', expect.stringMatching(/^--discord-id "9223372036854775808" is not allowed.*\n$/)],
      [1, '', `There is no user "${aSteamId(9)}"\n`],
      [1, '', '"nobody" is neither a SteamID nor a Discord id\n'],
      [1, '', expect.stringMatching(/^"1" is not a SteamID.*\n$/)],
    ]);
  });
});

describe('the embedded database', () => {
  test('is used without a service: what one call writes the next one reads', async () => {
    const env = { DATABASE_URL: '', DATA_DIR: join(folder.path, 'embedded') };
    const added = await cli(['servers', 'add', '--name', 'One', '--address', '127.0.0.1:27015'], env);
    expect([added.code, added.stderr]).toEqual([0, '']);
    expect(added.stdout).toStartWith('Added one (127.0.0.1:27015)\n');
    const [list, token] = await Promise.all([
      cli(['servers', 'list', '--json'], env),
      cli(['tokens', 'create', '--steamid64', aSteamId(1), '--name', 'x'], env),
    ]);
    expect(JSON.parse(list.stdout)).toMatchObject([{ slug: 'one' }]);
    expect([token.code, isApiToken(token.stdout.trimEnd())]).toEqual([0, true]);
  });

  test('stops with a command that is interrupted', async () => {
    const env = { DATA_DIR: join(folder.path, 'interrupted') };
    const file = join(folder.path, 'long.ndjson');
    const line = {
      penalty_type: 'ban',
      player_steamid: aSteamId(1),
      created: '2026-01-01T00:00:00Z',
      duration: 0,
    };
    const lines = Array.from({ length: 200_000 }, (_, id) => JSON.stringify({ ...line, source_id: `${id}` }));
    await Bun.write(file, lines.join('\n'));
    const program = startProgram('src/cli.ts', env, ['penalties', 'import', 'ndjson', file]);
    const pidFile = Bun.file(join(env.DATA_DIR, 'postgres/postmaster.pid'));
    await waitFor(async () => (await pidFile.text().catch(() => '')).includes('ready'));
    program.kill('SIGINT');
    expect([await program.exited, program.stdout()]).toEqual([130, '']);
    expect(await pidFile.exists()).toBe(false);
  });
});
