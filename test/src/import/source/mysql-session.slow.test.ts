import { afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readSource } from '../../../../src/import/source/open-source.ts';
import { importSourcebans } from '../../../support/import/importers.ts';
import { canStartMariaDb, type MariaDb, startMariaDb } from '../../../support/import/mariadb-server.ts';
import { openImports } from '../../../support/import/penalty-rows.ts';
import { sourcebansSchema } from '../../../support/import/sourcebans-schema.ts';
import { createTestFolder } from '../../../support/service/program.ts';

setDefaultTimeout(120_000);

const { deps, stored } = await openImports();
const NAMES = ['Żółw', 'Вася', '小明 💥'];

describe.if(canStartMariaDb())('a MariaDB whose host changed the session', () => {
  let server: MariaDb;
  let url: string;
  beforeAll(async () => {
    server = await startMariaDb(createTestFolder(), [
      '--skip-character-set-client-handshake',
      '--character-set-server=latin1',
    ]);
    url = `mysql://community@127.0.0.1:${server.port}/bans`;
    await server.run(`set names utf8mb4; create database bans; use bans; ${sourcebansSchema('sb_', '1.8')}
      create user community@'%'; grant select on bans.* to community@'%'`);
    const rows = NAMES.map(
      (name, index) => `('STEAM_0:1:${index + 1}', '${name}', ${1_700_000_000 + index}, '')`,
    );
    await server.run(`set names utf8mb4; use bans; insert into sb_bans (authid, name, created, reason) values ${rows};
      insert into sb_comms (authid, name, created, reason, type) values ${rows.map((row) => row.replace(')', ', 1)'))}`);
  });
  afterEach(() =>
    server.run(`set global init_connect = ''; set global sql_select_limit = default; set global max_join_size = default;
      set global max_sort_length = default; set global max_statement_time = default; set global autocommit = default`),
  );

  test.each([
    ['ignores the character set of clients', ''],
    ['sets another character set', "set global init_connect = 'set names latin2'"],
    ['allows only small joins', 'set global max_join_size = 1'],
    ['returns only the first row', 'set global sql_select_limit = 1'],
    ['has modes of its own', 'set global init_connect = \'set sql_mode = "ORACLE,EMPTY_STRING_IS_NULL"\''],
  ])('imports every row and name from a server that %s', async (_, configuration) => {
    if (configuration !== '') await server.run(configuration);
    const summary = await importSourcebans(deps, { url, replacesSource: true });
    expect(summary).toMatchObject({ read: 6, added: 6, setAside: 0, assumptions: [] });
    expect((await stored()).map(({ playerName }) => playerName)).toEqual([...NAMES, ...NAMES]);
  });

  test('an import reads later commits from a server that begins transactions by itself', async () => {
    await server.run('set global autocommit = 0');
    const counts = await readSource(url, async ({ select }) => {
      const count = async () => (await select('select count(*) as count from sb_servers'))[0]?.count;
      const before = await count();
      await server.run("insert into bans.sb_servers (ip, port) values ('10.0.0.1', 27015); commit");
      return [before, await count()];
    });
    expect(counts).toEqual(['0', '1']);
  });

  test('an import sorts by whole texts where the server compares only their first bytes', async () => {
    await server.run('set global max_sort_length = 8');
    const rows = await readSource(url, ({ select }) =>
      select("select * from (select 'STEAM_0:1:2' as id union all select 'STEAM_0:1:1') as ids order by id"),
    );
    expect(rows).toEqual([{ id: 'STEAM_0:1:1' }, { id: 'STEAM_0:1:2' }]);
  });

  test('an import may read for a minute where the server has a shorter statement timeout', async () => {
    await server.run('set global max_statement_time = 0.05');
    const [row] = await readSource(url, ({ select }) => select('select sleep(0.5) as was_ended'));
    expect(row).toEqual({ was_ended: '0' });
  });
});
