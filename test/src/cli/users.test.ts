import { describe, expect, test } from 'bun:test';
import { userFlags, users } from '../../../src/db/schema/accounts.ts';
import { aSteamId, insertPenalties } from '../../support/database/builders.ts';
import { openCli } from '../../support/service/cli.ts';

const { db, cli, succeed, fail } = await openCli();

describe('users', () => {
  test('set creates a user and changes only the named flags; show finds them by every id', async () => {
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
        'U:1:39734273',
        '39734273',
        '<@1152921504606846977>',
        '@RZEZNIK',
        'rzeź',
      ].map((who) => succeed('--json', 'users', 'show', who)),
    );
    for (const stdout of shown) {
      expect(JSON.parse(stdout)).toMatchObject({ steamId64: aSteamId(1), isOwner: true, isBanned: false });
    }
    expect(await succeed('users', 'show', aSteamId(1))).toMatch(
      /^Name +Rzeźnik\nSteamID64 +\d{17}\nProfile +https:\S+\nFlags +owner, .*\n/,
    );
    expect(await succeed('users', 'list', 'RZEŹ')).toMatch(
      /^STEAMID64 +NAME +FLAGS +DISCORD +TOKENS +SINCE +LAST SIGN-IN\n\d{17} +Rzeźnik +owner, svip +rzeznik +0 +\d{4}-\d\d-\d\d +never\n$/,
    );
    expect(await succeed('users', 'list', 'nobody')).toBe('No users.\n');
    expect(await fail('users', 'show', 'https://steamcommunity.com/id/rzeznik')).toEqual([
      1,
      '',
      'The custom profile address "rzeznik" needs STEAM_API_KEY: use the SteamID\n',
    ]);
    await succeed('users', 'set', ...id, '--discord-id', '', '--no-svip', '--no-owner', '--serviceplus');
    expect(await db.select().from(users)).toMatchObject([
      { discordId: null, hasSvip: false, isOwner: false, isServiceplus: true, discordUsername: 'rzeznik' },
    ]);
  });

  test('show and penalties list name the players that a name may mean; block and erase take no name', async () => {
    await insertPenalties(db, [
      { playerSteamId: aSteamId(21), playerName: 'Nowak A' },
      { playerSteamId: aSteamId(22), playerName: 'Nowak\u001b[2J' },
    ]);
    for (const command of [
      ['users', 'show'],
      ['penalties', 'list', '--player'],
    ]) {
      const { code, stderr } = await cli([...command, 'nowak']);
      expect([code, stderr.split('\n').toSorted()]).toEqual([
        1,
        [
          '',
          `${aSteamId(21)} Nowak A`,
          String.raw`${aSteamId(22)} Nowak\u001b[2J`,
          'Several players match "nowak": use a SteamID',
        ],
      ]);
      expect(await succeed(...command, 'nowak a')).toContain(aSteamId(21));
    }
    for (const command of [['block'], ['unblock'], ['erase', '--yes'], ['export']]) {
      for (const who of ['39734273', '@rzeznik', 'Rzeźnik']) {
        expect(await fail('users', ...command, who)).toEqual([
          1,
          '',
          `${JSON.stringify(who)} is neither a SteamID nor a Discord id\n`,
        ]);
      }
    }
  });

  test('what a terminal would interpret is escaped in names, and JSON keeps its meaning', async () => {
    const nickname = 'Eve\u001b[2J\u009b1A\n\u202eoperator';
    await db.insert(users).values({ steamId64: aSteamId(7), nickname });
    const shown = String.raw`Eve\u001b[2J\u009b1A\n\u202eoperator`;
    expect(await succeed('users', 'list', aSteamId(7))).toContain(`  ${shown}  `);
    expect(await succeed('users', 'show', aSteamId(7))).toContain(`Name          ${shown}\n`);
    const json = await succeed('users', 'show', '--json', aSteamId(7));
    expect(JSON.parse(json)).toMatchObject({ nickname });
    expect(json).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
  });

  test('show falls back to the record of a player without an account', async () => {
    await insertPenalties(db, [
      { playerSteamId: aSteamId(5), playerName: 'Guest', reason: 'Wallhack' },
      { playerSteamId: aSteamId(5), playerName: 'Guest', type: 'gag' },
    ]);
    const lines = (await succeed('users', 'show', aSteamId(5))).split('\n');
    expect(lines.slice(0, 5)).toEqual([
      'Name          Guest',
      `SteamID64     ${aSteamId(5)}`,
      `Profile       https://steamcommunity.com/profiles/${aSteamId(5)}`,
      'Last sign-in  never: no account',
      'Penalties     2',
    ]);
    expect(lines[6]).toStartWith('ID');
    expect(lines.slice(7)).toHaveLength(3);
    const endsAt = new Date('2030-01-02T03:04:05Z');
    await db.insert(userFlags).values([
      { steamId64: aSteamId(5), flag: 'has_svip', source: 'vipcore', endsAt },
      { steamId64: aSteamId(16), flag: 'is_admin', source: 'simpleadmin' },
    ]);
    const { steamId64, flags, total, rows } = JSON.parse(
      await succeed('--json', 'users', 'show', aSteamId(5)),
    );
    expect([steamId64, total, rows.length]).toEqual([aSteamId(5), 2, 2]);
    expect(flags).toEqual([{ flag: 'has_svip', source: 'vipcore', endsAt: endsAt.toISOString() }]);
    expect((await succeed('users', 'show', aSteamId(5))).split('\n')[4]).toBe(
      'Flags then    svip: vipcore, until 2030-01-02 03:04 UTC',
    );
    // Without penalties too.
    expect((await succeed('users', 'show', aSteamId(16))).trimEnd().split('\n').slice(3)).toEqual([
      'Last sign-in  never: no account',
      'Flags then    admin: simpleadmin',
      'Penalties     0',
    ]);
  });

  test('show says since when and why a user is blocked', async () => {
    const blockedLine = async () => /^Blocked .*$/m.exec(await succeed('users', 'show', aSteamId(3)))?.[0];
    await succeed('users', 'set', '--steamid64', aSteamId(3));
    expect(await blockedLine()).toBe('Blocked       no');
    await succeed('users', 'block', aSteamId(3), '--reason', 'shared their account');
    expect(await blockedLine()).toMatch(/^Blocked {7}since 2\d{3}-\S+.*: shared their account$/);
    await succeed('users', 'block', aSteamId(3));
    expect(await blockedLine()).not.toContain(': ');
  });

  test('set clears the part of a flag that is set by hand, and names the sources that remain; show names all', async () => {
    const set = ['users', 'set', '--steamid64', aSteamId(9)];
    await succeed(...set, '--admin', '--moderator', '--svip');
    const endsAt = new Date('2030-01-02T03:04:05Z');
    await db.insert(userFlags).values([
      { steamId64: aSteamId(9), flag: 'is_admin', source: 'configuration' },
      { steamId64: aSteamId(9), flag: 'has_svip', source: 'vipcore', endsAt },
    ]);
    const given = ['admin: OWNER_STEAMIDS', 'svip: vipcore, until 2030-01-02 03:04 UTC'];
    const shown = (await succeed('users', 'show', aSteamId(9))).split('\n').map((line) => line.trim());
    expect(shown).toContain('Flags         admin, moderator, svip');
    for (const line of [...given, 'admin: by hand', 'moderator: by hand', 'svip: by hand'])
      expect(shown).toContain(line);
    const { code, stderr } = await cli([...set, '--no-admin', '--no-svip', '--no-moderator']);
    expect([code, stderr]).toEqual([
      1,
      `They keep what other sources give: ${given.toReversed().join('; ')}\n`,
    ]);
    expect(JSON.parse(await succeed('--json', 'users', 'show', aSteamId(9)))).toMatchObject({
      isAdmin: true,
      isModerator: false,
      flags: [
        { flag: 'has_svip', source: 'vipcore', endsAt: endsAt.toISOString() },
        { flag: 'is_admin', source: 'configuration', endsAt: null },
      ],
    });
    expect((await cli([...set, '--no-moderator'])).code).toBe(0);
  });

  test('set describes every option in its help', async () => {
    const help = await succeed('users', 'set', '--help');
    const options = help
      .slice(help.indexOf('Options:'))
      .split(/\n {2}(?=-)/)
      .slice(1);
    expect(options.length).toBeGreaterThan(14);
    for (const option of options) expect(option).toMatch(/^(-h, )?--[a-z0-9-]+( <[a-z]+>)? {2,}\w/);
    expect(help).toMatch(
      /--svip +give them SVIP\n +--no-svip +take SVIP away from them, if it was given by hand\n/,
    );
  });

  test('set and show refuse an id that is taken, unknown or invalid, in one line', async () => {
    await succeed('users', 'set', '--steamid64', aSteamId(1), '--discord-id', '42');
    const set = (id: string) => fail('users', 'set', '--steamid64', aSteamId(2), '--discord-id', id);
    expect(
      await Promise.all([
        set('42'),
        set('x'),
        set('9223372036854775808'),
        fail('users', 'set', '--steamid64', aSteamId(2), '--nickname', 'x'.repeat(129)),
        fail('users', 'show', aSteamId(404)),
        fail('users', 'show', '1'),
        fail('users', 'show', 'nobody'),
        fail('users', 'set', '--steamid64', '1'),
      ]),
    ).toEqual([
      [1, '', `The Discord account 42 is linked to ${aSteamId(1)}\n`],
      [1, '', expect.stringMatching(/^--discord-id "x" isn't valid.*\n$/)],
      [1, '', expect.stringMatching(/^--discord-id "9223372036854775808" isn't valid.*\n$/)],
      [1, '', '--nickname has 129 characters: use at most 128\n'],
      [1, '', `There is no user with the SteamID ${aSteamId(404)}\n`],
      [1, '', expect.stringMatching(/^Nobody here is known as "1": use a SteamID, .*\n$/)],
      [1, '', expect.stringMatching(/^Nobody here is known as "nobody": .*\n$/)],
      [1, '', expect.stringMatching(/^"1" is not a SteamID.*\n$/)],
    ]);
  });
});
