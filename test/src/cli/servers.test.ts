import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { auditLog } from '../../../src/db/schema/accounts.ts';
import { serverSnapshots, servers } from '../../../src/db/schema/servers.ts';
import { aServerState, insertServer, saveServerPoll } from '../../support/database/builders.ts';
import { anInfoPacket, aPlayersPacket, startRawServer } from '../../support/game-server/a2s.ts';
import { openCli } from '../../support/service/cli.ts';
import { startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const { database, db, cli, succeed, succeedWithJson, expectRefusals } = await openCli();
const ADDED = 'servers add --name One --address 203.0.113.7:27015';

test('servers add derives the slug from the name, tells names apart, and list shows the servers', async () => {
  expect(await succeed('servers list')).toBe(
    'No servers yet: bun run cli servers add --name NAME --address HOST:PORT\n',
  );
  const add = 'servers add --name "Zażółć #1" --address';
  const first = await succeed(`${add} play.example.org:27015 --mode Competitive --region EU`);
  const [row] = await db.select().from(servers);
  expect(first).toStartWith(
    'Added zazolc-1 (play.example.org:27015)\nwarning: play.example.org:27015 does not respond: ',
  );
  expect(row).toMatchObject({ slug: 'zazolc-1', mode: 'Competitive', region: 'EU' });
  const second = await succeed(`${add} [2001:db8::1]`);
  expect(second).toStartWith('Added zazolc-1-2 ([2001:db8::1]:27015)');
  expect(await succeedWithJson(`${add} 203.0.113.7:27015 --slug 1`)).toMatchObject({
    slug: '1',
    name: 'Zażółć #1',
    address: '203.0.113.7:27015',
    answers: false,
  });

  const listed = await succeedWithJson('servers list');
  expect(listed.map(({ slug }: { slug: string }) => slug)).toEqual(['zazolc-1', 'zazolc-1-2', '1']);
  const table = (await succeed('servers list')).trimEnd().split('\n');
  expect(table).toHaveLength(4);
  expect(table[0]).toMatch(/^SLUG +NAME +ADDRESS +PUBLIC ADDRESS +MODE +REGION +STATUS +PLAYERS +LAST SEEN$/);
  expect(table[1]).toMatch(
    /^zazolc-1 +Zażółć #1 +play\.example\.org:27015 +- +Competitive +EU +not polled yet +- +never$/,
  );
});

test('servers add refuses values that are taken or not allowed, in one line, and adds nothing', async () => {
  await succeed(`${ADDED} --slug one`);
  const add = (name: string, address: string) => `servers add --name "${name}" --address ${address}`;
  await expectRefusals({
    [add('Two', '203.0.113.7:27015')]: 'The address 203.0.113.7:27015 already belongs to one',
    [add('Two', '203.0.113.8 --slug one')]: 'The slug one is taken: choose another with --slug',
    [add('Two', '"a b"')]: /^address "a b" isn't valid: use HOST:PORT.*\n$/,
    [add('Two', '203.0.113.8:70000')]: /^address "203\.0\.113\.8:70000" isn't valid.*\n$/,
    [add('Two', '203.0.113.8 --slug "Not A Slug"')]: /^slug "Not A Slug" isn't valid.*\n$/,
    [add('  ', '203.0.113.8')]: /^name " {2}" isn't valid.*\n$/,
    [add('\u3164\u200b', '203.0.113.8')]:
      /^name "\u3164\u200b" isn't valid: .*at least one of them visible\n$/,
  });
  expect(await db.select().from(servers)).toHaveLength(1);
});

test('servers add with the address of a hidden server lists it, with the name, mode and region given', async () => {
  const address = '203.0.113.7:27015';
  const { id } = await insertServer(db, { slug: 'serwer-1', name: 'Serwer 1', address, isHidden: true });
  const added = await succeed(
    `servers add --name "Only Mirage" --address ${address} --mode Retake --region PL`,
  );
  expect(added).toStartWith('Added serwer-1 (203.0.113.7:27015)');
  const [server] = await db.select().from(servers).where(eq(servers.id, id));
  expect(server).toMatchObject({ name: 'Only Mirage', mode: 'Retake', region: 'PL', isHidden: false });
});

test('servers unhide lists one server or all hidden ones', async () => {
  for (const slug of ['a', 'b', 'c']) await insertServer(db, { slug, isHidden: true });
  expect(await succeed('servers unhide a')).toBe('a is listed\n');
  expect(await succeed('servers unhide --all')).toBe('b is listed\nc is listed\n');
  expect(await succeed('servers unhide --all')).toBe('No server is hidden\n');
  expect(await db.$count(servers, eq(servers.isHidden, true))).toBe(0);
});

test('servers add says what the server responded, or which port to open', async () => {
  const info = anInfoPacket({ map: 'de_mirage', players: 7, maxPlayers: 24 });
  const game = await startRawServer(({ isInfo }) => (isInfo ? [info] : [aPlayersPacket([])]));
  const added = await succeed(`servers add --name One --address ${game.address}`).finally(game.stop);
  expect(added).toMatch(/^Added one \(127\.0\.0\.1:\d+\)\nresponds: de_mirage 7\/24, \d+ ms\n$/);
  const elsewhere = game.address.replace('127.0.0.1', 'localhost');
  expect(await succeed(`servers add --name Two --address ${elsewhere}`)).toMatch(
    /\nwarning: \S+ does not respond: nothing listens on UDP port \d+: is the game server running\?\n$/,
  );
  const lost = await succeed('servers set two --address 203.0.113.9:27016');
  expect(lost).toMatch(/^Changed two\nwarning: \S+ does not respond: .*\n$/);
  const relay = await succeed('servers set two --address 169.254.3.7:27016');
  expect(relay).toContain('does not respond: it is an address of the Steam relay network');
});

test('servers set changes only the named columns, and the history stays', async () => {
  const server = await insertServer(db, { slug: 'one', address: '203.0.113.7:27015', mode: 'Casual' });
  const other = await insertServer(db);
  const polledAt = new Date('2026-11-21T12:00:00Z');
  await saveServerPoll(db, server.id, { state: undefined, polledAt });
  const changes = '--name " New name " --region PL --position 3';
  expect(await succeed(`servers set one ${changes}`)).toBe('Changed one\n');
  const [changed] = await db.select().from(servers).where(eq(servers.slug, 'one'));
  expect(changed).toEqual({ ...server, name: 'New name', region: 'PL', position: 3 });
  expect(await db.select().from(serverSnapshots)).toEqual([
    expect.objectContaining({ serverId: server.id, polledAt }),
  ]);
  await expectRefusals({
    [`servers set one --address ${other.address}`]: `The address ${other.address} already belongs to ${other.slug}`,
    'servers set one --address "no where"': /address "no where" isn't valid/,
    'servers set one --name " "': /name " " isn't valid/,
    'servers set nothing --name x': 'There is no server "nothing"',
    'servers set one --position -1': '--position "-1" isn\'t valid: use a number from 0 to 9999',
  });
  expect((await cli('servers set one')).code).toBe(2);
  const entries = await db.select().from(auditLog).where(eq(auditLog.action, 'server.changed'));
  expect(entries).toMatchObject([
    { subject: 'one', details: { name: 'New name', region: 'PL', position: 3 } },
  ]);
});

test('servers list shows --public-address beside the address that is polled, and `none` removes it', async () => {
  await succeed('servers add --name One --address 10.0.0.7 --public-address play.example.org');
  const listed = async () => (await succeed('servers list')).split('\n')[1];
  expect(await listed()).toMatch(/ 10\.0\.0\.7:27015 +play\.example\.org:27015 /);
  expect(await succeed('servers set one --public-address 203.0.113.7:27016')).toBe('Changed one\n');
  expect(await listed()).toContain(' 203.0.113.7:27016 ');
  await succeed('servers set one --public-address none');
  expect(await db.select().from(servers)).toMatchObject([{ publicAddress: null }]);
});

test('servers set and add refuse an address that another server has, polled or public, in any letter case', async () => {
  const one = { slug: 'one', address: 'Play.example.org:27015', publicAddress: 'cs.example.org:27015' };
  await insertServer(db, one);
  await insertServer(db, { slug: 'two', address: '10.0.0.8:27015' });
  for (const address of [one.address, one.publicAddress, 'play.example.org:27015', 'CS.Example.Org:27015']) {
    const taken = `The address ${address} already belongs to one`;
    await expectRefusals({
      [`servers set two --address ${address}`]: taken,
      [`servers set two --public-address ${address}`]: taken,
      [`servers add --name Three --address ${address}`]: taken,
      [`servers add --name Three --address 10.0.0.9 --public-address ${address}`]: taken,
    });
  }
  await expectRefusals({
    'servers set two --public-address "a b"': /address "a b" isn't valid/,
    'servers set two --public-address ""': /address "" isn't valid/,
    'servers set two --address ""': /address "" isn't valid/,
  });
  // Both addresses of one server may be the same.
  await succeed(`servers set one --public-address ${one.address}`);
});

test('servers list tells status, players and when each was last seen', async () => {
  const seenAt = new Date('2026-11-21T12:34:56Z');
  const state = aServerState({ map: 'de_nuke', playersCount: 3 });
  const online = await insertServer(db, { slug: 'a', name: 'A', address: 'a.example:1' });
  await saveServerPoll(db, online.id, { state, polledAt: seenAt });
  await insertServer(db, { slug: 'b', name: 'B', address: 'b.example:1', isHidden: true });
  const lines = (await succeed('servers list')).split('\n');
  expect(lines[1]).toMatch(/ online +3\/10 +2026-11-21 12:34 UTC$/);
  expect(lines[2]).toMatch(/ hidden +- +never$/);
});

test('servers hide, unhide and remove work by slug, and a running service follows', async () => {
  const service = await startTestService({ databaseUrl: database.url });
  await succeed(ADDED);
  const isListed = async () => (await service.ask('/api/v1/servers/one')).status === 200;
  await waitFor(isListed);
  expect(await succeed('servers hide one')).toBe('one is hidden\n');
  await waitFor(async () => !(await isListed()));
  expect(await succeed('servers unhide one --json')).toBe(
    `${JSON.stringify({ slug: 'one', isHidden: false }, null, 2)}\n`,
  );
  await waitFor(isListed);
  // `show` displays elsewhere: it must not publish a hidden server.
  const shown = { code: 2, stdout: '', stderr: expect.stringContaining("command 'show'") };
  expect(await cli('servers show one')).toEqual(shown);
  const unconfirmed = "Without a terminal this can't be confirmed: use --yes";
  await expectRefusals({ 'servers remove one': unconfirmed });
  expect(await succeed('servers remove one --yes')).toBe('Removed one\n');
  await waitFor(async () => !(await isListed()));
  const absent = 'There is no server "one"';
  await expectRefusals({ 'servers remove one': absent, 'servers hide one': absent });
});
