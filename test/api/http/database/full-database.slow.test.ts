import { afterAll, describe, expect, test } from 'bun:test';
import { chmod, mkdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { runOnServer } from '../../../support/database/test-server.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { mountSmallDisk } from '../../../support/machine/small-disk.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';
import { createTestFolder, startProgram } from '../../../support/service/program.ts';
import { aToken, bearer, startTestService } from '../../../support/service/service.ts';
import { openBrowser, signIn } from '../../../support/web/browser.ts';

/** A database whose tables lie on a real disk that is full; the server's own files have room elsewhere. */
const DISK_BYTES = 48 * 1024 * 1024;

const database = await createTestDatabase();
const { db } = database;
const name = new URL(database.url).pathname.slice(1);
const folder = createTestFolder();
const disk = await mountSmallDisk(join(folder, 'disk'), DISK_BYTES);
// The database itself has been dropped by then.
afterAll(() => runOnServer(database.url, `drop tablespace if exists ${name}_space`));

/** A database can be moved only while nobody is connected to it. */
async function moveTo(space: string): Promise<void> {
  await runOnServer(
    database.url,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  );
  await runOnServer(database.url, `alter database ${name} set tablespace ${space}`);
}

async function fillDisk(): Promise<void> {
  const { bavail, bsize } = await statfs(disk.path);
  await Bun.write(join(disk.path, 'other'), new Uint8Array(bavail * bsize));
}

const lines = (count: number) =>
  Array.from({ length: count }, (_, number) =>
    JSON.stringify({
      penalty_type: 'ban',
      source_id: String(number),
      player_name: `Player ${number}`,
      player_steamid: aSteamId(number + 1),
      reason: 'x'.repeat(500),
      created: '2026-01-01T00:00:00+00:00',
      duration: 0,
    }),
  ).join('\n');

describe.skipIf(!disk.isMounted)('while the disk of the database is full', () => {
  test('reading goes on, forms are 503, and an import ends with one line', async () => {
    await insertPenalties(db, [{ type: 'ban' }]);
    const { token } = await aToken(db, 1, { now: new Date() });
    const space = join(disk.path, 'space');
    await mkdir(space);
    // PostgreSQL's own account has to reach the folder.
    await chmod(folder, 0o755);
    const { uid, gid } = await stat(await dataFolderOfServer());
    Bun.spawnSync(['chown', `${uid}:${gid}`, space]);
    await runOnServer(database.url, `create tablespace ${name}_space location '${space}'`);
    await moveTo(`${name}_space`);

    const steam = startSteamOpenIdProvider();
    const port = findFreePort();
    const service = await startTestService({
      databaseUrl: database.url,
      env: { PORT: String(port), PUBLIC_URL: `http://127.0.0.1:${port}`, STEAM_OPENID_URL: steam.url },
      hasRealClock: true,
    });
    const browser = openBrowser(service.origin);
    await signIn(browser);
    // PostgreSQL refuses a new session if it has to write its cache of the catalogue then.
    expect((await service.ask('/readyz')).status).toBe(200);
    // An empty table needs a new page for its first row.
    await database.connection`truncate audit_log`;
    await fillDisk();

    expect((await service.ask('/api/v1/bans', bearer(token))).status).toBe(200);
    expect((await service.ask('/readyz')).status).toBe(200);
    const file = join(folder, 'penalties.ndjson');
    await Bun.write(file, lines(5000));
    const env = { DATABASE_URL: database.url, DATA_DIR: folder };
    const importFile = () => startProgram('src/cli.ts', env, ['penalties', 'import', 'ndjson', file]);
    const program = importFile();
    expect([await program.exited, program.stdout()]).toEqual([1, '']);
    // By chance, PostgreSQL has to write its cache of the catalogue as the session begins; else only the import writes.
    expect([
      "The database's disk is full: make room and try again\n",
      `The database of DATABASE_URL cannot be written: its disk is full: ${new URL(database.url).host}\n`,
    ]).toContain(program.stderr());

    expect((await browser.get('/account')).status).toBe(200);
    const refused = await browser.post('/account/tokens', { name: 'x' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30']);

    disk.resize(DISK_BYTES * 4);
    expect(await importFile().exited).toBe(0);
    expect(await db.select({ id: penalties.id }).from(penalties)).toHaveLength(5001);
    await service.stop();
  });
});

async function dataFolderOfServer(): Promise<string> {
  const [row] = await database.connection`show data_directory`;
  return String(row?.data_directory);
}
