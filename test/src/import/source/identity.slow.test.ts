import { Database as SqliteDatabase } from 'bun:sqlite';
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { penaltySources, serverAliases } from '../../../../src/db/schema/penalties.ts';
import { servers } from '../../../../src/db/schema/servers.ts';
import { Conflict } from '../../../../src/domain/errors.ts';
import { importNdjson } from '../../../../src/import/ndjson/ndjson.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { importSimpleAdmin, importSourcebans } from '../../../support/import/importers.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../../support/import/mariadb.ts';
import { importDeps, storedPenalties } from '../../../support/import/penalty-rows.ts';
import {
  simpleAdminMysqlSchema,
  simpleAdminSqliteSchema,
} from '../../../support/import/simple-admin-schema.ts';
import { createTestFolder, startProgram } from '../../../support/service/program.ts';
import { startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const deps = importDeps(database, '2026-11-21T12:00:00Z');
const folder = createTestFolder();
afterAll(folder.remove);
beforeEach(async () => {
  await connection`truncate penalties, servers, server_aliases, penalty_sources cascade`;
});

function createFile(name: string, statements: string): string {
  const path = join(folder.path, name);
  const file = new SqliteDatabase(path);
  for (const statement of statements.split(';')) if (statement.trim() !== '') file.run(statement);
  file.close();
  return path;
}

let files = 0;
/** A SimpleAdmin file with one permanent ban. */
function createSimpleAdmin(reason: string, server = '10.0.0.1:27015'): string {
  files += 1;
  return createFile(
    `simpleadmin-${files}.sqlite`,
    `${simpleAdminSqliteSchema({ migration: 11 })};
    insert into sa_servers (hostname, address) values ('Mirage', '${server}');
    insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, server_id)
      values ('76561198000000001', '0', 'Console', '${reason}', 0, '2026-11-21 11:30:00', 1)`,
  );
}

const reasons = async () => (await storedPenalties(db)).map((row) => `${row.source} ${row.reason}`).sort();

describe('a second database under the name of the first', () => {
  test('refuses a second database under the name of the first in one line that names both and what to do; nothing is changed', async () => {
    const [first, second] = [createSimpleAdmin('first'), createSimpleAdmin('second')];
    await importSimpleAdmin(deps, { url: `sqlite:${first}` });
    for (const isDryRun of [true, false]) {
      const refused = importSimpleAdmin(deps, { url: `sqlite:${second}`, isDryRun });
      await expect(refused).rejects.toThrow(Conflict);
      expect(await refused.catch((error: Error) => error.message)).toBe(
        `simpleadmin has been CS2-SimpleAdmin at ${first} so far, but this is CS2-SimpleAdmin at ${second}: ` +
          'use --source NAME to import it separately, or --replace-source if it is the same database at a new address',
      );
    }
    expect(await reasons()).toEqual(['simpleadmin first']);
    expect(await importSimpleAdmin(deps, { url: `sqlite:${first}` })).toMatchObject({ unchanged: 1 });
  });

  test('imports a second database beside the first under another name, which is remembered too', async () => {
    const [first, second, third] = [1, 2, 3].map((number) => createSimpleAdmin(`of ${number}`));
    await importSimpleAdmin(deps, { url: `sqlite:${first}` });
    await importSimpleAdmin(deps, { url: `sqlite:${second}`, source: 'second' });
    expect(await reasons()).toEqual(['second of 2', 'simpleadmin of 1']);
    await expect(importSimpleAdmin(deps, { url: `sqlite:${third}`, source: 'second' })).rejects.toThrow(
      Conflict,
    );
  });

  test('takes the place of the first where an operator says that it is the same one', async () => {
    const first = createSimpleAdmin('old words');
    const moved = createSimpleAdmin('new words');
    await importSimpleAdmin(deps, { url: `sqlite:${first}` });
    const aliases = await db.select().from(serverAliases);
    const url = `sqlite:${moved}`;
    expect(await importSimpleAdmin(deps, { url, replacesSource: true, isDryRun: true })).toMatchObject({
      changed: 1,
    });
    await expect(importSimpleAdmin(deps, { url })).rejects.toThrow(Conflict);
    expect(await importSimpleAdmin(deps, { url, replacesSource: true })).toMatchObject({
      changed: 1,
      added: 0,
    });
    expect(await reasons()).toEqual(['simpleadmin new words']);
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ unchanged: 1 });
    await expect(importSimpleAdmin(deps, { url: `sqlite:${first}` })).rejects.toThrow(Conflict);
    expect(await db.select().from(serverAliases)).toEqual(aliases);
  });
});

test('a database is the same by whatever path, and another after it was moved', async () => {
  const path = createSimpleAdmin('one');
  await importSimpleAdmin(deps, { url: `sqlite:${path}` });
  const detour = `sqlite:${join(folder.path, 'x', '..')}/../${folder.path.split('/').at(-1)}/${path.split('/').at(-1)}`;
  expect(await importSimpleAdmin(deps, { url: detour })).toMatchObject({ unchanged: 1 });
  await rename(path, `${path}.moved`);
  await expect(importSimpleAdmin(deps, { url: `sqlite:${path}.moved` })).rejects.toThrow(Conflict);
});

test('a source name without penalties is free: a first attempt with a wrong database does not bind it', async () => {
  const wrong = createFile('wrong.sqlite', 'create table other (id integer)');
  await expect(importSimpleAdmin(deps, { url: `sqlite:${wrong}` })).rejects.toThrow(
    'the source has no tables of CS2-SimpleAdmin',
  );
  const empty = createFile(
    'empty.sqlite',
    `${simpleAdminSqliteSchema({ migration: 11 })}; insert into sa_servers (hostname, address) values ('Dust', '10.9.9.9:27015')`,
  );
  await importSimpleAdmin(deps, { url: `sqlite:${empty}` });
  const right = createSimpleAdmin('right', '10.0.0.7:27015');
  expect(await importSimpleAdmin(deps, { url: `sqlite:${right}` })).toMatchObject({ added: 1 });
  // In the empty database, id 1 was a different server.
  const [server] = await db.select().from(servers).where(eq(servers.address, '10.0.0.7:27015'));
  expect(await storedPenalties(db)).toMatchObject([{ serverId: server?.id }]);
});

test('penalties from before sources were remembered belong to the first database that is imported', async () => {
  const [first, second] = [createSimpleAdmin('first'), createSimpleAdmin('second')];
  await importSimpleAdmin(deps, { url: `sqlite:${first}` });
  await db.delete(penaltySources);
  expect(await importSimpleAdmin(deps, { url: `sqlite:${first}` })).toMatchObject({ unchanged: 1 });
  await expect(importSimpleAdmin(deps, { url: `sqlite:${second}` })).rejects.toThrow(Conflict);
});

test('the prefix is a part of what SourceBans++ is; another system under the name is refused as well', async () => {
  const table = (prefix: string) =>
    `create table ${prefix}bans (bid integer primary key, authid text, created integer, length integer, reason text);
    insert into ${prefix}bans values (1, '76561198000000001', 1795260000, 0, '${prefix}')`;
  const path = createFile('sourcebans.sqlite', `${table('sb_')}; ${table('old_')}`);
  const url = `sqlite:${path}`;
  await importSourcebans(deps, { url, prefix: 'sb' });
  expect(await importSourcebans(deps, { url, prefix: 'sb_' })).toMatchObject({ unchanged: 1 });
  const refused = importSourcebans(deps, { url, prefix: 'old' });
  await expect(refused).rejects.toThrow(
    `sourcebans has been SourceBans++ at ${path} (prefix sb_) so far, but this is SourceBans++ at ${path} (prefix old_): `,
  );
  await expect(
    importSimpleAdmin(deps, { url: `sqlite:${createSimpleAdmin('x')}`, source: 'sourcebans' }),
  ).rejects.toThrow('but this is CS2-SimpleAdmin at ');
  const lines = () => new Blob(['{}\n']).stream();
  await expect(importNdjson(deps, { chunks: lines(), source: 'sourcebans' })).rejects.toThrow(
    'but this is lines of JSON: ',
  );
  expect(await reasons()).toEqual(['sourcebans sb_']);
});

test('NDJSON files are not databases: a later file updates the penalties of an earlier one', async () => {
  const line = { penalty_type: 'ban', source_id: 1, player_steamid: '0', created: '2026-11-21T11:30:00Z' };
  const chunks = (reason: string) => new Blob([JSON.stringify({ ...line, reason })]).stream();
  await importNdjson(deps, { chunks: chunks('one') });
  expect(await importNdjson(deps, { chunks: chunks('two') })).toMatchObject({ changed: 1 });
});

describe.if(await isMariaDbAtHand())('databases of MariaDB', () => {
  test('tells databases apart by host, port and name, never by user or password, which nobody keeps', async () => {
    const [source, other] = [await createTestMariaDb(), await createTestMariaDb()];
    for (const { run } of [source, other]) {
      await run(simpleAdminMysqlSchema({ migration: 15 }));
      await run(
        "insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration) values (0, 0, 'Console', 'x', 0)",
      );
    }
    const user = `reader_${process.pid}`;
    await source.run(
      `create user '${user}'@'%' identified by 's3cr3t'; grant select on *.* to '${user}'@'%'`,
    );
    await importSimpleAdmin(deps, { url: source.url });
    const address = new URL(source.url);
    address.username = user;
    address.password = 's3cr3t';
    const asReader = importSimpleAdmin(deps, { url: address.href }).finally(() =>
      source.run(`drop user '${user}'@'%'`),
    );
    expect(await asReader).toMatchObject({ unchanged: 1 });
    const [kept] = await db.select().from(penaltySources);
    expect(kept).toEqual({
      name: 'simpleadmin',
      kind: 'simpleadmin',
      address: `${address.hostname === '127.0.0.1' ? 'localhost' : address.hostname}:${address.port || 3306}${address.pathname}`,
      prefix: '',
      completedAt: expect.any(Date),
    });
    await expect(importSimpleAdmin(deps, { url: other.url })).rejects.toThrow(Conflict);
  });
});

test('the operator reads one line, and says --replace-source or --source', async () => {
  const [first, second] = [createSimpleAdmin('first'), createSimpleAdmin('second')];
  const run = async (...args: string[]) => {
    const program = startProgram('src/cli.ts', { DATABASE_URL: database.url }, [
      'penalties',
      'import',
      'simpleadmin',
      ...args,
    ]);
    return { code: await program.exited, stderr: program.stderr(), stdout: program.stdout() };
  };
  expect(await run('--url', `sqlite:${first}`)).toMatchObject({ code: 0 });
  const refused = await run('--url', `sqlite:${second}`);
  expect(refused.code).toBe(1);
  expect(refused.stderr.trim().split('\n')).toHaveLength(1);
  expect(refused.stderr).toContain(`simpleadmin has been CS2-SimpleAdmin at ${first} so far`);
  expect(await run('--url', `sqlite:${second}`, '--source', 'second')).toMatchObject({ code: 0 });
  expect(await run('--url', `sqlite:${second}`, '--replace-source')).toMatchObject({ code: 0 });
  expect(await reasons()).toEqual(['second second', 'simpleadmin second']);
});

test('a service whose SIMPLEADMIN_URL names another database says so in /readyz, without its address', async () => {
  const [first, second] = [createSimpleAdmin('first'), createSimpleAdmin('second')];
  await importSimpleAdmin(deps, { url: `sqlite:${first}` });
  const env = { ROLES: 'api,sync', SIMPLEADMIN_URL: `sqlite:${second}`, SIMPLEADMIN_INTERVAL_SECONDS: '1' };
  const service = await startTestService({ databaseUrl: database.url, env });
  const mirror = await waitFor(async () => {
    const { body } = await service.ask('/readyz');
    const { mirror_simpleadmin: mirror } = body as { mirror_simpleadmin: Record<string, unknown> };
    return mirror.refusal && mirror;
  });
  expect(mirror).toEqual({
    isMirroring: true,
    isUp: false,
    failures: expect.any(Number),
    refusal:
      'SIMPLEADMIN_URL names a different database from the one its penalties came from: nothing is mirrored',
  });
  expect((await service.ask('/readyz')).status).toBe(200);
  await service.stop();
  expect(await reasons()).toEqual(['simpleadmin first']);
});
