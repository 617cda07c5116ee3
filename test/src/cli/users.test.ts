import { expect, test } from 'bun:test';
import { userFlags, users } from '../../../src/db/schema/accounts.ts';
import { aSteamId, insertPenalties } from '../../support/database/builders.ts';
import { openCli } from '../../support/service/cli.ts';

const { db, cli, succeed, succeedWithJson, expectRefusals } = await openCli();
const [PLAYER, OTHER] = [aSteamId(1), aSteamId(2)];

test('users set creates a user and changes only the named flags; show finds them by every id', async () => {
  const set = `users set --steamid64 ${PLAYER}`;
  const discord = '--discord-id 1152921504606846977 --discord-username rzeznik --discord-avatar abc';
  const saved = await succeed(`${set} --nickname Rzeźnik ${discord} --admin --svip`);
  expect(saved).toBe(`Saved ${PLAYER} (Rzeźnik)\n`);
  expect(await succeedWithJson(`${set} --no-admin --owner`)).toMatchObject({
    nickname: 'Rzeźnik',
    discordId: '1152921504606846977',
    isAdmin: false,
    isOwner: true,
    hasSvip: true,
    isServiceplus: false,
  });
  const shown = await Promise.all(
    [
      PLAYER,
      'STEAM_0:1:19867136',
      '[U:1:39734273]',
      '1152921504606846977',
      `https://steamcommunity.com/profiles/${PLAYER}/`,
      'U:1:39734273',
      '39734273',
      '<@1152921504606846977>',
      '@RZEZNIK',
      'rzeź',
    ].map((who) => succeedWithJson(`users show ${who}`)),
  );
  for (const user of shown) expect(user).toMatchObject({ steamId64: PLAYER, isOwner: true, isBanned: false });
  expect(await succeed(`users show ${PLAYER}`)).toMatch(
    /^Name +Rzeźnik\nSteamID64 +\d{17}\nProfile +https:\S+\nFlags +owner, .*\n/,
  );
  expect(await succeed('users list RZEŹ')).toMatch(
    /^STEAMID64 +NAME +FLAGS +DISCORD +TOKENS +SINCE +LAST SIGN-IN\n\d{17} +Rzeźnik +owner, svip +rzeznik +0 +\d{4}-\d\d-\d\d +never\n$/,
  );
  expect(await succeed('users list nobody')).toBe('No users.\n');
  await expectRefusals({
    'users show https://steamcommunity.com/id/rzeznik':
      'The custom profile address "rzeznik" needs STEAM_API_KEY: use the SteamID',
  });
  await succeed(`${set} --discord-id "" --no-svip --no-owner --serviceplus`);
  expect(await db.select().from(users)).toMatchObject([
    { discordId: null, hasSvip: false, isOwner: false, isServiceplus: true, discordUsername: 'rzeznik' },
  ]);
});

test('users show and penalties list name the players that a name may mean; block and erase take no name', async () => {
  await insertPenalties(db, [
    { playerSteamId: aSteamId(21), playerName: 'Nowak A' },
    { playerSteamId: aSteamId(22), playerName: 'Nowak\u001b[2J' },
  ]);
  for (const command of ['users show', 'penalties list --player']) {
    const { code, stderr } = await cli(`${command} nowak`);
    expect([code, stderr.split('\n').toSorted()]).toEqual([
      1,
      [
        '',
        `${aSteamId(21)} Nowak A`,
        String.raw`${aSteamId(22)} Nowak\u001b[2J`,
        'Several players match "nowak": use a SteamID',
      ],
    ]);
    expect(await succeed(`${command} "nowak a"`)).toContain(aSteamId(21));
  }
  for (const who of ['39734273', '@rzeznik', 'Rzeźnik']) {
    const reason = `${JSON.stringify(who)} is neither a SteamID nor a Discord id`;
    await expectRefusals({
      [`users block ${who}`]: reason,
      [`users unblock ${who}`]: reason,
      [`users erase --yes ${who}`]: reason,
      [`users export ${who}`]: reason,
    });
  }
});

test('what a terminal would interpret is escaped in names, and JSON keeps its meaning', async () => {
  const nickname = 'Eve\u001b[2J\u009b1A\n\u202eoperator';
  await db.insert(users).values({ steamId64: PLAYER, nickname });
  const shown = String.raw`Eve\u001b[2J\u009b1A\n\u202eoperator`;
  expect(await succeed(`users list ${PLAYER}`)).toContain(`  ${shown}  `);
  expect(await succeed(`users show ${PLAYER}`)).toContain(`Name          ${shown}\n`);
  const json = await succeed(`users show --json ${PLAYER}`);
  expect(JSON.parse(json)).toMatchObject({ nickname });
  expect(json).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
});

test('users show falls back to the record of a player without an account', async () => {
  await insertPenalties(db, [
    { playerSteamId: PLAYER, playerName: 'Guest', reason: 'Wallhack' },
    { playerSteamId: PLAYER, playerName: 'Guest', type: 'gag' },
  ]);
  const lines = (await succeed(`users show ${PLAYER}`)).split('\n');
  expect(lines.slice(0, 5)).toEqual([
    'Name          Guest',
    `SteamID64     ${PLAYER}`,
    `Profile       https://steamcommunity.com/profiles/${PLAYER}`,
    'Last sign-in  never: no account',
    'Penalties     2',
  ]);
  expect(lines[6]).toStartWith('ID');
  expect(lines.slice(7)).toHaveLength(3);
  const endsAt = new Date('2030-01-02T03:04:05Z');
  await db.insert(userFlags).values([
    { steamId64: PLAYER, flag: 'has_svip', source: 'vipcore', endsAt },
    { steamId64: OTHER, flag: 'is_admin', source: 'simpleadmin' },
  ]);
  const { steamId64, flags, total, rows } = await succeedWithJson(`users show ${PLAYER}`);
  expect([steamId64, total, rows.length]).toEqual([PLAYER, 2, 2]);
  expect(flags).toEqual([{ flag: 'has_svip', source: 'vipcore', endsAt: endsAt.toISOString() }]);
  expect((await succeed(`users show ${PLAYER}`)).split('\n')[4]).toBe(
    'Flags then    svip: vipcore, until 2030-01-02 03:04 UTC',
  );
  // Without penalties too.
  expect((await succeed(`users show ${OTHER}`)).trimEnd().split('\n').slice(3)).toEqual([
    'Last sign-in  never: no account',
    'Flags then    admin: simpleadmin',
    'Penalties     0',
  ]);
});

test('users show says since when and why a user is blocked', async () => {
  const blockedLine = async () => /^Blocked .*$/m.exec(await succeed(`users show ${PLAYER}`))?.[0];
  await succeed(`users set --steamid64 ${PLAYER}`);
  expect(await blockedLine()).toBe('Blocked       no');
  await succeed(`users block ${PLAYER} --reason "shared their account"`);
  expect(await blockedLine()).toMatch(/^Blocked {7}since 2\d{3}-\S+.*: shared their account$/);
  await succeed(`users block ${PLAYER}`);
  expect(await blockedLine()).not.toContain(': ');
});

test('users set clears the part of a flag that is set by hand, and names the sources that remain; show names all', async () => {
  const set = `users set --steamid64 ${PLAYER}`;
  await succeed(`${set} --admin --moderator --svip`);
  const endsAt = new Date('2030-01-02T03:04:05Z');
  await db.insert(userFlags).values([
    { steamId64: PLAYER, flag: 'is_admin', source: 'configuration' },
    { steamId64: PLAYER, flag: 'has_svip', source: 'vipcore', endsAt },
  ]);
  const given = ['admin: OWNER_STEAMIDS', 'svip: vipcore, until 2030-01-02 03:04 UTC'];
  const shown = (await succeed(`users show ${PLAYER}`)).split('\n').map((line) => line.trim());
  const byHand = ['admin: by hand', 'moderator: by hand', 'svip: by hand'];
  for (const line of ['Flags         admin, moderator, svip', ...given, ...byHand])
    expect(shown).toContain(line);
  const { code, stderr } = await cli(`${set} --no-admin --no-svip --no-moderator`);
  const kept = given.toReversed().join('; ');
  expect([code, stderr]).toEqual([1, `They keep what other sources give: ${kept}\n`]);
  expect(await succeedWithJson(`users show ${PLAYER}`)).toMatchObject({
    isAdmin: true,
    isModerator: false,
    flags: [
      { flag: 'has_svip', source: 'vipcore', endsAt: endsAt.toISOString() },
      { flag: 'is_admin', source: 'configuration', endsAt: null },
    ],
  });
  expect((await cli(`${set} --no-moderator`)).code).toBe(0);
});

test('users set describes every option in its help', async () => {
  const help = await succeed('users set --help');
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

test('users set and show refuse an id that is taken, unknown or invalid, in one line', async () => {
  await succeed(`users set --steamid64 ${PLAYER} --discord-id 42`);
  const set = `users set --steamid64 ${OTHER}`;
  await expectRefusals({
    [`${set} --discord-id 42`]: `The Discord account 42 is linked to ${PLAYER}`,
    [`${set} --discord-id x`]: /^--discord-id "x" isn't valid.*\n$/,
    [`${set} --discord-id 9223372036854775808`]: /^--discord-id "9223372036854775808" isn't valid.*\n$/,
    [`${set} --nickname ${'x'.repeat(129)}`]: '--nickname has 129 characters: use at most 128',
    [`users show ${OTHER}`]: `There is no user with the SteamID ${OTHER}`,
    'users show 1': /^Nobody here is known as "1": use a SteamID, .*\n$/,
    'users show nobody': /^Nobody here is known as "nobody": .*\n$/,
    'users set --steamid64 1': /^"1" is not a SteamID.*\n$/,
  });
});
