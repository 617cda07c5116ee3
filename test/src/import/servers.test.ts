import { describe, expect, test } from 'bun:test';
import { servers } from '../../../src/db/schema/servers.ts';
import { importIks, importSimpleAdmin, importSourcebans } from '../../support/import/importers.ts';
import { openImports, storedPenalties } from '../../support/import/penalty-rows.ts';
import { simpleAdminSqliteSchema } from '../../support/import/simple-admin-schema.ts';

const { db, deps, createFile } = await openImports();
const PLAYER = '76561198000000001';
const CREATED = Date.UTC(2026, 10, 21, 11) / 1000;

type ServerRow = { id: number; address: string };

/** Each source with these servers and one ban for each server id, written as in SQL. */
const SOURCES = [
  {
    name: 'CS2-SimpleAdmin',
    run: (url: string) => importSimpleAdmin(deps, { url }),
    create: (sourceServers: ServerRow[], ids: string[]) =>
      createFile(`${simpleAdminSqliteSchema({ migration: 11 })};
        ${sourceServers.map(({ id, address }) => `insert into sa_servers (id, hostname, address) values (${id}, 'Mirage', '${address}')`).join(';')};
        ${ids.map((id) => `insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, server_id) values ('${PLAYER}', '0', 'Console', 'Aim', 0, '2026-11-21 11:00:00', ${id})`).join(';')}`),
  },
  {
    name: 'SourceBans++',
    run: (url: string) => importSourcebans(deps, { url }),
    create: (sourceServers: ServerRow[], ids: string[]) =>
      createFile(`create table sb_bans (bid integer primary key, authid text, created integer, length integer, sid);
        create table sb_servers (sid integer, ip text, port integer);
        ${sourceServers.map(({ id, address }) => `insert into sb_servers values (${id}, '${address.split(':')[0]}', ${address.split(':')[1]})`).join(';')};
        ${ids.map((id) => `insert into sb_bans (authid, created, length, sid) values ('${PLAYER}', ${CREATED}, 0, ${id})`).join(';')}`),
  },
  {
    name: 'IKS Admin',
    run: (url: string) => importIks(deps, { url }),
    create: (sourceServers: ServerRow[], ids: string[]) =>
      createFile(`create table iks_bans (id integer primary key, steam_id text, duration integer, created_at integer, end_at integer, unbanned_by integer, server_id);
        create table iks_servers (id integer, ip text, name text);
        ${sourceServers.map(({ id, address }) => `insert into iks_servers values (${id}, '${address}', 'Mirage')`).join(';')};
        ${ids.map((id) => `insert into iks_bans (steam_id, duration, created_at, end_at, server_id) values ('${PLAYER}', 0, ${CREATED}, 0, ${id})`).join(';')}`),
  },
];

describe.each(SOURCES)('$name', ({ create, run }) => {
  test('a penalty without a server causes no warning, however its source writes that', async () => {
    const url = create([], ['null', "''", '0', '-1']);
    expect(await run(url)).toMatchObject({ added: 4, warnings: 0 });
    expect((await storedPenalties(db)).map((row) => row.serverId)).toEqual([0, 0, 0, 0]);
  });

  test('a server that is not at the source any more is a warning', async () => {
    const summary = await run(create([{ id: 7, address: '10.0.0.7:27015' }], ['7', '99']));
    const [server] = await db.select().from(servers);
    expect((await storedPenalties(db)).map((row) => row.serverId)).toEqual([server?.id ?? -1, 0]);
    expect(summary.warnedRows.map(({ id, reason }) => [id, reason])).toEqual([
      ['2', 'its server 99 no longer exists at the source: kept without a server'],
    ]);
  });
});

test('a dry run names a server of several ids once, as the import does', async () => {
  const iks = SOURCES.find(({ name }) => name === 'IKS Admin');
  const url = iks?.create(
    [1, 2].map((id) => ({ id, address: '10.0.0.7:27015' })),
    ['1', '2'],
  );
  const announced = await importIks(deps, { url: url ?? '', isDryRun: true });
  const done = await importIks(deps, { url: url ?? '' });
  expect(done).toMatchObject({ added: 2, serversAdded: ['Mirage'] });
  expect(announced).toEqual({ ...done, isDryRun: true });
});

test('IKS Admin: the operator chooses the ids of servers, and 0 may be one', async () => {
  const iks = SOURCES.find(({ name }) => name === 'IKS Admin');
  const url = iks?.create([{ id: 0, address: '10.0.0.7:27015' }], ['0']) ?? '';
  expect(await iks?.run(url)).toMatchObject({ added: 1, warnings: 0 });
  const [server] = await db.select().from(servers);
  expect((await storedPenalties(db))[0]?.serverId).toBe(server?.id ?? -1);
});
