import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { hasTerminal, startAtTerminal } from '../../support/machine/terminal.ts';
import { insertSoundFile, openSoundsOf, REPLACING } from '../../support/service/backups.ts';
import { createTestFolder, runProgram, startProgram } from '../../support/service/program.ts';
import { waitForProcess } from '../../support/wait.ts';

const FILE = `${aSteamId(1)}.mp3`;
const root = createTestFolder();
const [from, to] = [await createTestDatabase(), await createTestDatabase()];
const dirs = (name: string) => ({
  dataDir: join(root, name),
  storageDir: join(root, `${name}-storage`),
});
const source = await openSoundsOf(dirs('from'));
const file = join(root, 'backup.tar.gz');

beforeAll(async () => {
  await insertSoundFile(from.db, source.folders, 1, 'a sound');
  await writeBackup(file, { databaseUrl: from.url, ...source });
  // As before a replacement.
  await insertUser(to.db, 2);
  await to.close({ timeoutSeconds: 1 });
});

test.each(['cut', 'cut-before-response'] as const)(
  'nothing starts after a restore was interrupted at its commit (%s), until it is repeated',
  async (how) => {
    const { dataDir, storageDir } = dirs(how);
    const { folders: target, ...files } = await openSoundsOf(dirs(how));
    await writeFile(join(target.published, FILE), 'an earlier sound');
    const proxy = await startDatabaseProxy(to.url);
    const onStep = (step: string) => step === 'restoring' && proxy.failAt('commit\0', how);
    const place = { databaseUrl: proxy.url, ...files };
    await expect(restoreBackup(file, place, { ...REPLACING, onStep })).rejects.toThrow('CONNECTION');

    const folders = { DATA_DIR: dataDir, STORAGE_DIR: storageDir };
    const env = { DATABASE_URL: to.url, ...folders, HOST: '127.0.0.1', PORT: '0' };
    const mark = join(storageDir, '.restoring');
    const refusal = `A restore is running, or was interrupted (${mark}): run restore again\n`;
    const runs: [string, string[]][] = [
      ['src/main.ts', []],
      ['src/cli.ts', ['servers', 'list']],
      ['src/cli.ts', ['backup', join(root, 'none.tar.gz')]],
    ];
    for (const [program, args] of runs) {
      expect(await runProgram(program, env, args)).toMatchObject({ code: 1, stderr: refusal });
    }

    // Of a restore that was killed earlier.
    await Bun.write(join(target.published, '.restore', FILE), 'a part of a sound');
    const again = await runProgram('src/cli.ts', env, ['restore', file]);
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^Restored .*\n$/)]);
    expect(await readdir(target.published)).toEqual([FILE]);
    expect(await readFile(join(target.published, FILE), 'utf8')).toBe('a sound');
    const [aside = '', ...others] = await readdir(target.orphans);
    expect(others).toEqual([]);
    expect(await readFile(join(target.orphans, aside), 'utf8')).toBe('an earlier sound');
    expect(existsSync(mark)).toBe(false);

    const listed = await runProgram('src/cli.ts', env, ['sounds', 'list', '--json']);
    expect([listed.code, JSON.parse(listed.stdout).length]).toEqual([0, 1]);
  },
);

describe('a restore of many rows', () => {
  const many = join(root, 'many.tar.gz');
  beforeAll(async () => {
    await from.connection`insert into staff_notes (steamid64, text, created_at)
      select 76561198000000001, repeat(md5(n::text), 20), now() from generate_series(1, 100000) as n`;
    await writeBackup(many, { databaseUrl: from.url, ...source });
  });

  function openPlace(name: string) {
    const { dataDir, storageDir } = dirs(name);
    const env = { DATA_DIR: dataDir, STORAGE_DIR: storageDir };
    return {
      env,
      isMarked: () => existsSync(join(storageDir, '.restoring')),
      isRunning: () => existsSync(join(dataDir, 'postgres/postmaster.pid')),
      listSounds: () => readdir(join(storageDir, 'roundsound')),
      restore: () => startProgram('src/cli.ts', env, ['restore', many]),
    };
  }

  test.each([
    ['SIGHUP', 129],
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'a restore ended by %s leaves neither its mark, sounds nor a database server',
    async (signal, code) => {
      const place = openPlace(signal);
      const program = place.restore();
      await waitForProcess(place.isMarked);
      program.kill(signal);
      // A shell and its terminal each send a hangup.
      if (signal === 'SIGHUP') program.kill(signal);
      expect(await program.exited).toBe(code);
      expect([place.isMarked(), place.isRunning(), await place.listSounds()]).toEqual([false, false, []]);
    },
  );

  test.skipIf(!hasTerminal)('a restore whose terminal is closed leaves nothing', async () => {
    const place = openPlace('closed');
    const program = startAtTerminal(`bun src/cli.ts restore ${many}`, place.env);
    await waitForProcess(place.isMarked);
    program.hangUp();
    await waitForProcess(() => !place.isMarked() && !place.isRunning());
  });

  test('a restore that was killed is finished by running it again', async () => {
    const place = openPlace('killed');
    const killed = place.restore();
    await waitForProcess(place.isMarked);
    killed.kill('SIGKILL');
    await killed.exited;
    expect(place.isMarked()).toBe(true);
    const again = place.restore();
    expect([await again.exited, again.stdout()]).toEqual([0, expect.stringMatching(/^Restored .*\n$/)]);
    expect([place.isMarked(), place.isRunning(), await place.listSounds()]).toEqual([false, false, [FILE]]);
  });
});

test('a killed backup leaves no archive, and its links are removed at the next start', async () => {
  const env = {
    DATABASE_URL: from.url,
    DATA_DIR: dirs('from').dataDir,
    STORAGE_DIR: dirs('from').storageDir,
  };
  const listLinks = async () =>
    (await readdir(env.STORAGE_DIR)).filter((name) => name.startsWith('.backup-'));
  const target = join(root, 'killed.tar.gz');
  const killed = startProgram('src/cli.ts', env, ['backup', target]);
  await waitForProcess(async () => (await listLinks()).length > 0);
  killed.kill('SIGKILL');
  await killed.exited;
  expect([existsSync(target), await listLinks()]).toEqual([false, [expect.any(String)]]);

  const service = startProgram('src/main.ts', {
    ...env,
    HOST: '127.0.0.1',
    ROLES: 'media',
    HEALTH_PORT: '0',
  });
  await waitForProcess(async () => (await listLinks()).length === 0);
  service.kill('SIGTERM');
  expect(await service.exited).toBe(0);
});

test('a restore that fails while it places the sounds is finished by running it again', async () => {
  const places = dirs('obstructed');
  const { folders: target, ...files } = await openSoundsOf(places);
  const mark = join(places.storageDir, '.restoring');
  const empty = await createTestDatabase();
  const restore = () => restoreBackup(file, { databaseUrl: empty.url, ...files }, REPLACING);
  // A folder in place of the file.
  await mkdir(join(target.published, FILE, 'x'), { recursive: true });
  await expect(restore()).rejects.toThrow();
  expect(existsSync(mark)).toBe(true);
  await rm(join(target.published, FILE), { recursive: true });
  await restore();
  expect(await readFile(join(target.published, FILE), 'utf8')).toBe('a sound');
  expect(existsSync(mark)).toBe(false);
});
