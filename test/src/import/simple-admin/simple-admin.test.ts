import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { servers } from '../../../../src/db/schema/servers.ts';
import { Unavailable } from '../../../../src/domain/errors.ts';
import type { ImportSummary } from '../../../../src/import/import-report.ts';
import { tallyDifferences } from '../../../support/database/tallies.ts';
import { importSimpleAdmin } from '../../../support/import/importers.ts';
import { openImports, storedPenalty } from '../../../support/import/penalty-rows.ts';
import { ADMIN, aRow, simpleAdminSqliteSchema } from '../../../support/import/simple-admin-schema.ts';
import { BASIA, insertInto, type SourceRow, SYSTEMS } from '../../../support/import/systems.ts';

const { db, connection, deps, createFile, stored, importTwice } = await openImports();
const { addAdmin, schema } = SYSTEMS['CS2-SimpleAdmin'];
const createSource = (...statements: string[]) => createFile(schema, ...statements);

const ZERO = '0000-00-00 00:00:00';
const PASSED = { created: '2026-11-20 11:30:00', ends: '2026-11-20 12:30:00' };
const PERMANENT = { status: 'ACTIVE', durationMinutes: 0, endsAt: null };
const WITHOUT_END = 'it has a duration but no end: computed as its creation plus its duration';

/** Values of a row, what is stored of it, and what it is warned about. */
const KEPT: [SourceRow, object, ...string[]][] = [
  [{ player_steamid: '0' }, { playerSteamId: '0' }],
  [{ player_steamid: '' }, { playerSteamId: '0' }],
  [{ player_steamid: null }, { playerSteamId: '0' }],
  [{ player_steamid: 'STEAM_1:1:19867136' }, { playerSteamId: '76561198000000001' }],
  [{ player_steamid: 'STEAM_0:1:19867136' }, { playerSteamId: '76561198000000001' }],
  [{ player_steamid: '[U:1:39734273]' }, { playerSteamId: '76561198000000001' }],
  [{ player_steamid: '0x1100001025E4C01' }, { playerSteamId: '76561198000000001' }],
  [{ player_steamid: 'steam:1100001025e4c01' }, { playerSteamId: '76561198000000001' }],
  [{ admin_steamid: 'Console' }, { adminSteamId: '0' }],
  [{ admin_steamid: '0' }, { adminSteamId: '0' }],
  [{ admin_steamid: '' }, { adminSteamId: '0' }],
  [{ admin_steamid: 'Konsola' }, { adminSteamId: '0' }],
  [{ admin_steamid: 'BOT' }, { adminSteamId: '0' }],
  [{ duration: 0, ends: '2026-11-21 11:30:00' }, PERMANENT],
  [{ duration: 0, ends: null }, PERMANENT],
  [{ duration: 0, ends: '2019-01-01 00:00:00' }, PERMANENT],
  [{ duration: 0, ends: ZERO }, PERMANENT],
  [{ duration: 0, ends: 'junk' }, PERMANENT],
  [PASSED, { status: 'EXPIRED' }],
  [{ ...PASSED, status: 'UNBANNED' }, { status: 'UNBANNED' }],
  [{ ...PASSED, status: '' }, { status: 'EXPIRED' }, 'its status is empty: treated as active until its end'],
  [{ status: '' }, { status: 'ACTIVE' }, 'its status is empty: treated as active until its end'],
  [{ ends: ZERO }, { endsAt: new Date('2026-11-21T12:30:00Z') }, WITHOUT_END],
  [
    { created: ZERO },
    { createdAt: new Date('2026-11-21T11:30:00Z') },
    'it has no date of creation: computed as its end minus its duration',
  ],
  [{ duration: 2_147_483_647, ends: null }, { endsAt: new Date('6109-12-14T13:37:00Z') }, WITHOUT_END],
  [
    { created: '2045-01-01 00:00:00', ends: '2045-01-01 01:00:00' },
    { createdAt: new Date('2045-01-01T00:00:00Z') },
  ],
  [
    { ends: '2026-11-21 14:30:00' },
    { endsAt: new Date('2026-11-21T14:30:00Z') },
    'its end is 2 h off its creation plus its duration: they were written by two clocks',
  ],
];

const SET_ASIDE: [SourceRow, string][] = [
  ...['BOT', 'STEAM_ID_PENDING', '0xdeadbeef', '7.6561198e+16', '-1', '99999999999999999999'].map(
    (id): [SourceRow, string] => [{ player_steamid: id }, `the player's SteamID "${id}" is not a SteamID`],
  ),
  [{ duration: -5 }, 'the duration -5 is negative'],
  [{ duration: 2_147_483_648 }, 'the duration 2147483648 is too long'],
  [{ duration: 'soon' }, 'the duration "soon" is not a whole number of minutes'],
  [{ created: ZERO, ends: ZERO }, 'it has no date of creation'],
  [{ created: '2026-02-31 10:00:00' }, '"2026-02-31 10:00:00" is not a date'],
  [{ created: '2026-11-21 11:99:00' }, '"2026-11-21 11:99:00" is not a date'],
  [{ ends: '2026-11-21 12:30:61' }, '"2026-11-21 12:30:61" is not a date'],
  [{ status: 'WHATEVER' }, 'the status "WHATEVER" is not known'],
];

const ROWS = [...KEPT, ...SET_ASIDE].map(([values]) => values);
const idOf = (values: SourceRow) => String(ROWS.indexOf(values) + 1);

/** Every kind of row that occurs in the wild; MariaDB cannot hold the odd dates and types that SQLite can. */
describe('a row of CS2-SimpleAdmin', () => {
  let summary: ImportSummary;
  let penalties: Awaited<ReturnType<typeof stored>>;
  beforeAll(async () => {
    const url = createSource(insertInto('sa_bans', ...ROWS.map(aRow)));
    summary = await importSimpleAdmin(deps, { url });
    penalties = await stored();
  });

  test.each(KEPT)('keeps a row with %j as %j', (...[values, expected, ...reasons]) => {
    const id = idOf(values);
    expect(penalties.find(({ sourceId }) => sourceId === id)).toMatchObject(expected);
    const warnings = reasons.map((reason) => ({ table: 'sa_bans', id, reason }));
    expect(summary.warnedRows.filter((row) => row.id === id)).toEqual(warnings);
  });

  test.each(SET_ASIDE)('sets a row with %j aside: %s', (values, reason) => {
    const id = idOf(values);
    expect(penalties.find(({ sourceId }) => sourceId === id)).toBeUndefined();
    const report = { table: 'sa_bans', id, reason };
    expect(summary.rowsSetAside.filter((row) => row.id === id)).toEqual([report]);
  });

  test('the summary counts every row', () => {
    const [added, setAside] = [KEPT.length, SET_ASIDE.length];
    expect(summary).toMatchObject({ read: added + setAside, added, setAside });
  });
});

test('an admin without a name keeps the SteamID', async () => {
  const { admin_name: _, ...row } = aRow();
  const url = createSource('alter table sa_bans drop column admin_name', insertInto('sa_bans', row));
  await importSimpleAdmin(deps, { url });
  expect(await stored()).toMatchObject([{ adminName: '', adminSteamId: ADMIN }]);
});

test('names and reasons of every kind stay as they are; NUL bytes go', async () => {
  const names = [
    '😀'.repeat(128),
    '\u202eevil\u202c',
    'zero\u200bwidth',
    '<img src=x onerror=alert(1)>',
    '**bold** @everyone [x](http://x)',
    `nul${String.fromCharCode(0)}byte`,
    'quo\'te"s \\ back\\slash {braces} tab\tnewline\nNULL',
    'ą'.repeat(128),
  ];
  const url = createSource();
  const file = new Database(url.replace('sqlite:', ''));
  const insertion = file.query(`insert into sa_bans (player_name, admin_name, reason, admin_steamid, duration)
    values (?1, ?1, ?1, '0', 0)`);
  for (const name of names) insertion.run(name);
  file.close();
  const summary = await importTwice(() => importSimpleAdmin(deps, { url }));
  expect(summary).toMatchObject({ added: names.length, setAside: 0 });
  const kept = names.map((name) => name.replaceAll(String.fromCharCode(0), ''));
  expect((await stored()).map((row) => [row.playerName, row.reason])).toEqual(
    kept.map((name) => [name, name]),
  );
});

test.each([5, 11, 15] as const)(
  'reads a file stuck at migration %d, in UTC, with every digit of the ids',
  async (migration) => {
    const url = createFile(
      simpleAdminSqliteSchema({ migration }),
      "insert into sa_unbans (ban_id, admin_id, reason, date) values (2, 0, 'Mistake', '2026-11-21 11:50:00')",
      insertInto('sa_bans', aRow({ player_steamid: '76561198000000003' })),
      insertInto('sa_bans', aRow({ status: 'UNBANNED', unban_id: 1 })),
      insertInto('sa_mutes', aRow({ type: 'SILENCE' })),
      migration >= 11 ? insertInto('sa_warns', aRow()) : '',
    );
    const rows = migration >= 11 ? 4 : 3;
    const summary = await importTwice(() => importSimpleAdmin(deps, { url, timezone: 'Europe/Warsaw' }));
    expect(summary).toMatchObject({ read: rows, added: rows });
    expect((await stored()).slice(0, 2)).toEqual([
      expect.objectContaining({
        playerSteamId: '76561198000000003',
        createdAt: new Date('2026-11-21T11:30:00Z'),
      }),
      expect.objectContaining({
        status: 'UNBANNED',
        liftedAt: new Date('2026-11-21T11:50:00Z'),
        liftedByName: 'Console',
        liftReason: 'Mistake',
      }),
    ]);
  },
);

test('the newest record of a lift counts, whichever of the two rows names the other', async () => {
  const lift = (id: number, column: 'ban_id' | 'mute_id', of: number) => ({
    id,
    [column]: of,
    admin_id: BASIA.id,
    reason: `Lift ${id}`,
    date: '2026-11-21 11:50:00',
  });
  const liftsOfBans = [
    [1, 2],
    [2, 1],
    [3, 2],
    [4, 9],
    [5, 4],
  ].map(([id = 0, ban = 0]) => lift(id, 'ban_id', ban));
  // The panel css-bans sets the end to the time of the lift, and leaves the id of an earlier one.
  const lifted = aRow({ status: 'UNBANNED', ends: '2026-11-21 11:30:00' });
  const url = createSource(
    addAdmin(BASIA),
    insertInto('sa_unbans', ...liftsOfBans),
    insertInto('sa_unmutes', lift(6, 'mute_id', 1), lift(7, 'mute_id', 2)),
    insertInto(
      'sa_bans',
      { ...lifted, unban_id: null },
      { ...lifted, unban_id: 1 },
      { ...lifted, unban_id: 4 },
      aRow({ unban_id: 5 }),
    ),
    insertInto('sa_mutes', aRow({ status: 'UNMUTED' }), aRow({ status: '' })),
  );
  const { warnedRows } = await importSimpleAdmin(deps, { url });
  expect((await stored()).map((row) => [row.status, row.liftedByName, row.liftReason])).toEqual([
    ['UNBANNED', 'Basia', 'Lift 2'],
    ['UNBANNED', 'Basia', 'Lift 3'],
    ['UNBANNED', 'Basia', 'Lift 4'],
    ['ACTIVE', null, null],
    ['UNBANNED', 'Basia', 'Lift 6'],
    ['UNBANNED', 'Basia', 'Lift 7'],
  ]);
  expect(warnedRows).toEqual([
    { table: 'sa_mutes', id: '2', reason: 'its status is empty: treated as lifted' },
  ]);
});

test('the same player with several active rows of one second keeps them all', async () => {
  const url = createSource(insertInto('sa_bans', aRow(), aRow(), aRow()));
  expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: 3 });
  expect(await tallyDifferences(connection)).toEqual([]);
});

test('a mute that counts minutes online ends by the clock, unless asked otherwise', async () => {
  const mutes = [10, 60, null].map((passed) => aRow({ ...PASSED, type: 'MUTE', passed }));
  const url = createSource(insertInto('sa_mutes', ...mutes));
  await importSimpleAdmin(deps, { url });
  expect((await stored()).map((row) => row.status)).toEqual(['EXPIRED', 'EXPIRED', 'EXPIRED']);
  await importSimpleAdmin(deps, { url, trustsOnlineTime: true });
  expect((await stored()).map((row) => [row.status, row.endsAt === null])).toEqual([
    ['ACTIVE', true],
    ['EXPIRED', true],
    ['EXPIRED', false],
  ]);
});

test('a server whose name nobody can see is called by its address', async () => {
  const url = createSource(
    insertInto('sa_servers', { hostname: '\u3164\u200b', address: '203.0.113.9:27015' }),
    insertInto('sa_bans', aRow({ server_id: 1 })),
  );
  expect(await importSimpleAdmin(deps, { url })).toMatchObject({ serversAdded: ['203.0.113.9:27015'] });
  const { serverId } = (await storedPenalty(db, 'sa_bans', 1)) ?? {};
  const [made] = await db
    .select()
    .from(servers)
    .where(eq(servers.id, serverId ?? 0));
  expect(made).toMatchObject({ name: '203.0.113.9:27015', slug: '203-0-113-9-27015', isHidden: true });
});

test('a file that is not there is refused, and is not made', async () => {
  const path = join(tmpdir(), `absent-${Bun.randomUUIDv7()}.sqlite`);
  await expect(importSimpleAdmin(deps, { url: `sqlite:${path}` })).rejects.toThrow(Unavailable);
  expect(await Bun.file(path).exists()).toBe(false);
});
