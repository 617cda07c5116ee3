import { expect, test } from 'bun:test';
import { rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { eq } from 'drizzle-orm';
import { penaltySources, serverAliases } from '../../../../src/db/schema/penalties.ts';
import { servers } from '../../../../src/db/schema/servers.ts';
import { Conflict } from '../../../../src/domain/errors.ts';
import { importNdjson } from '../../../../src/import/ndjson/ndjson.ts';
import { importSimpleAdmin, importSourcebans } from '../../../support/import/importers.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../../support/import/mariadb.ts';
import { openImports, toNdjson } from '../../../support/import/penalty-rows.ts';
import { simpleAdminMysqlSchema } from '../../../support/import/simple-admin-schema.ts';
import { SYSTEMS } from '../../../support/import/systems.ts';
import { runCli } from '../../../support/service/cli.ts';
import { startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const { db, url: databaseUrl, deps, createFile, stored } = await openImports();
const { schema, addServer, add } = SYSTEMS['CS2-SimpleAdmin'];

/** A file of CS2-SimpleAdmin with one permanent ban. @returns its address and its path. */
function createSimpleAdmin(reason: string, address = '10.0.0.1:27015') {
  const ban = add('ban', { id: 1, reason, serverId: 1 });
  const url = createFile(schema, addServer({ id: 1, address }), ban);
  return { url, path: url.replace('sqlite:', '') };
}

const reasons = async () => (await stored()).map((row) => `${row.source} ${row.reason}`).sort();

test('refuses a second database under the name of the first in one line that names both and what to do; nothing is changed', async () => {
  const [first, second] = [createSimpleAdmin('first'), createSimpleAdmin('second')];
  await importSimpleAdmin(deps, { url: first.url });
  for (const isDryRun of [true, false]) {
    const refused = importSimpleAdmin(deps, { url: second.url, isDryRun });
    await expect(refused).rejects.toThrow(Conflict);
    expect(await refused.catch((error: Error) => error.message)).toBe(
      `simpleadmin has been CS2-SimpleAdmin at ${first.path} so far, but this is CS2-SimpleAdmin at ${second.path}: ` +
        'use --source NAME to import it separately, or --replace-source if it is the same database at a new address',
    );
  }
  expect(await reasons()).toEqual(['simpleadmin first']);
  expect(await importSimpleAdmin(deps, { url: first.url })).toMatchObject({ unchanged: 1 });
});

test('imports a second database beside the first under another name, which is remembered too', async () => {
  const [first, second, third] = ['of 1', 'of 2', 'of 3'].map((reason) => createSimpleAdmin(reason).url);
  await importSimpleAdmin(deps, { url: first ?? '' });
  await importSimpleAdmin(deps, { url: second ?? '', source: 'second' });
  expect(await reasons()).toEqual(['second of 2', 'simpleadmin of 1']);
  const refused = importSimpleAdmin(deps, { url: third ?? '', source: 'second' });
  await expect(refused).rejects.toThrow(Conflict);
});

test('a second database takes the place of the first where an operator says that it is the same one', async () => {
  const { url: first } = createSimpleAdmin('old words');
  const { url } = createSimpleAdmin('new words');
  await importSimpleAdmin(deps, { url: first });
  const aliases = await db.select().from(serverAliases);
  const replacing = { url, replacesSource: true };
  expect(await importSimpleAdmin(deps, { ...replacing, isDryRun: true })).toMatchObject({ changed: 1 });
  await expect(importSimpleAdmin(deps, { url })).rejects.toThrow(Conflict);
  expect(await importSimpleAdmin(deps, replacing)).toMatchObject({ changed: 1, added: 0 });
  expect(await reasons()).toEqual(['simpleadmin new words']);
  expect(await importSimpleAdmin(deps, { url })).toMatchObject({ unchanged: 1 });
  await expect(importSimpleAdmin(deps, { url: first })).rejects.toThrow(Conflict);
  expect(await db.select().from(serverAliases)).toEqual(aliases);
});

test('a database is the same by whatever path, and another after it was moved', async () => {
  const { url, path } = createSimpleAdmin('one');
  await importSimpleAdmin(deps, { url });
  const folder = dirname(path);
  const detour = `sqlite:${join(folder, 'x', '..')}/../${basename(folder)}/${basename(path)}`;
  expect(await importSimpleAdmin(deps, { url: detour })).toMatchObject({ unchanged: 1 });
  await rename(path, `${path}.moved`);
  await expect(importSimpleAdmin(deps, { url: `${url}.moved` })).rejects.toThrow(Conflict);
});

test('a source name without penalties is free: a first attempt with a wrong database does not bind it', async () => {
  const wrong = createFile('create table other (id integer)');
  await expect(importSimpleAdmin(deps, { url: wrong })).rejects.toThrow(
    'the source has no tables of CS2-SimpleAdmin',
  );
  const empty = createFile(schema, addServer({ id: 1, address: '10.9.9.9:27015' }));
  await importSimpleAdmin(deps, { url: empty });
  const { url } = createSimpleAdmin('right', '10.0.0.7:27015');
  expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: 1 });
  // In the empty database, id 1 was a different server.
  const [server] = await db.select().from(servers).where(eq(servers.address, '10.0.0.7:27015'));
  expect(await stored()).toMatchObject([{ serverId: server?.id }]);
});

test('penalties from before sources were remembered belong to the first database that is imported', async () => {
  const [first, second] = [createSimpleAdmin('first'), createSimpleAdmin('second')];
  await importSimpleAdmin(deps, { url: first.url });
  await db.delete(penaltySources);
  expect(await importSimpleAdmin(deps, { url: first.url })).toMatchObject({ unchanged: 1 });
  await expect(importSimpleAdmin(deps, { url: second.url })).rejects.toThrow(Conflict);
});

test('the prefix is a part of what SourceBans++ is; another system under the name is refused as well', async () => {
  const sourcebans = SYSTEMS['SourceBans++'];
  const tables = sourcebans.schema + sourcebans.add('ban', { id: 1, reason: 'sb_' });
  const url = createFile(tables, tables.replaceAll('sb_', 'old_'));
  const path = url.replace('sqlite:', '');
  await importSourcebans(deps, { url, prefix: 'sb' });
  expect(await importSourcebans(deps, { url, prefix: 'sb_' })).toMatchObject({ unchanged: 1 });
  await expect(importSourcebans(deps, { url, prefix: 'old' })).rejects.toThrow(
    `sourcebans has been SourceBans++ at ${path} (prefix sb_) so far, but this is SourceBans++ at ${path} (prefix old_): `,
  );
  const source = 'sourcebans';
  await expect(importSimpleAdmin(deps, { url: createSimpleAdmin('x').url, source })).rejects.toThrow(
    'but this is CS2-SimpleAdmin at ',
  );
  await expect(importNdjson(deps, { chunks: toNdjson([{}]), source })).rejects.toThrow(
    'but this is lines of JSON: ',
  );
  expect(await reasons()).toEqual(['sourcebans sb_']);
});

test.if(await isMariaDbAtHand())(
  'tells databases of MariaDB apart by host, port and name, never by user or password, which nobody keeps',
  async () => {
    const rows = 'insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration)';
    const statements = [
      simpleAdminMysqlSchema({ migration: 15 }),
      `${rows} values (0, 0, 'Console', 'x', 0)`,
    ];
    const [source, other] = [await createTestMariaDb(...statements), await createTestMariaDb(...statements)];
    const user = `reader_${process.pid}`;
    await source.run(
      `create user '${user}'@'%' identified by 's3cr3t'; grant select on *.* to '${user}'@'%'`,
    );
    await importSimpleAdmin(deps, { url: source.url });
    const address = Object.assign(new URL(source.url), { username: user, password: 's3cr3t' });
    const asReader = importSimpleAdmin(deps, { url: address.href }).finally(() =>
      source.run(`drop user '${user}'@'%'`),
    );
    expect(await asReader).toMatchObject({ unchanged: 1 });
    const host = address.hostname === '127.0.0.1' ? 'localhost' : address.hostname;
    expect(await db.select().from(penaltySources)).toEqual([
      {
        name: 'simpleadmin',
        kind: 'simpleadmin',
        address: `${host}:${address.port || 3306}${address.pathname}`,
        prefix: '',
        completedAt: expect.any(Date),
        timezone: 'UTC',
      },
    ]);
    await expect(importSimpleAdmin(deps, { url: other.url })).rejects.toThrow(Conflict);
  },
);

test('the operator reads one line, and says --replace-source or --source', async () => {
  const [first, second] = [createSimpleAdmin('first'), createSimpleAdmin('second')];
  const run = (url: string, ...options: string[]) =>
    runCli(['penalties', 'import', 'simpleadmin', '--url', url, ...options], { DATABASE_URL: databaseUrl });
  expect(await run(first.url)).toMatchObject({ code: 0 });
  const refused = await run(second.url);
  expect(refused.code).toBe(1);
  expect(refused.stderr.trim().split('\n')).toHaveLength(1);
  expect(refused.stderr).toContain(`simpleadmin has been CS2-SimpleAdmin at ${first.path} so far`);
  expect(await run(second.url, '--source', 'second')).toMatchObject({ code: 0 });
  expect(await run(second.url, '--replace-source')).toMatchObject({ code: 0 });
  expect(await reasons()).toEqual(['second second', 'simpleadmin second']);
});

test('a service whose SIMPLEADMIN_URL names another database says so in /readyz, without its address', async () => {
  const [first, second] = [createSimpleAdmin('first'), createSimpleAdmin('second')];
  await importSimpleAdmin(deps, { url: first.url });
  const env = { ROLES: 'api,sync', SIMPLEADMIN_URL: second.url, SIMPLEADMIN_INTERVAL_SECONDS: '1' };
  const service = await startTestService({ databaseUrl, env });
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
