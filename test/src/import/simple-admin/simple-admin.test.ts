import { Database as SqliteDatabase } from 'bun:sqlite';
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { serverAliases } from '../../../../src/db/schema/penalty-sources.ts';
import { servers } from '../../../../src/db/schema/servers.ts';
import { InvalidInput, Unavailable } from '../../../../src/domain/errors.ts';
import { importSimpleAdmin } from '../../../../src/import/simple-admin/simple-admin.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../../support/import/mariadb.ts';
import { importDeps, storedPenalties, storedPenalty } from '../../../support/import/penalty-rows.ts';
import {
  simpleAdminMysqlSchema,
  simpleAdminSqliteSchema,
} from '../../../support/import/simple-admin-schema.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const deps = importDeps(database, '2026-11-21T12:00:00Z');
const folder = mkdtempSync(join(tmpdir(), 'simple-admin-'));
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  await connection`truncate penalties, servers, server_aliases cascade`;
});

const PLAYER = '76561198000000001';
const ADMIN = '76561198900000001';

/** Inserts rows given as objects; numbers and text alike are written as text. */
function insertion(
  table: string,
  rows: Record<string, string | number | null>[],
): [string, (string | number | null)[]] {
  const columns = Object.keys(rows[0] ?? {});
  const marks = rows.map(() => `(${columns.map(() => '?').join(', ')})`).join(', ');
  return [
    `insert into ${table} (${columns.join(', ')}) values ${marks}`,
    rows.flatMap((row) => Object.values(row)),
  ];
}

const aRow = (values: Record<string, string | number | null> = {}) => ({
  player_name: 'Rzeźnik',
  player_steamid: PLAYER,
  admin_steamid: ADMIN,
  admin_name: 'Ala',
  reason: 'Wallhack',
  duration: 60,
  created: '2026-11-21 11:30:00',
  ends: '2026-11-21 12:30:00',
  server_id: null,
  status: 'ACTIVE',
  ...values,
});

const hasMariaDb = await isMariaDbAtHand();

describe.if(hasMariaDb)('CS2-SimpleAdmin on MariaDB', () => {
  for (const migration of [5, 8, 10, 12, 15] as const) {
    test(`reads the tables as migration ${migration} leaves them, and changes nothing when repeated`, async () => {
      const source = await createTestMariaDb();
      await source.run(simpleAdminMysqlSchema({ migration }));
      await source.run("insert into sa_servers (hostname, address) values ('Mirage 24/7', '10.0.0.1:27015')");
      await source.run(
        ...insertion('sa_admins', [{ player_name: 'Basia', player_steamid: '76561198900000002' }]),
      );
      await source.run(
        "insert into sa_unbans (ban_id, admin_id, reason, date) values (2, 1, 'Appeal accepted', '2026-11-21 11:40:00')",
      );
      await source.run(
        "insert into sa_unmutes (mute_id, admin_id, reason, date) values (4, 0, 'Enough', '2026-11-21 11:41:00')",
      );
      await source.run(
        ...insertion('sa_bans', [
          { ...aRow({ server_id: 1 }), unban_id: null },
          { ...aRow({ status: 'UNBANNED' }), unban_id: 1 },
          {
            ...aRow({ status: 'EXPIRED', created: '2026-11-01 10:00:00', ends: '2026-11-01 11:00:00' }),
            unban_id: null,
          },
          { ...aRow({ duration: 0, ends: '2026-11-21 11:30:00' }), unban_id: null },
        ]),
      );
      await source.run(
        ...insertion(
          'sa_mutes',
          ['GAG', 'MUTE', 'SILENCE', ''].map((type, index) => ({
            ...aRow({ status: index === 3 ? 'UNMUTED' : 'ACTIVE' }),
            type,
            unmute_id: index === 3 ? 1 : null,
          })),
        ),
      );
      const hasWarns = migration >= 10;
      if (hasWarns) await source.run(...insertion('sa_warns', [aRow(), aRow({ status: 'EXPIRED' })]));

      const expected = hasWarns ? 10 : 8;
      expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
        read: expected,
        added: expected,
        quarantined: 0,
        warnings: 0,
        serversAdded: ['Mirage 24/7'],
      });
      const stored = await storedPenalties(db);
      expect(
        stored.map(
          ({ sourceTable, sourceId, type, status }) => `${sourceTable} ${sourceId} ${type} ${status}`,
        ),
      ).toEqual([
        'sa_bans 1 ban ACTIVE',
        'sa_bans 2 ban UNBANNED',
        'sa_bans 3 ban EXPIRED',
        'sa_bans 4 ban ACTIVE',
        'sa_mutes 1 gag ACTIVE',
        'sa_mutes 2 mute ACTIVE',
        'sa_mutes 3 silence ACTIVE',
        'sa_mutes 4 mute UNBANNED',
        ...(hasWarns ? ['sa_warns 1 warn ACTIVE', 'sa_warns 2 warn EXPIRED'] : []),
      ]);
      const [server] = await db.select().from(servers);
      expect(server).toMatchObject({ slug: 'mirage-24-7', address: '10.0.0.1:27015', isHidden: true });
      expect(stored[0]).toEqual({
        type: 'ban',
        status: 'ACTIVE',
        playerName: 'Rzeźnik',
        playerSteamId: PLAYER as never,
        adminName: 'Ala',
        adminSteamId: ADMIN as never,
        reason: 'Wallhack',
        durationMinutes: 60,
        serverId: server?.id ?? 0,
        createdAt: new Date('2026-11-21T11:30:00Z'),
        endsAt: new Date('2026-11-21T12:30:00Z'),
        liftedAt: null,
        liftedByName: null,
        liftedBySteamId: null,
        liftReason: null,
        source: 'simpleadmin',
        sourceTable: 'sa_bans',
        sourceId: '1',
        goneAt: null,
      });
      expect(stored[1]).toMatchObject({
        liftedAt: new Date('2026-11-21T11:40:00Z'),
        liftedByName: 'Basia',
        liftedBySteamId: '76561198900000002',
        liftReason: 'Appeal accepted',
      });
      expect(stored[3]).toMatchObject({ durationMinutes: 0, endsAt: null });
      expect(stored[7]).toMatchObject({
        liftedByName: 'Console',
        liftedBySteamId: '0',
        liftReason: 'Enough',
      });
      expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
        read: expected,
        added: 0,
        changed: 0,
        unchanged: expected,
        gone: 0,
        serversAdded: [],
      });
      expect(await storedPenalties(db)).toEqual(stored);
    });
  }

  test('wall clocks are read in the zone of the plugin, moments of lifting in the clock of the database', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 15 }));
    await source.run("insert into sa_unbans (ban_id, date) values (1, '2026-07-02 11:00:00')");
    await source.run(
      ...insertion('sa_bans', [
        {
          ...aRow({ created: '2026-07-01 12:00:00', ends: '2026-07-01 13:00:00', status: 'UNBANNED' }),
          unban_id: 1,
        },
        // Over the end of summer time: a week on the wall, an hour more in truth; not two clocks.
        {
          ...aRow({ duration: 10_080, created: '2026-10-20 12:00:00', ends: '2026-10-27 12:00:00' }),
          unban_id: null,
        },
      ]),
    );
    const summary = await importSimpleAdmin(deps, { url: source.url, timezone: 'Europe/Warsaw' });
    expect(summary.warnings).toBe(0);
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({
      createdAt: new Date('2026-07-01T10:00:00Z'),
      endsAt: new Date('2026-07-01T11:00:00Z'),
      liftedAt: new Date('2026-07-02T11:00:00Z'),
    });
    expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({
      createdAt: new Date('2026-10-20T10:00:00Z'),
      endsAt: new Date('2026-10-27T11:00:00Z'),
    });
  });

  test('a row that is no more at the source is marked and kept, and unmarked when it is back', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 12 }));
    await source.run(...insertion('sa_bans', [aRow(), aRow()]));
    await source.run(...insertion('sa_mutes', [{ ...aRow(), type: 'GAG' }]));
    await importSimpleAdmin(deps, { url: source.url });
    await source.run(
      'create table kept as select * from sa_bans where id = 1; delete from sa_bans where id = 1',
    );
    expect(await importSimpleAdmin(deps, { url: source.url, isDryRun: true })).toMatchObject({
      gone: 1,
      unchanged: 2,
    });
    expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
      gone: 1,
      changed: 0,
      unchanged: 2,
    });
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({
      goneAt: new Date('2026-11-21T12:00:00Z'),
      status: 'ACTIVE',
    });
    expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
      gone: 0,
      changed: 0,
      unchanged: 2,
    });
    await source.run('insert into sa_bans select * from kept');
    expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
      gone: 0,
      changed: 1,
      unchanged: 2,
    });
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ goneAt: null });
    expect(await tallyDifference()).toBe(0);
  });

  test('servers are matched by address, several ids of the source may mean one of ours', async () => {
    const ours = await insertServer(db, { address: 'Play.Example.org:27015' });
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 12 }));
    await source.run(
      ...insertion('sa_servers', [
        { hostname: 'Ours', address: 'play.example.org:27015' },
        { hostname: 'Moved', address: '10.0.0.9:27016' },
        { hostname: 'Moved', address: '10.0.0.9:27017' },
        { hostname: 'Nonsense', address: 'somewhere else' },
      ]),
    );
    await source.run(
      ...insertion(
        'sa_bans',
        [1, 2, 3, 4, 99].map((id) => aRow({ server_id: id })),
      ),
    );
    const summary = await importSimpleAdmin(deps, { url: source.url });
    expect(summary).toMatchObject({ added: 5, warnings: 2, serversAdded: ['Moved', 'Moved'] });
    expect(summary.warnedRows.map(({ table, id }) => [table, id])).toEqual([
      ['sa_servers', '4'],
      ['sa_bans', '5'],
    ]);
    const moved = await db.select().from(servers).where(eq(servers.name, 'Moved'));
    expect(moved.map((server) => [server.slug, server.isHidden])).toEqual([
      ['moved', true],
      ['moved-2', true],
    ]);
    const stored = await storedPenalties(db);
    expect(stored.map((row) => row.serverId)).toEqual([
      ours.id,
      moved[0]?.id ?? -1,
      moved[1]?.id ?? -1,
      0,
      0,
    ]);

    // An operator says that id 3 is the server of id 2: kept from then on.
    await db.update(serverAliases).set({ serverId: ours.id }).where(eq(serverAliases.sourceServerId, '3'));
    expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
      changed: 1,
      serversAdded: [],
    });
    expect((await storedPenalty(db, 'sa_bans', 3))?.serverId).toBe(ours.id);
  });

  test('zero dates, old Latin-1 tables and double encoding as MariaDB tells them', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 12 }));
    await source.run("set session sql_mode = ''; alter table sa_mutes convert to character set latin1");
    await source.run(
      ...insertion('sa_bans', [
        { ...aRow({ created: '0000-00-00 00:00:00', ends: '0000-00-00 00:00:00' }) },
        { ...aRow({ ends: '0000-00-00 00:00:00', player_name: 'ZaÅ¼Ã³Å‚Ä‡' }) },
        { ...aRow({ duration: 0, ends: '0000-00-00 00:00:00', player_steamid: '' }) },
      ]),
    );
    await source.run(...insertion('sa_mutes', [{ ...aRow({ player_name: 'Café Müller' }), type: 'GAG' }]));
    expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
      added: 3,
      quarantined: 1,
      warnings: 1,
    });
    expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({
      endsAt: new Date('2026-11-21T12:30:00Z'),
      playerName: 'Zażółć',
    });
    expect(await storedPenalty(db, 'sa_bans', 3)).toMatchObject({ endsAt: null, playerSteamId: '0' });
    expect(await storedPenalty(db, 'sa_mutes', 1)).toMatchObject({ playerName: 'Café Müller' });
  });

  test('the source is only read', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 15 }));
    await source.run(...insertion('sa_bans', [aRow()]));
    const { openMysqlSource } = await import('../../../../src/import/source/mysql.ts');
    const opened = await openMysqlSource(source.url);
    await expect(opened.select('delete from sa_bans')).rejects.toThrow(/read.only/i);
    await opened.close();
  });

  test('a source that does not answer, and one of another kind, are refused in one line without the password', async () => {
    const source = await createTestMariaDb();
    await expect(importSimpleAdmin(deps, { url: source.url })).rejects.toThrow(InvalidInput);
    const away = importSimpleAdmin(deps, { url: 'mysql://root:secret@127.0.0.1:1/nowhere' });
    await expect(away).rejects.toThrow(Unavailable);
    expect(await away.catch((error: Error) => error.message)).not.toContain('secret');
  });
});

/** Every case of a row that exists in the wild; MariaDB keeps none of the odd dates and types that SQLite does. */
describe('CS2-SimpleAdmin in an SQLite file', () => {
  let files = 0;
  function createFile(migration: 5 | 11 | 15, fill: (file: SqliteDatabase) => void): string {
    files += 1;
    const path = join(folder, `${files}.sqlite`);
    const file = new SqliteDatabase(path);
    file.run(simpleAdminSqliteSchema({ migration }));
    fill(file);
    file.close();
    return `sqlite:${path}`;
  }
  const insert = (file: SqliteDatabase, table: string, rows: Record<string, string | number | null>[]) => {
    for (const row of rows) file.run(...insertion(table, [row]));
  };

  for (const migration of [5, 11, 15] as const) {
    test(`reads a file stuck at migration ${migration}, in UTC, with every digit of the ids`, async () => {
      const url = createFile(migration, (file) => {
        file.run(
          "insert into sa_unbans (ban_id, admin_id, reason, date) values (2, 0, 'Mistake', '2026-11-21 11:50:00')",
        );
        insert(file, 'sa_bans', [
          aRow({ player_steamid: '76561198000000003' }),
          { ...aRow({ status: 'UNBANNED' }), unban_id: 1 },
        ]);
        insert(file, 'sa_mutes', [{ ...aRow(), type: 'SILENCE' }]);
        if (migration >= 11) insert(file, 'sa_warns', [aRow()]);
      });
      const rows = migration >= 11 ? 4 : 3;
      expect(await importSimpleAdmin(deps, { url, timezone: 'Europe/Warsaw' })).toMatchObject({
        read: rows,
        added: rows,
      });
      expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({
        playerSteamId: '76561198000000003',
        createdAt: new Date('2026-11-21T11:30:00Z'),
      });
      expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({
        status: 'UNBANNED',
        liftedAt: new Date('2026-11-21T11:50:00Z'),
        liftedByName: 'Console',
        liftReason: 'Mistake',
      });
      expect(await importSimpleAdmin(deps, { url })).toMatchObject({
        unchanged: rows,
        added: 0,
        changed: 0,
        gone: 0,
      });
    });
  }

  /** Imports one ban and returns what became of it. */
  async function importBan(values: Record<string, string | number | null>, options: { table?: string } = {}) {
    const table = options.table ?? 'sa_bans';
    const row = table === 'sa_mutes' ? { ...aRow(), type: 'GAG', ...values } : aRow(values);
    const url = createFile(11, (file) =>
      insert(file, table, [row, { ...row, ...aRow({ reason: 'the sound one' }) }]),
    );
    const summary = await importSimpleAdmin(deps, { url });
    expect((await storedPenalty(db, table, 2))?.reason).toBe('the sound one');
    return { summary, row: await storedPenalty(db, table, 1) };
  }

  test.each([
    ['0', '0'],
    ['', '0'],
    [null, '0'],
    ['STEAM_1:1:19867136', '76561198000000001'],
    ['STEAM_0:1:19867136', '76561198000000001'],
    ['[U:1:39734273]', '76561198000000001'],
    ['0x1100001025E4C01', '76561198000000001'],
    ['steam:1100001025e4c01', '76561198000000001'],
  ])('the player %p is kept as %s', async (steamId, expected) => {
    const { row, summary } = await importBan({ player_steamid: steamId });
    expect(summary.quarantined).toBe(0);
    expect(row?.playerSteamId as string).toBe(expected);
  });

  test.each(['BOT', 'STEAM_ID_PENDING', '0xdeadbeef', '7.6561198e+16', '-1', '99999999999999999999'])(
    'the player %s is quarantined, with table, id and reason',
    async (steamId) => {
      const { row, summary } = await importBan({ player_steamid: steamId });
      expect(row).toBeUndefined();
      expect(summary).toMatchObject({ read: 2, added: 1, quarantined: 1 });
      expect(summary.quarantinedRows).toEqual([
        {
          table: 'sa_bans',
          id: '1',
          reason: `the player's SteamID ${JSON.stringify(steamId)} names no player`,
        },
      ]);
    },
  );

  test.each(['Console', '0', '', 'Konsola', 'BOT'])('the admin %p is the console', async (steamId) => {
    const { row } = await importBan({ admin_steamid: steamId });
    expect(row?.adminSteamId as string).toBe('0');
  });

  test('a permanent row has no end, whatever its end says', async () => {
    for (const ends of ['2026-11-21 11:30:00', null, '2019-01-01 00:00:00', '0000-00-00 00:00:00', 'junk']) {
      const { row, summary } = await importBan({ duration: 0, ends });
      expect(row).toMatchObject({ status: 'ACTIVE', durationMinutes: 0, endsAt: null });
      expect(summary).toMatchObject({ quarantined: 0, warnings: 0 });
      await connection`truncate penalties`;
    }
  });

  test('an active row whose end has passed is expired, and so is one without a status', async () => {
    const passed = { created: '2026-11-20 11:30:00', ends: '2026-11-20 12:30:00' };
    expect((await importBan({ ...passed })).row?.status).toBe('EXPIRED');
    await connection`truncate penalties`;
    expect((await importBan({ ...passed, status: '' })).row?.status).toBe('EXPIRED');
    await connection`truncate penalties`;
    expect((await importBan({ ...passed, status: 'UNBANNED' })).row?.status).toBe('UNBANNED');
    await connection`truncate penalties`;
    const { row, summary } = await importBan({ status: '' });
    expect(row?.status).toBe('ACTIVE');
    expect(summary.warnedRows).toEqual([
      { table: 'sa_bans', id: '1', reason: 'its status is empty: taken as active until its end' },
    ]);
  });

  test('zero dates: an end is worked out, a creation too where there is an end, else the row is quarantined', async () => {
    const noEnd = await importBan({ ends: '0000-00-00 00:00:00' });
    expect(noEnd.row?.endsAt).toEqual(new Date('2026-11-21T12:30:00Z'));
    expect(noEnd.summary.warnings).toBe(1);
    await connection`truncate penalties`;
    const noCreation = await importBan({ created: '0000-00-00 00:00:00' });
    expect(noCreation.row?.createdAt).toEqual(new Date('2026-11-21T11:30:00Z'));
    await connection`truncate penalties`;
    const neither = await importBan({ created: '0000-00-00 00:00:00', ends: '0000-00-00 00:00:00' });
    expect(neither.row).toBeUndefined();
    expect(neither.summary.quarantinedRows[0]).toEqual({
      table: 'sa_bans',
      id: '1',
      reason: 'it has no date of creation',
    });
  });

  test('dates past 2038, and durations up to four thousand years', async () => {
    const { row } = await importBan({ duration: 2_147_483_647, ends: null });
    expect(row?.endsAt?.getUTCFullYear()).toBe(6109);
    await connection`truncate penalties`;
    const late = await importBan({ created: '2045-01-01 00:00:00', ends: '2045-01-01 01:00:00' });
    expect(late.row?.createdAt).toEqual(new Date('2045-01-01T00:00:00Z'));
  });

  test.each([
    ['duration', -5, 'the duration -5 is negative'],
    ['duration', 2_147_483_648, 'the duration 2147483648 is too long'],
    ['duration', 'soon', 'the duration "soon" is not a number'],
    ['created', '2026-02-31 10:00:00', '"2026-02-31 10:00:00" is not a date'],
    ['created', '2026-11-21 11:99:00', '"2026-11-21 11:99:00" is not a date'],
    ['ends', '2026-11-21 12:30:61', '"2026-11-21 12:30:61" is not a date'],
    ['status', 'WHATEVER', 'the status "WHATEVER" is not known'],
  ])('a %s of %p is quarantined', async (column, value, reason) => {
    const { row, summary } = await importBan({ [column]: value });
    expect(row).toBeUndefined();
    expect(summary.quarantinedRows).toEqual([{ table: 'sa_bans', id: '1', reason }]);
  });

  test('a whole hour between the end and creation plus duration is reported: two clocks', async () => {
    const { row, summary } = await importBan({ ends: '2026-11-21 14:30:00' });
    expect(row?.endsAt).toEqual(new Date('2026-11-21T14:30:00Z'));
    expect(summary.warnedRows).toEqual([
      {
        table: 'sa_bans',
        id: '1',
        reason: 'its end is 2 h off its creation plus its duration: two clocks wrote it',
      },
    ]);
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
    const url = createFile(11, (file) =>
      insert(
        file,
        'sa_bans',
        names.map((name) => aRow({ player_name: name, admin_name: name, reason: name })),
      ),
    );
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: names.length, quarantined: 0 });
    const stored = await storedPenalties(db);
    const expected = names.map((name) => name.replaceAll(String.fromCharCode(0), ''));
    expect(stored.map((row) => row.playerName)).toEqual(expected);
    expect(stored.map((row) => row.reason)).toEqual(expected);
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ unchanged: names.length });
  });

  test('the same player with several active rows of one second keeps them all', async () => {
    const url = createFile(11, (file) => insert(file, 'sa_bans', [aRow(), aRow(), aRow()]));
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: 3 });
    expect(await tallyDifference()).toBe(0);
  });

  test('a mute that counts minutes online ends by the clock, unless asked otherwise', async () => {
    const passed = { created: '2026-11-20 11:30:00', ends: '2026-11-20 12:30:00', type: 'MUTE' };
    const url = createFile(11, (file) => {
      insert(file, 'sa_mutes', [
        { ...aRow(), ...passed, passed: 10 },
        { ...aRow(), ...passed, passed: 60 },
        { ...aRow(), ...passed, passed: null },
      ]);
    });
    await importSimpleAdmin(deps, { url });
    expect((await storedPenalties(db)).map((row) => row.status)).toEqual(['EXPIRED', 'EXPIRED', 'EXPIRED']);
    await importSimpleAdmin(deps, { url, trustsOnlineTime: true });
    expect((await storedPenalties(db)).map((row) => [row.status, row.endsAt === null])).toEqual([
      ['ACTIVE', true],
      ['EXPIRED', true],
      ['EXPIRED', false],
    ]);
  });

  test('a quarantined row that an earlier import kept is not gone', async () => {
    const url = createFile(11, (file) => insert(file, 'sa_bans', [aRow()]));
    await importSimpleAdmin(deps, { url });
    const file = new SqliteDatabase(url.slice('sqlite:'.length));
    file.run('update sa_bans set duration = -1');
    file.close();
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ quarantined: 1, gone: 0, changed: 0 });
  });

  test('a server of ours that has a host name is matched by what the name resolves to', async () => {
    const ours = await insertServer(db, { address: 'localhost:27015' });
    const url = createFile(11, (file) => {
      insert(file, 'sa_servers', [{ hostname: 'Ours', address: '127.0.0.1:27015' }]);
      insert(file, 'sa_bans', [aRow({ server_id: 1 })]);
    });
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: 1, serversAdded: [] });
    expect((await storedPenalty(db, 'sa_bans', 1))?.serverId).toBe(ours.id);
  });

  test('a server whose name nobody can see is called by its address', async () => {
    const url = createFile(11, (file) => {
      insert(file, 'sa_servers', [{ hostname: '\u3164\u200b', address: '203.0.113.9:27015' }]);
      insert(file, 'sa_bans', [aRow({ server_id: 1 })]);
    });
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ serversAdded: ['203.0.113.9:27015'] });
    const { serverId } = (await storedPenalty(db, 'sa_bans', 1)) ?? {};
    const [made] = await db
      .select()
      .from(servers)
      .where(eq(servers.id, serverId ?? 0));
    expect(made).toMatchObject({ name: '203.0.113.9:27015', slug: '203-0-113-9-27015', isHidden: true });
  });

  test('a file that is not there is refused, and is not made', async () => {
    const path = join(folder, 'absent.sqlite');
    await expect(importSimpleAdmin(deps, { url: `sqlite:${path}` })).rejects.toThrow(Unavailable);
    expect(await Bun.file(path).exists()).toBe(false);
  });
});

/** How far the counters are off a recount. */
async function tallyDifference(): Promise<number> {
  const [row] = await connection`select (select count(*) from penalties)
    - (select coalesce(sum(n), 0) from penalty_tallies, unnest(counts) n where scope = 0 and period = 0) as difference`;
  return Number(row?.difference);
}
