import { describe, expect, test } from 'bun:test';
import { servers } from '../../../src/db/schema/servers.ts';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { readSource } from '../../../src/import/source/open-source.ts';
import { insertServer } from '../../support/database/builders.ts';
import { iksSchema } from '../../support/import/iks-schema.ts';
import { importIks, importSimpleAdmin, importSourcebans } from '../../support/import/importers.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../support/import/mariadb.ts';
import { openImports, storedPenalty } from '../../support/import/penalty-rows.ts';
import { RIGHTS_TABLES, readRights } from '../../support/import/rights-tables.ts';
import { ADMIN, aRow, simpleAdminMysqlSchema } from '../../support/import/simple-admin-schema.ts';
import { sourcebansSchema } from '../../support/import/sourcebans-schema.ts';
import { insertInto, NOW, PLAYER, type SourceRow } from '../../support/import/systems.ts';

const { db, connection, deps, stored, importTwice, announceAndImport } = await openImports();
const hasMariaDb = await isMariaDbAtHand();
const seconds = (at: number) => new Date(at * 1000);

/** All penalties, a line each. */
const listStored = async () =>
  (await stored()).map(({ sourceTable, sourceId, type, status, durationMinutes }) =>
    [sourceTable, sourceId, type, status, durationMinutes].join(' '),
  );

describe.if(hasMariaDb)('CS2-SimpleAdmin on MariaDB', () => {
  const BASIA = { player_name: 'Basia', player_steamid: '76561198900000002' };
  const createSource = (...statements: string[]) =>
    createTestMariaDb(simpleAdminMysqlSchema({ migration: 12 }), ...statements);

  test.each([5, 8, 10, 12, 15] as const)(
    'reads the tables as migration %d leaves them, and changes nothing when repeated',
    async (migration) => {
      const hasWarns = migration >= 10;
      const { url } = await createTestMariaDb(
        simpleAdminMysqlSchema({ migration }),
        insertInto('sa_servers', { hostname: 'Mirage 24/7', address: '10.0.0.1:27015' }),
        insertInto('sa_admins', BASIA),
        "insert into sa_unbans (ban_id, admin_id, reason, date) values (2, 1, 'Appeal accepted', '2026-11-21 11:40:00')",
        "insert into sa_unmutes (mute_id, admin_id, reason, date) values (4, 0, 'Enough', '2026-11-21 11:41:00')",
        insertInto(
          'sa_bans',
          aRow({ server_id: 1 }),
          aRow({ status: 'UNBANNED', unban_id: 1 }),
          aRow({ status: 'EXPIRED', created: '2026-11-01 10:00:00', ends: '2026-11-01 11:00:00' }),
          aRow({ duration: 0, ends: '2026-11-21 11:30:00' }),
        ),
        insertInto('sa_mutes', ...['GAG', 'MUTE', 'SILENCE'].map((type) => aRow({ type }))),
        insertInto('sa_mutes', aRow({ type: '', status: 'UNMUTED', unmute_id: 1 })),
        hasWarns ? insertInto('sa_warns', aRow(), aRow({ status: 'EXPIRED' })) : '',
      );
      const summary = await importTwice(() => importSimpleAdmin(deps, { url }));
      const rows = hasWarns ? 10 : 8;
      const counts = { read: rows, added: rows, setAside: 0, warnings: 0 };
      expect(summary).toMatchObject({ ...counts, serversAdded: ['Mirage 24/7'] });
      expect(await listStored()).toEqual([
        'sa_bans 1 ban ACTIVE 60',
        'sa_bans 2 ban UNBANNED 60',
        'sa_bans 3 ban EXPIRED 60',
        'sa_bans 4 ban ACTIVE 0',
        'sa_mutes 1 gag ACTIVE 60',
        'sa_mutes 2 mute ACTIVE 60',
        'sa_mutes 3 silence ACTIVE 60',
        'sa_mutes 4 mute UNBANNED 60',
        ...(hasWarns ? ['sa_warns 1 warn ACTIVE 60', 'sa_warns 2 warn EXPIRED 60'] : []),
      ]);
      const [server] = await db.select().from(servers);
      expect(server).toMatchObject({ slug: 'mirage-24-7', address: '10.0.0.1:27015', isHidden: true });
      const penalties = await stored();
      expect(penalties[0]).toEqual({
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
      expect(penalties[1]).toEqual(
        expect.objectContaining({
          liftedAt: new Date('2026-11-21T11:40:00Z'),
          liftedByName: 'Basia',
          liftedBySteamId: '76561198900000002',
          liftReason: 'Appeal accepted',
        }),
      );
      expect(penalties[3]).toMatchObject({ endsAt: null });
      const byConsole = { liftedByName: 'Console', liftedBySteamId: '0', liftReason: 'Enough' };
      expect(penalties[7]).toMatchObject(byConsole);
    },
  );

  test('wall clocks are read in the zone of the plugin, moments of lifting in the clock of the database', async () => {
    const { url } = await createSource(
      "insert into sa_unbans (ban_id, date) values (1, '2026-07-02 11:00:00')",
      insertInto(
        'sa_bans',
        aRow({
          created: '2026-07-01 12:00:00',
          ends: '2026-07-01 13:00:00',
          status: 'UNBANNED',
          unban_id: 1,
        }),
        // Across the end of summer time a week by the wall clock is an hour longer: that is not two clocks.
        aRow({ duration: 10_080, created: '2026-10-20 12:00:00', ends: '2026-10-27 12:00:00' }),
      ),
    );
    const summary = await importSimpleAdmin(deps, { url, timezone: 'Europe/Warsaw' });
    expect(summary.warnings).toBe(0);
    expect(await stored()).toEqual([
      expect.objectContaining({
        createdAt: new Date('2026-07-01T10:00:00Z'),
        endsAt: new Date('2026-07-01T11:00:00Z'),
        liftedAt: new Date('2026-07-02T11:00:00Z'),
      }),
      expect.objectContaining({
        createdAt: new Date('2026-10-20T10:00:00Z'),
        endsAt: new Date('2026-10-27T11:00:00Z'),
      }),
    ]);
  });

  test('zero dates, old Latin-1 tables and double encoding as MariaDB tells them', async () => {
    const ZERO = '0000-00-00 00:00:00';
    const { url } = await createSource(
      "set session sql_mode = ''; alter table sa_mutes convert to character set latin1",
      insertInto(
        'sa_bans',
        aRow({ created: ZERO, ends: ZERO }),
        aRow({ ends: ZERO, player_name: 'ZaÅ¼Ã³Å‚Ä‡' }),
        aRow({ duration: 0, ends: ZERO, player_steamid: '' }),
      ),
      insertInto('sa_mutes', aRow({ player_name: 'Café Müller', type: 'GAG' })),
    );
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: 3, setAside: 1, warnings: 1 });
    const endsAt = new Date('2026-11-21T12:30:00Z');
    expect(await stored()).toEqual([
      expect.objectContaining({ sourceId: '2', endsAt, playerName: 'Zażółć' }),
      expect.objectContaining({ sourceId: '3', endsAt: null, playerSteamId: '0' }),
      expect.objectContaining({ sourceTable: 'sa_mutes', playerName: 'Café Müller' }),
    ]);
  });

  test('texts in binary columns are read as UTF-8', async () => {
    const { url } = await createSource(
      'alter table sa_bans modify player_name varbinary(255), modify reason blob',
      insertInto('sa_bans', aRow({ player_name: 'Żółw', reason: 'Zażółć 😀' })),
    );
    await importSimpleAdmin(deps, { url });
    expect(await stored()).toMatchObject([{ playerName: 'Żółw', reason: 'Zażółć 😀' }]);
  });

  test('the source is only read', async () => {
    const { url } = await createSource();
    const deleting = readSource(url, (database) => database.select('delete from sa_bans'));
    await expect(deleting).rejects.toThrow(/read.only/i);
  });
});

describe.if(hasMariaDb)('SourceBans++ on MariaDB', () => {
  const rows = (table: string, ...values: SourceRow[]) => {
    const row = {
      authid: 'STEAM_0:1:19867136',
      name: 'Rzeźnik',
      created: NOW - 1800,
      length: 3600,
      reason: 'Aim',
    };
    const complete = values.map((value) => ({ ...row, ...value }));
    return insertInto(
      table,
      ...complete.map((value) => ({ ends: Number(value.created) + Number(value.length), ...value })),
    );
  };
  const lift = (id: number, at: number) =>
    `update sb_comms set RemoveType = 'U', RemovedBy = 0, RemovedOn = ${at} where bid = ${id}`;

  test.each(['1.4', '1.5', '1.8'] as const)(
    'reads the tables of version %s, and changes nothing when repeated',
    async (version) => {
      const ours = await insertServer(db, { address: '10.0.0.1:27015' });
      const hasComms = version !== '1.4';
      const { url } = await createTestMariaDb(
        sourcebansSchema('sb_', version),
        insertInto('sb_admins', { user: 'Basia', authid: 'STEAM_0:0:5' }),
        insertInto('sb_servers', { ip: '10.0.0.1', port: 27_015 }, { ip: '10.0.0.2', port: 27_016 }),
        rows(
          'sb_bans',
          { aid: 1, sid: 1 },
          { aid: 0, sid: 0, length: 0, ends: 0 },
          { RemoveType: 'U', RemovedBy: 1, RemovedOn: NOW - 60, sid: 2 },
          { RemoveType: 'D', RemovedBy: 0, RemovedOn: NOW - 60, sid: 99 },
          { RemoveType: 'E', created: NOW - 9000 },
          { created: NOW - 9000 },
          { authid: '', type: 1, ip: '192.0.2.1', length: 90 },
        ),
        hasComms ? "update sb_bans set ureason = 'Appeal accepted' where bid = 3" : '',
        hasComms
          ? rows('sb_comms', { type: 1 }, { type: 2, length: 60 }, { type: 2, length: -1, ends: NOW - 1860 })
          : '',
      );
      const summary = await importTwice(() => importSourcebans(deps, { url }));
      const count = hasComms ? 10 : 7;
      const counts = { read: count, added: count, setAside: 0, warnings: 1 };
      expect(summary).toMatchObject({ ...counts, serversAdded: ['10.0.0.2:27016'] });
      const penalties = await listStored();
      expect(penalties.toSorted()).toEqual([
        'bans 1 ban ACTIVE 60',
        'bans 2 ban ACTIVE 0',
        'bans 3 ban UNBANNED 60',
        'bans 4 ban UNBANNED 60',
        'bans 5 ban EXPIRED 60',
        'bans 6 ban EXPIRED 60',
        'bans 7 ban EXPIRED 2',
        ...(hasComms ? ['comms 1 mute ACTIVE 60', 'comms 2 gag EXPIRED 1', 'comms 3 gag ACTIVE 120'] : []),
      ]);
      const [first, second, third, fourth, , , seventh] = await stored();
      expect(first).toEqual(
        expect.objectContaining({
          playerSteamId: PLAYER,
          adminName: 'Basia',
          adminSteamId: '76561197960265738',
          serverId: ours.id,
          createdAt: seconds(NOW - 1800),
          endsAt: seconds(NOW + 1800),
        }),
      );
      expect(second).toMatchObject({ adminName: 'CONSOLE', adminSteamId: '0', serverId: 0, endsAt: null });
      expect(third).toEqual(
        expect.objectContaining({
          liftedAt: seconds(NOW - 60),
          liftedByName: 'Basia',
          liftedBySteamId: '76561197960265738',
          liftReason: hasComms ? 'Appeal accepted' : null,
        }),
      );
      expect(fourth).toMatchObject({ liftedByName: 'CONSOLE', liftedBySteamId: '0', serverId: 0 });
      expect(seventh).toMatchObject({ playerSteamId: '0' });
      // A communication ban for a session ends after two hours.
      if (hasComms) expect((await storedPenalty(db, 'comms', 3))?.endsAt).toEqual(seconds(NOW + 5400));
      expect(await db.select().from(servers)).toHaveLength(2);
    },
  );

  test('a mute and a gag of one player, moment and length are one silence, until one half is lifted', async () => {
    const source = await createTestMariaDb(
      sourcebansSchema('sb_', '1.8'),
      rows(
        'sb_comms',
        { type: 1 },
        { type: 2, authid: 'STEAM_0:1:77' },
        { type: 2 },
        // One pair differs in its start, the other in its length.
        { type: 2, created: NOW - 1799 },
        { type: 2, length: 7200 },
        // Two silences of one second.
        ...[1, 1, 2, 2].map((type) => ({ type, authid: 'STEAM_0:0:9' })),
      ),
    );
    const types = async () => {
      const penalties = await stored();
      return penalties
        .sort((a, b) => Number(a.sourceId) - Number(b.sourceId))
        .map((row) => `${row.sourceId} ${row.type} ${row.status}`);
    };
    const importAgain = () => importSourcebans(deps, { url: source.url });
    expect(await importTwice(importAgain)).toMatchObject({ read: 9, added: 6 });
    const merged = [
      '1 silence ACTIVE',
      '2 gag ACTIVE',
      '4 gag ACTIVE',
      '5 gag ACTIVE',
      '6 silence ACTIVE',
      '7 silence ACTIVE',
    ];
    expect(await types()).toEqual(merged);

    await source.run(lift(1, NOW));
    expect(await importAgain()).toMatchObject({ added: 1, changed: 1, gone: 0 });
    expect((await types()).slice(0, 3)).toEqual(['1 mute UNBANNED', '2 gag ACTIVE', '3 gag ACTIVE']);

    // Both lifted within seconds by the same admin: one silence again, and no half left over.
    await source.run(lift(3, NOW + 2));
    const done = await announceAndImport((options) =>
      importSourcebans(deps, { url: source.url, ...options }),
    );
    expect(done).toMatchObject({ added: 0, changed: 1, gone: 0 });
    expect(await types()).toEqual(['1 silence UNBANNED', ...merged.slice(1)]);

    // The second half of one of two silences: the other gag of that second belongs to the first mute.
    await source.run(lift(8, NOW));
    expect(await importAgain()).toMatchObject({ added: 1, changed: 1, gone: 0 });
    expect((await types()).slice(4)).toEqual(['6 silence ACTIVE', '7 mute ACTIVE', '8 gag UNBANNED']);
  });

  test.each(['1.5', '1.8'] as const)(
    'halves of silences find each other across pages in version %s',
    async (version) => {
      const { url } = await createTestMariaDb(
        sourcebansSchema('sb_', version),
        `insert into sb_comms (authid, created, ends, length, reason, type)
        select concat('STEAM_0:', mod(mod(seq, 12001), 2), ':', 1 + floor(mod(seq, 12001) / 2)), ${NOW}, ${NOW} + 60, 60, '', 1 + floor(seq / 12001) from seq_0_to_24001`,
      );
      const summary = await importSourcebans(deps, { url });
      expect(summary).toMatchObject({ read: 24_002, setAside: 0 });
      const [counts] =
        await connection`select count(*) filter (where type = 'silence') as silences, count(*) as n from penalties`;
      expect(counts).toEqual({ silences: '12001', n: '12001' });
    },
  );

  test('bans of a table without their admins are imported without them', async () => {
    const { url } = await createTestMariaDb(
      sourcebansSchema('sb_', '1.8'),
      rows('sb_bans', {}),
      'alter table sb_bans drop column aid',
    );
    expect(await importSourcebans(deps, { url })).toMatchObject({ read: 1, added: 1 });
    expect(await storedPenalty(db, 'bans', 1)).toMatchObject({ adminSteamId: '0', adminName: '' });
  });

  test('rows that cannot be are set aside, both rows of a silence too, and the rest is kept', async () => {
    const { url } = await createTestMariaDb(
      sourcebansSchema('sb_', '1.8'),
      rows(
        'sb_bans',
        { length: -5 },
        { authid: 'STEAM_ID_PENDING' },
        { created: 0 },
        { RemoveType: 'X' },
        {},
      ),
      rows('sb_comms', { type: 4 }, { type: 1, length: -2 }, { type: 3 }),
      rows('sb_comms', { type: 1, authid: 'BOT' }, { type: 2, authid: 'BOT' }),
    );
    const summary = await importSourcebans(deps, { url });
    expect(summary).toMatchObject({ read: 10, added: 2, setAside: 8 });
    expect(await storedPenalty(db, 'comms', 3)).toMatchObject({ type: 'silence', status: 'ACTIVE' });
    const reports = summary.rowsSetAside.map(({ table, id, reason }) => `${table} ${id} ${reason}`);
    expect(reports.toSorted()).toEqual([
      'bans 1 the duration -5 is negative',
      'bans 2 the player\'s SteamID "STEAM_ID_PENDING" is not a SteamID',
      'bans 3 it has no date of creation',
      'bans 4 the RemoveType "X" is not known',
      'comms 1 the type "4" is not known: 1 mute, 2 gag, 3 silence',
      'comms 2 the duration -2 is negative',
      'comms 4 the player\'s SteamID "BOT" is not a SteamID',
      'comms 5 the player\'s SteamID "BOT" is not a SteamID',
    ]);
  });

  test('tables are found by their prefix, with or without an underscore; an invalid prefix is refused', async () => {
    const { url } = await createTestMariaDb(sourcebansSchema('web_', '1.8'), rows('web_comms', { type: 1 }));
    await expect(importSourcebans(deps, { url, prefix: 'other' })).rejects.toThrow(
      'no tables of SourceBans++: their names would begin with other_',
    );
    await expect(importSourcebans(deps, { url, prefix: 'x; drop' })).rejects.toThrow(InvalidInput);
    expect(await importSourcebans(deps, { url, prefix: 'web' })).toMatchObject({ added: 1 });
    expect(await importSourcebans(deps, { url, prefix: 'web_' })).toMatchObject({ unchanged: 1 });
  });
});

describe.if(hasMariaDb)('IKS Admin on MariaDB', () => {
  const ROW = {
    ...{ steam_id: PLAYER, name: 'Rzeźnik', duration: 3600, reason: 'Aim', admin_id: 2 },
    ...{ created_at: NOW - 1800, end_at: NOW + 1800, updated_at: NOW - 60 },
  };
  const rows = (table: 'iks_bans' | 'iks_comms', ...values: SourceRow[]) =>
    insertInto(table, ...values.map((value) => ({ ...ROW, ...value })));

  test.each(['first', 'present'] as const)(
    'reads the tables of the %s release, and changes nothing when repeated',
    async (release) => {
      const [lift, byAddress] =
        release === 'first'
          ? [{ ubanned_by: 2 }, {}]
          : [{ unbanned_by: 2, unban_reason: 'Appeal' }, { ban_type: 1 }];
      const source = await createTestMariaDb(
        iksSchema(release),
        insertInto('iks_servers', { id: 7, ip: '10.0.0.7:27015', name: 'Dust II' }),
        rows(
          'iks_bans',
          { server_id: 7 },
          { duration: 0, end_at: 0, admin_id: 1 },
          { end_at: NOW - 1, duration: 1799 },
          lift,
          { steam_id: null, ...byAddress },
          { deleted_at: NOW },
        ),
        rows('iks_comms', { mute_type: 0 }, { mute_type: 1 }, { mute_type: 2 }),
      );
      const importAgain = () => importIks(deps, { url: source.url });
      const summary = await importTwice(importAgain);
      expect(summary).toMatchObject({ read: 8, added: 8, setAside: 0, warnings: 0 });
      expect(await listStored()).toEqual([
        'iks_bans 1 ban ACTIVE 60',
        'iks_bans 2 ban ACTIVE 0',
        'iks_bans 3 ban EXPIRED 30',
        'iks_bans 4 ban UNBANNED 60',
        'iks_bans 5 ban ACTIVE 60',
        'iks_comms 1 mute ACTIVE 60',
        'iks_comms 2 gag ACTIVE 60',
        'iks_comms 3 silence ACTIVE 60',
      ]);
      const [server] = await db.select().from(servers);
      expect(server).toMatchObject({ slug: 'dust-ii', isHidden: true });
      const [first, second, , fourth, fifth] = await stored();
      expect(first).toEqual(
        expect.objectContaining({
          playerSteamId: PLAYER,
          adminName: 'Basia',
          adminSteamId: '76561198900000002',
          serverId: server?.id,
          createdAt: seconds(NOW - 1800),
          endsAt: seconds(NOW + 1800),
        }),
      );
      expect(second).toMatchObject({ adminName: 'CONSOLE', adminSteamId: '0', endsAt: null, serverId: 0 });
      expect(fourth).toEqual(
        expect.objectContaining({
          liftedAt: seconds(NOW - 60),
          liftedByName: 'Basia',
          liftedBySteamId: '76561198900000002',
          liftReason: release === 'first' ? null : 'Appeal',
        }),
      );
      expect(fifth).toMatchObject({ playerSteamId: '0' });
      await source.run('update iks_bans set deleted_at = 1 where id = 1');
      expect(await importAgain()).toMatchObject({ read: 7, unchanged: 7, gone: 1 });
    },
  );

  test('rows that contradict themselves follow end_at, and say so; rows that cannot be are set aside', async () => {
    const { url } = await createTestMariaDb(
      iksSchema('present'),
      rows(
        'iks_bans',
        { end_at: 0 },
        { duration: 0 },
        { duration: -1 },
        { created_at: 0, duration: 0 },
        { server_id: 99 },
      ),
      rows('iks_comms', { mute_type: 9 }),
    );
    const summary = await importIks(deps, { url });
    expect(summary).toMatchObject({ added: 3, warnings: 3, setAside: 3 });
    expect(await stored()).toMatchObject([
      { sourceId: '1', durationMinutes: 0, serverId: 0 },
      { sourceId: '2', durationMinutes: 60, serverId: 0 },
      { sourceId: '5', durationMinutes: 60, serverId: 0 },
    ]);
    expect(summary.rowsSetAside.map(({ table, id, reason }) => `${table} ${id} ${reason}`)).toEqual([
      'iks_bans 3 the duration -1 is negative',
      'iks_bans 4 it has no date of creation',
      'iks_comms 1 the mute_type "9" is not known: 0 mute, 1 gag, 2 silence',
    ]);
  });

  test('an IP ban with a SteamID is a ban of that SteamID, and counted', async () => {
    const bans = rows('iks_bans', { ban_type: 1 }, { ban_type: 2 }, { ban_type: 1, steam_id: null });
    const { url } = await createTestMariaDb(iksSchema('present'), bans);
    const { assumptions } = await importIks(deps, { url });
    expect((await stored()).map((row) => String(row.playerSteamId))).toEqual([PLAYER, PLAYER, '0']);
    expect(assumptions).toEqual([{ rows: 1, assumption: expect.stringContaining('by address only') }]);
  });

  test('a row with a reason for unbanning is lifted, even without a name', async () => {
    const bans = rows('iks_bans', { unban_reason: 'Appeal' }, { unban_reason: '' });
    const { url } = await createTestMariaDb(iksSchema('present'), bans);
    const { assumptions } = await importIks(deps, { url });
    expect(await stored()).toMatchObject([
      { status: 'UNBANNED', liftReason: 'Appeal', liftedByName: null },
      { status: 'ACTIVE' },
    ]);
    expect(assumptions).toEqual([{ rows: 1, assumption: expect.stringMatching(/^with an unban_reason/) }]);
  });
});

test.if(hasMariaDb).each([
  ['CS2-SimpleAdmin', importSimpleAdmin],
  ['SourceBans++', importSourcebans],
  ['IKS Admin', importIks],
])('a MariaDB of another kind than %s is refused', async (_, run) => {
  const { url } = await createTestMariaDb();
  await expect(run(deps, { url })).rejects.toThrow(InvalidInput);
});

test.if(hasMariaDb).each([...RIGHTS_TABLES])(
  'reads who has rights by the tables of $name in MariaDB',
  async ({ read, statements, expected }) => {
    const { url } = await createTestMariaDb(statements);
    expect(await readRights(url, read)).toEqual(expected);
  },
);
