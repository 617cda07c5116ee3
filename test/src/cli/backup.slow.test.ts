import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Connection, connect } from '../../../src/db/client.ts';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { checkPenaltyTallies } from '../../../src/queries/penalties/recount.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { anAudio, sine, toWav } from '../../support/audio/audio.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { fillEveryTable, loadTables, readEveryTable } from '../../support/database/every-table.ts';
import { SYSTEM_VERSIONS, startSystemPostgres } from '../../support/database/system-postgres.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { openSoundsIn } from '../../support/service/backups.ts';
import { createTestFolder, runProgram, startProgram } from '../../support/service/program.ts';
import { waitForProcess } from '../../support/wait.ts';

// The tests create embedded databases and render sounds, on a machine that may be busy.
setDefaultTimeout(240_000);

const PLAYER = aSteamId(5);
const folder = createTestFolder();
const hasSystemPostgres = SYSTEM_VERSIONS.length > 0 || process.env.CI === 'true';
await Bun.$`chmod 755 ${folder}`;

const embedded = openPlace('embedded');
const backup = join(folder, 'embedded.tar.gz');
let token = '';

describe.skipIf(!hasSystemPostgres)('between the embedded PostgreSQL 18 and the system’s', async () => {
  const system = await startSystemPostgres();
  const external = openPlace('external', system.url);

  test('backup writes one file that only its owner reads, and says what it holds', async () => {
    token = await fillPlace(embedded);
    const made = await embedded.cli('backup', backup);
    expect(made).toMatchObject({ code: 0 });
    expect(made.stdout).toMatch(
      /^Wrote .*, as of 2\d{3}-\d\d-\d\d \d\d:\d\d UTC: \d+ rows of \d+ tables, 2 sound files\n$/,
    );
    expect((await stat(backup)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).not.toContainEqual(expect.stringContaining('.partial'));
    // Ordinary tools can open it.
    const listed = await Bun.$`tar tzf ${backup}`.text();
    expect(listed).toContain(`sounds/${PLAYER}.voice.mp3\n`);
    expect(listed).toContain('tables/api_tokens/000001.ndjson\n');
    expect(listed).toEndWith('manifest.json\n');
    expect(await embedded.cli('backup', backup)).toMatchObject({
      code: 1,
      stderr: `${backup} already exists: choose another name\n`,
    });
    expect(await embedded.cli('backup', '')).toMatchObject({
      code: 1,
      stderr: 'The name of the file is empty\n',
    });
    expect(await embedded.cli('backup', join(folder, 'none', 'x.tar.gz'))).toMatchObject({
      code: 1,
      stderr: `${join(folder, 'none', 'x.tar.gz')} cannot be written: no such file or directory\n`,
    });
  });

  test('the recipe for every night keeps the newest thirty, and all of them when a backup fails', async () => {
    const nights = join(folder, 'nights');
    await Bun.$`mkdir ${nights}`;
    for (let day = 1; day <= 31; day++)
      await writeFile(join(nights, `community-2026-01-${String(day).padStart(2, '0')}.tar.gz`), '');
    await writeFile(join(nights, 'community-by-hand.tar.gz'), '');
    const env = { ...process.env, ...embedded.env };
    const run = () => Bun.$`docs/deploy/nightly-backup ${nights}`.env(env).nothrow().quiet();
    expect((await run()).exitCode).toBe(0);
    const names = (await readdir(nights)).sort();
    expect(names).toHaveLength(31);
    expect(names[0]).toBe('community-2026-01-03.tar.gz');
    expect(names).toContain('community-by-hand.tar.gz');
    // The backup of this day is there already.
    await writeFile(join(nights, 'community-2026-01-01.tar.gz'), '');
    expect((await run()).exitCode).toBe(1);
    expect(await readdir(nights)).toHaveLength(32);

    const today = names.at(-2) ?? '';
    const sound = join(embedded.published, `${PLAYER}.mp3`);
    await rename(join(nights, today), join(nights, 'complete.tar.gz'));
    await rename(sound, join(nights, 'sound'));
    const incomplete = await run();
    await rename(join(nights, 'sound'), sound);
    expect([incomplete.exitCode, incomplete.stderr.toString()]).toEqual([
      3,
      expect.stringContaining(`warning: sounds/${PLAYER}.mp3 is missing: its sound is left out\n`),
    ]);
    expect(await readdir(nights)).toContain(today);
    expect(await readdir(nights)).not.toContain('community-2026-01-02.tar.gz');
  });

  test('restore brings every row and sound into an external database', async () => {
    const restored = await external.cli('restore', backup);
    expect(restored).toMatchObject({ code: 0 });
    expect(restored.stderr).toContain('checking');
    await expectSame(embedded, external);
  });

  test('tokens, sounds and new rows work there', async () => {
    const port = String(findFreePort());
    const service = startProgram('src/main.ts', {
      ...external.env,
      HOST: '127.0.0.1',
      PORT: port,
      ROLES: 'api',
    });
    try {
      await service.waitFor('HTTP server listening');
      const origin = `http://127.0.0.1:${port}`;
      const headers = { Authorization: `Bearer ${token}` };
      expect((await fetch(`${origin}/api/v1/penalties`, { headers })).status).toBe(200);
      const sound = await fetch(`${origin}/storage/roundsound/${PLAYER}.mp3`);
      expect(Bun.hash(await sound.bytes())).toBe(
        Bun.hash(await readFile(join(external.published, `${PLAYER}.mp3`))),
      );
      // The folder is recognised as that of the database.
      expect(service.stdout()).not.toContain('STORAGE_DIR is not the folder');

      // A service that runs is not harmed.
      expect(await external.cli('restore', backup, '--replace', '--yes')).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /\nThe service, or another command, is using the database \(.*community-api.*\): stop it/,
        ),
      });
      expect((await fetch(`${origin}/api/v1/penalties`, { headers })).status).toBe(200);
    } finally {
      service.kill('SIGINT');
      await service.exited;
    }
    const added = await external.cli('servers', 'add', '--name', 'New', '--address', '127.0.0.1:27999');
    expect(added).toMatchObject({ code: 0 });
  });

  test('a database that is not empty is replaced only when asked for, and the way back works', async () => {
    const again = join(folder, 'external.tar.gz');
    expect(await external.cli('backup', again)).toMatchObject({ code: 0 });
    const before = await readPlace(embedded);
    expect(await embedded.cli('restore', again)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /\nThe database is not empty \(.*penalties: 2.*\): use --replace to replace everything in it\n$/,
      ),
    });
    expect(await embedded.cli('restore', again, '--replace')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("Without a terminal this can't be confirmed: use --yes\n"),
    });
    expect(await readPlace(embedded)).toEqual(before);

    const replace = () => embedded.cli('restore', again, '--replace', '--yes');
    expect(await replace()).toMatchObject({ code: 0 });
    await expectSame(external, embedded);

    expect(await embedded.cli('users', 'erase', PLAYER, '--penalties', '--yes')).toMatchObject({ code: 0 });
    expect(await replace()).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        'erased again, because they were erased here after this backup was made: 1\n',
      ),
    });
    expect(await readPublished(embedded)).toEqual([]);
  });

  test('an older schema is restored, and migrated afterwards', async () => {
    const older = join(folder, 'older.tar.gz');
    await writeOlderBackup(older);
    const target = openPlace('newer');
    expect(await target.cli('restore', older)).toMatchObject({ code: 0 });
    const { rows } = await readPlace(target);
    expect(rows.users?.length).toBe(2);
    expect(rows.player_names?.length).toBeGreaterThan(0);
    expect(await embedded.cli('restore', older, '--replace', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/has an older schema \(6 migrations\) than the database/),
    });
  });

  async function writeOlderBackup(file: string): Promise<void> {
    const { migrateDatabase } = await import('../../../src/db/migrate.ts');
    const { writeBackup } = await import('../../../src/backup/write-backup.ts');
    const admin = connect(system.url, { max: 1 });
    await admin.unsafe('create database older');
    await admin.end();
    const url = new URL(system.url);
    url.pathname = '/older';
    await migrateDatabase(url.href, { upTo: 6 });
    const connection = connect(url.href, { max: 1 });
    await fillEveryTable(connection, await loadTables(connection, 6));
    await connection.end();
    await writeBackup(file, { databaseUrl: url.href, ...(await openSoundsIn(folder, 'older-')) });
  }
});

describe.skipIf(!hasSystemPostgres)('commands that end early', () => {
  test.each<[string, () => Promise<string>, string]>([
    [
      'cut off',
      async () => {
        const broken = join(folder, 'broken.tar.gz');
        const whole = await readFile(backup);
        await writeFile(broken, whole.subarray(0, whole.length / 2));
        return broken;
      },
      'is not complete: it ends too early\n',
    ],
    ['missing', async () => '/nowhere/x.tar.gz', 'There is no file "/nowhere/x.tar.gz"\n'],
  ])('restoring a file that is %s changes nothing', async (name, prepare, reason) => {
    const target = openPlace(`refusing-${name}`);
    const refused = await target.cli('restore', await prepare());
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toEndWith(reason);
    const words = refused.stderr.replace(/^Creating a new database in .*\n/, '').trim();
    expect(words.split('\n').length).toBeLessThanOrEqual(2);
    await target.withDatabase(async (connection) => {
      expect([...(await connection`select from pg_tables where schemaname = 'public'`)]).toEqual([]);
    });
    expect(await readPublished(target)).toEqual([]);
  });

  test('a command that makes a database says where, and an empty one is not backed up', async () => {
    const place = openPlace('unused');
    expect(await place.cli('tokens', 'revoke', '1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Creating a new database in ${place.env.DATA_DIR}\n`),
    });
    const file = join(folder, 'unused.tar.gz');
    expect(await place.cli('backup', file)).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        'There are no users, penalties, servers or sounds to back up: is this the right DATABASE_URL or DATA_DIR?\n',
    });
    expect((await readdir(folder)).filter((name) => name.startsWith('unused.tar'))).toEqual([]);
  });

  test('a backup that is interrupted leaves no file', async () => {
    const file = join(folder, 'interrupted.tar.gz');
    const program = startProgram('src/cli.ts', embedded.env, ['backup', file]);
    await waitForProcess(async () => (await readdir(folder)).some((name) => name.startsWith('interrupted')));
    program.kill('SIGTERM');
    const code = await program.exited;
    const left = (await readdir(folder)).filter((name) => name.startsWith('interrupted'));
    // It may have been complete just before.
    expect([code, left]).toEqual(
      code === 0 ? [0, ['interrupted.tar.gz']] : [143, left.filter((name) => !name.includes('partial'))],
    );
  });
});

/** A database with its folders, and the operator's tool on them. */
type Place = ReturnType<typeof openPlace>;

function openPlace(name: string, databaseUrl?: string) {
  const env: Record<string, string> = {
    DATA_DIR: join(folder, name),
    STORAGE_DIR: join(folder, `${name}-storage`),
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  };
  return {
    env,
    published: join(folder, `${name}-storage/roundsound`),
    cli: (...args: string[]) => runProgram('src/cli.ts', env, args),
    /** Whatever PostgreSQL it is on; for as long as the work takes. */
    withDatabase: async <T>(work: (connection: Connection, url: string) => Promise<T>): Promise<T> => {
      const log = createLogger('silent');
      const embedded = databaseUrl
        ? undefined
        : await startEmbeddedPostgres({ dataDir: env.DATA_DIR ?? '', log });
      const url = databaseUrl ?? embedded?.url ?? '';
      const connection = connect(url, { max: 1 });
      try {
        return await work(connection, url);
      } finally {
        await connection.end();
        await embedded?.stop();
      }
    },
  };
}

/**
 * Everything that people leave behind, by the service's own commands and straight into every table.
 * @returns the API token that was made.
 */
async function fillPlace(place: Place): Promise<string> {
  const sound = join(place.env.DATA_DIR ?? '', '../fanfare.wav');
  await Bun.write(sound, toWav(anAudio({ seconds: 1, shape: sine(440, 0.05) }), 's16'));
  const made = await place.cli('tokens', 'create', '--steamid64', PLAYER, '--name', 'website', '--json');
  expect(made).toMatchObject({ code: 0 });
  const token = /[A-Za-z0-9_-]{30,}/.exec(made.stdout)?.[0] ?? '';
  expect(await place.cli('sounds', 'add', '--steamid64', PLAYER, sound)).toMatchObject({ code: 0 });
  await place.withDatabase(async (connection) => {
    const tables = await loadTables(connection);
    await connection`delete from audit_log`;
    await fillEveryTable(connection, tables);
    const rows = await readEveryTable(connection, tables);
    expect(Object.entries(rows).filter(([, lines]) => lines.length === 0)).toEqual([]);
  });
  return token;
}

/** All that a database holds. */
async function readPlace(place: Place) {
  return place.withDatabase(async (connection, url) => {
    const tables = await loadTables(connection);
    const rows = await readEveryTable(connection, tables);
    return { tables, rows, tallies: await checkPenaltyTallies(url) };
  });
}

/** Every row but the epoch of events, which is another one after a restore, and later backups. */
function withoutEpoch(rows: Record<string, string[]>) {
  const { penalty_event_state: state = [], settings = [], ...others } = rows;
  const lasting = settings.filter((line) => !line.includes('"backup.last"'));
  return { ...others, settings: lasting, state: state.map((line) => line.replace(/"epoch":"[^"]*"/, '')) };
}

/** The published files, as name and hash. */
async function readPublished({ published }: Place) {
  const names = (await readdir(published)).filter((name) => name.endsWith('.mp3')).sort();
  return Promise.all(names.map(async (name) => [name, Bun.hash(await readFile(join(published, name)))]));
}

/** Expects that a backup of the one was restored into the other. */
async function expectSame(from: Place, to: Place): Promise<void> {
  const [before, after] = [await readPlace(from), await readPlace(to)];
  expect(withoutEpoch(after.rows)).toEqual(withoutEpoch(before.rows));
  expect(after.rows.penalty_event_state).not.toEqual(before.rows.penalty_event_state);
  expect(after.tallies).toEqual({ tallies: before.tallies.tallies, wrong: 0 });
  expect(await readPublished(to)).toEqual(await readPublished(from));
}
