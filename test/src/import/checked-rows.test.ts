import { expect, test } from 'bun:test';
import { servers } from '../../../src/db/schema/servers.ts';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { importIks, importSimpleAdmin, importSourcebans } from '../../support/import/importers.ts';
import { openImports, storedPenalties } from '../../support/import/penalty-rows.ts';
import { simpleAdminSqliteSchema } from '../../support/import/simple-admin-schema.ts';
import { waitFor } from '../../support/wait.ts';

const { db, connection, deps, createFile } = await openImports();
function ndjson(...lines: object[]): AsyncIterable<Uint8Array> {
  return new Blob(lines.map((line) => `${JSON.stringify(line)}\n`)).stream();
}

const PLAYER = '76561198000000001';
/** 9999-12-30, the last day that is accepted in Unix seconds. */
const LATE = Date.UTC(9999, 11, 30) / 1000;

const LINE = { penalty_type: 'ban', player_steamid: PLAYER, created: '2026-11-21T11:30:00Z' };

/** One bad row of each source before a good one: what is wrong with it, and how it is imported. */
const BAD_ROWS = [
  {
    name: 'CS2-SimpleAdmin: a creation worked out from an end and a duration of 3,800 years',
    row: { table: 'sa_bans', id: '1' },
    reason: /^its creation -00\d\d\d\d-.* lies outside the years 1971 to 9999$/,
    create: () =>
      createFile(`${simpleAdminSqliteSchema({ migration: 11 })};
          insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, ends) values
            ('${PLAYER}', '0', 'Console', 'bad', 2000000000, '0000-00-00 00:00:00', '2026-11-21 12:30:00'),
            ('${PLAYER}', '0', 'Console', 'good', 60, '2026-11-21 11:30:00', '2026-11-21 12:30:00')`),
    run: (url: string) => importSimpleAdmin(deps, { url }),
  },
  {
    name: 'SourceBans++: an end worked out from a late creation',
    row: { table: 'bans', id: '1' },
    reason: 'its end +010002-12-30T00:00:00.000Z lies outside the years 1971 to 9999',
    create: () =>
      createFile(`create table sb_bans (bid integer primary key, authid text, created integer, length integer, reason text);
          insert into sb_bans values (1, '${PLAYER}', ${LATE}, ${1096 * 86_400}, 'bad'), (2, '${PLAYER}', 1795260000, 0, 'good')`),
    run: (url: string) => importSourcebans(deps, { url }),
  },
  {
    name: 'IKS Admin: a creation in 1970',
    row: { table: 'iks_bans', id: '1' },
    reason: 'its creation 1970-01-01T00:00:05.000Z lies outside the years 1971 to 9999',
    create: () =>
      createFile(`create table iks_bans (id integer primary key, steam_id text, duration integer, created_at integer,
            end_at integer, unbanned_by integer, reason text);
          insert into iks_bans values (1, '${PLAYER}', 0, 5, 0, null, 'bad'), (2, '${PLAYER}', 0, 1795260000, 0, null, 'good')`),
    run: (url: string) => importIks(deps, { url }),
  },
  {
    name: 'lines of JSON: an end worked out from a duration of 4,000 years',
    row: { table: 'line', id: '1' },
    reason: /^its end \+013083-.* lies outside the years 1971 to 9999$/,
    create: () => '',
    run: () =>
      importNdjson(deps, {
        chunks: ndjson(
          { ...LINE, created: '9000-01-01T00:00:00Z', duration: 2_147_483_647, reason: 'bad' },
          { ...LINE, reason: 'good' },
        ),
      }),
  },
  {
    name: 'lines of JSON: a creation in 1970',
    row: { table: 'line', id: '1' },
    reason: 'its creation 1970-12-31T23:59:59.000Z lies outside the years 1971 to 9999',
    create: () => '',
    run: () =>
      importNdjson(deps, {
        chunks: ndjson({ ...LINE, created: '1970-12-31T23:59:59Z' }, { ...LINE, reason: 'good' }),
      }),
  },
];

test.each(BAD_ROWS)(
  '$name is set aside with table and id, the rest is kept',
  async ({ create, run, row, reason }) => {
    const url = create();
    const summary = await run(url);
    expect(summary).toMatchObject({ read: 2, added: 1, setAside: 1 });
    const said = typeof reason === 'string' ? reason : expect.stringMatching(reason);
    expect(summary.rowsSetAside).toEqual([{ ...row, reason: said }]);
    expect((await storedPenalties(db)).map((kept) => kept.reason)).toEqual(['good']);
    expect(await run(url)).toMatchObject({ added: 0, changed: 0, unchanged: 1, gone: 0 });
  },
);

test('IKS Admin: nothing is assumed about a row that is set aside', async () => {
  const url =
    createFile(`create table iks_bans (id integer primary key, steam_id text, duration integer, created_at integer,
      end_at integer, unban_reason text);
    insert into iks_bans values (1, '${PLAYER}', -60, 1795260000, 1795263600, 'Appeal')`);
  expect(await importIks(deps, { url })).toMatchObject({ setAside: 1, assumptions: [] });
});

/** Rows without a date of creation: one with an end and a duration, one that is permanent. */
const WITHOUT_CREATION = {
  'SourceBans++': () => {
    const url =
      createFile(`create table sb_bans (bid integer primary key, authid text, created integer, length integer, ends integer);
      insert into sb_bans values (1, '${PLAYER}', 0, 3600, 1795264200), (2, '${PLAYER}', 0, 0, 0)`);
    return importSourcebans(deps, { url });
  },
  'IKS Admin': () => {
    const url =
      createFile(`create table iks_bans (id integer primary key, steam_id text, duration integer, created_at integer,
        end_at integer, unbanned_by integer);
      insert into iks_bans values (1, '${PLAYER}', 3600, 0, 1795264200, null), (2, '${PLAYER}', 0, 0, 0, null)`);
    return importIks(deps, { url });
  },
  'lines of JSON': () => {
    const ended = { ...LINE, duration: 60, ends: '2026-11-21T12:30:00Z' };
    return importNdjson(deps, {
      chunks: ndjson({ ...ended, created: '0000-00-00 00:00:00' }, { ...LINE, duration: 0, created: 0 }),
    });
  },
};

test.each(Object.entries(WITHOUT_CREATION))(
  '%s: a missing creation is computed from end and duration, where there are any',
  async (_, run) => {
    const summary = await run();
    expect(summary).toMatchObject({ added: 1, setAside: 1, rowsSetAside: [{ id: '2' }] });
    expect(summary.warnedRows).toMatchObject([
      { id: '1', reason: 'it has no date of creation: computed as its end minus its duration' },
    ]);
    expect(await storedPenalties(db)).toMatchObject([
      { createdAt: new Date('2026-11-21T11:30:00Z'), endsAt: new Date('2026-11-21T12:30:00Z') },
    ]);
  },
);

test('mutes and gags without a creation are one silence only if they end together', async () => {
  const row = (bid: number, type: number, ends: number) => `(${bid}, '${PLAYER}', 0, 3600, ${ends}, ${type})`;
  const url =
    createFile(`create table sb_comms (bid integer primary key, authid text, created integer, length integer,
      ends integer, type integer);
    insert into sb_comms values ${row(1, 1, 1795264200)}, ${row(2, 2, 1795264260)}, ${row(3, 2, 1795264200)}`);
  await importSourcebans(deps, { url });
  const stored = await storedPenalties(db);
  expect(stored.map(({ sourceId, type }) => `${sourceId} ${type}`).sort()).toEqual(['1 silence', '2 gag']);
});

test('the first and the last moment that a penalty may have are kept', async () => {
  const lines = [
    { ...LINE, created: '1971-01-01T00:00:00Z', ends: '1971-01-01T00:01:00Z' },
    {
      ...LINE,
      created: '2026-11-21T11:30:00Z',
      ends: '5000-12-31T23:59:59Z',
      unbanned_at: '9999-12-31T23:59:59Z',
    },
  ];
  expect(await importNdjson(deps, { chunks: ndjson(...lines) })).toMatchObject({ added: 2, setAside: 0 });
});

test('a server of a source whose name has 128 characters of two UTF-16 units each is made', async () => {
  const name = '🎯'.repeat(128);
  const url = createFile(`${simpleAdminSqliteSchema({ migration: 11 })};
    insert into sa_servers (hostname, address) values ('${name}', '10.0.0.1:27015');
    insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, server_id) values
      ('${PLAYER}', '0', 'Console', 'Aim', 0, '2026-11-21 11:30:00', 1)`);
  const summary = await importSimpleAdmin(deps, { url });
  expect(summary).toMatchObject({ added: 1, warnings: 0, serversAdded: [name] });
  const [server] = await db.select().from(servers);
  expect(server?.name).toBe(name);
  expect((await storedPenalties(db))[0]?.serverId).toBe(server?.id ?? -1);
});

test('a source_id of 256 characters of two UTF-16 units each is kept', async () => {
  const summary = await importNdjson(deps, { chunks: ndjson({ ...LINE, source_id: '🎯'.repeat(256) }) });
  expect(summary).toMatchObject({ added: 1, setAside: 0 });
});

test('a server of a source that cannot be one of ours is a warning, and its penalties have no server', async () => {
  const url = createFile(`${simpleAdminSqliteSchema({ migration: 11 })};
    insert into sa_servers (hostname, address) values ('Nowhere', 'some where:27015'), ('Mirage', '10.0.0.1:27015');
    insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, server_id) values
      ('${PLAYER}', '0', 'Console', 'Aim', 0, '2026-11-21 11:30:00', 1),
      ('${PLAYER}', '0', 'Console', 'Aim', 0, '2026-11-21 11:30:00', 2)`);
  const summary = await importSimpleAdmin(deps, { url });
  expect(summary).toMatchObject({ added: 2, setAside: 0, serversAdded: ['Mirage'] });
  expect(summary.warnedRows).toEqual([
    {
      table: 'sa_servers',
      id: '1',
      reason:
        'its penalties are kept without a server: address "some where:27015" isn\'t valid: use HOST:PORT, such as play.example.org:27015 or [2001:db8::1]:27015',
    },
  ]);
  const [mirage] = await db.select().from(servers);
  expect((await storedPenalties(db)).map((row) => row.serverId)).toEqual([0, mirage?.id ?? -1]);
});

test('two imports that add the same new server at once end up with one', async () => {
  const source = (id: number) =>
    createFile(`${simpleAdminSqliteSchema({ migration: 11 })};
      insert into sa_servers (id, hostname, address) values (${id}, 'Mirage', 'Play.Example.org:27015');
      insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, server_id) values
        ('${PLAYER}', '0', 'Console', 'Aim', 0, '2026-11-21 11:30:00', ${id})`);
  const waiting = async () => {
    const [row] =
      await connection`select count(*)::int as n from pg_locks join pg_database on pg_database.oid = database
      where not granted and datname = current_database()`;
    return row?.n;
  };
  // Both look for the server before either can add it.
  const { imports } = await connection.begin(async (transaction) => {
    await transaction`lock table servers in share mode`;
    const imports = [1, 2].map((id) =>
      importSimpleAdmin(deps, { url: source(id), source: `community-${id}` }),
    );
    await waitFor(async () => (await waiting()) === 2);
    return { imports };
  });
  const summaries = await Promise.all(imports);
  expect(summaries.map(({ serversAdded }) => serversAdded.length).sort()).toEqual([0, 1]);
  const rows = await db.select().from(servers);
  expect(rows.map(({ address }) => address)).toEqual(['play.example.org:27015']);
  expect((await storedPenalties(db)).map(({ serverId }) => serverId)).toEqual([
    rows[0]?.id ?? 0,
    rows[0]?.id ?? 0,
  ]);
});
