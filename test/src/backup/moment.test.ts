import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { connect } from '../../../src/db/client.ts';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { type SoundEntry, UPLOAD_NAME } from '../../../src/domain/round-sound.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import {
  hash,
  insertSoundFile,
  insertUpload,
  openSoundsIn,
  REPLACING,
  UPLOAD,
} from '../../support/service/backups.ts';
import { createTestFolder } from '../../support/service/program.ts';
import { waitFor } from '../../support/wait.ts';

const PLAYER = aSteamId(1);
const FILE = `${PLAYER}.mp3`;
const root = createTestFolder();
const [from, to] = [await createTestDatabase(), await createTestDatabase()];
const writer = connect(from.url, { max: 1 });
afterAll(async () => {
  await writer.end();
});

const { folders, sounds } = await openSoundsIn(root, 'from-');
/** Publishes a file as the media role does: by renaming it over the previous one. */
async function place(text: string): Promise<void> {
  await writeFile(join(folders.published, '.next'), text);
  await rename(join(folders.published, '.next'), join(folders.published, FILE));
}
const backUp = (name: string) => writeBackup(join(root, name), { databaseUrl: from.url, sounds });
const isBackupIn = async (condition: string) => {
  const [row] = await to.connection.unsafe(
    `select 1 as found from pg_stat_activity where application_name like '%backup%' and datname = $1 and ${condition}`,
    [new URL(from.url).pathname.slice(1)],
  );
  return row?.found === 1;
};

/** The published and queued files after a restore into the other database, with their rows. */
async function restore(name: string) {
  const { folders: target, ...files } = await openSoundsIn(root, `${name}-`);
  await restoreBackup(join(root, name), { databaseUrl: to.url, ...files }, REPLACING);
  const connection = connect(to.url, { max: 1 });
  const rows = await connection`select status, sha256 from round_sounds order by id`;
  await connection.end();
  const upload = join(target.inbox, UPLOAD, UPLOAD_NAME);
  return {
    rows: [...rows],
    published: await readFile(join(target.published, FILE), 'utf8'),
    waiting: existsSync(upload) && (await readFile(upload, 'utf8')),
  };
}

beforeEach(async () => {
  await from.connection`truncate round_sounds`;
  await insertSoundFile(from.db, folders, 1, 'before');
  await mkdir(join(folders.inbox, UPLOAD), { recursive: true });
  await writeFile(join(folders.inbox, UPLOAD, UPLOAD_NAME), 'what was uploaded');
});

const publishRow = () =>
  writer`update round_sounds set sha256 = ${hash('after')} where steamid64 = ${PLAYER}`;
const BEFORE = { status: 'ready', sha256: hash('before') };
const AFTER = { status: 'ready', sha256: hash('after') };

test('a sound whose file is in place before its row is saved with both', async () => {
  await place('after');
  const working = backUp('between.tar.gz');
  await waitFor(() => isBackupIn('true'));
  await publishRow();
  await working;
  const { rows, published } = await restore('between.tar.gz');
  expect([rows, published]).toEqual([[AFTER], 'after']);
});

test('a sound that is published, and an upload that is processed, while the rows are read are those of before', async () => {
  await insertUpload(from.db, folders, 2, 'what was uploaded');
  const { promise: isHeld, resolve: release } = Promise.withResolvers<void>();
  // Rows of users come after the files: the backup waits here, with its snapshot.
  const holding = writer.begin(async (transaction) => {
    await transaction`lock table users in access exclusive mode`;
    await isHeld;
  });
  await waitFor(async () => {
    const [lock] = await to.connection`select 1 from pg_locks where mode = 'AccessExclusiveLock' and granted
      and database = (select oid from pg_database where datname = ${new URL(from.url).pathname.slice(1)})`;
    return lock !== undefined;
  });
  const working = backUp('during.tar.gz');
  await waitFor(() => isBackupIn(`wait_event_type = 'Lock'`));
  await place('after');
  await from.connection`update round_sounds set sha256 = ${hash('after')} where steamid64 = ${PLAYER}`;
  await from.connection`update round_sounds set status = 'failed' where upload_key = ${UPLOAD}`;
  await rm(join(folders.inbox, UPLOAD), { recursive: true });
  release();
  await holding;
  await working;
  expect(await restore('during.tar.gz')).toEqual({
    rows: [BEFORE, { status: 'queued', sha256: null }],
    published: 'before',
    waiting: 'what was uploaded',
  });
});

describe('a broken sound', () => {
  const broken = async (name: string, source = sounds) => {
    await insertSoundFile(from.db, folders, 3, 'a good sound');
    const { lost } = await writeBackup(join(root, name), { databaseUrl: from.url, sounds: source });
    const { folders: target, ...files } = await openSoundsIn(root, `${name}-`);
    await restoreBackup(join(root, name), { databaseUrl: to.url, ...files }, REPLACING);
    const connection = connect(to.url, { max: 1 });
    const rows = await connection`select status, failure from round_sounds order by id`;
    await connection.end();
    return { lost, rows: [...rows], published: await readdir(target.published) };
  };
  const leftOut = (reason: string) => ({
    lost: [{ name: `sounds/${FILE}`, reason }],
    rows: [
      { status: 'failed', failure: 'lost' },
      { status: 'ready', failure: null },
    ],
    published: [`${aSteamId(3)}.mp3`],
  });

  test.each([
    ['was altered', 'is not the file of its row', () => place('another')],
    ['is empty', 'is not the file of its row', () => place('')],
    ['is missing', 'is missing', () => rm(join(folders.published, FILE))],
  ])('a sound that %s is left out of a backup, named, and lost in its row', async (name, reason, spoil) => {
    await spoil();
    expect(await broken(`${name}.tar.gz`)).toEqual(leftOut(reason));
  });

  test('a sound that cannot be read is left out of a backup, with the reason', async () => {
    const denied = Object.assign(new Error('EACCES'), { code: 'EACCES', syscall: 'open' });
    const hold: typeof sounds.backups.hold = async (entries) => {
      const held = await sounds.backups.hold(entries);
      const isOne = (entry: SoundEntry) => entry.kind === 'sound' && entry.fileName === FILE;
      return { ...held, read: (entry) => (isOne(entry) ? Promise.reject(denied) : held.read(entry)) };
    };
    const result = await broken('unreadable.tar.gz', { ...sounds, backups: { ...sounds.backups, hold } });
    expect(result).toEqual(leftOut('cannot be read: permission denied'));
  });
});

test('a sound that is published after every snapshot does not delay a backup', async () => {
  let published = 0;
  const hold: typeof sounds.backups.hold = async (entries) => {
    const held = await sounds.backups.hold(entries);
    published += 1;
    await place('after');
    await publishRow();
    return held;
  };
  const source = { databaseUrl: from.url, sounds: { ...sounds, backups: { ...sounds.backups, hold } } };
  await writeBackup(join(root, 'held.tar.gz'), source);
  expect(published).toBe(1);
  expect(await restore('held.tar.gz')).toEqual({ rows: [BEFORE], published: 'before', waiting: false });
  expect(await readdir(join(folders.published, '..'))).not.toContainEqual(expect.stringContaining('backup'));
});

test('a backup whose links are removed while it runs reads the published files', async () => {
  const hold: typeof sounds.backups.hold = async (entries) => {
    const held = await sounds.backups.hold(entries);
    await sounds.backups.removeLinks();
    return held;
  };
  const source = { databaseUrl: from.url, sounds: { ...sounds, backups: { ...sounds.backups, hold } } };
  expect((await writeBackup(join(root, 'unheld.tar.gz'), source)).lost).toEqual([]);
});

test('a backup without any of its sound files is refused, since the folder may not be mounted', async () => {
  await insertSoundFile(from.db, folders, 3, 'another');
  for (const name of await readdir(folders.published)) await rm(join(folders.published, name));
  await expect(backUp('unmounted.tar.gz')).rejects.toThrow(
    new InvalidInput(
      `None of the 2 sound files can be read (sounds/${FILE} is missing): is STORAGE_DIR the right folder, and mounted?`,
    ),
  );
  expect((await readdir(root)).filter((name) => name.startsWith('unmounted.tar'))).toEqual([]);
});

test('a backup that loses its database session leaves no file', async () => {
  const proxy = await startDatabaseProxy(from.url);
  proxy.failAt('from only "round_sounds"', 'cut');
  const file = join(root, 'cut.tar.gz');
  await expect(writeBackup(file, { databaseUrl: proxy.url, sounds })).rejects.toThrow('CONNECTION');
  expect((await readdir(root)).filter((name) => name.startsWith('cut.tar'))).toEqual([]);
  expect(await readdir(join(folders.published, '..'))).not.toContainEqual(expect.stringContaining('backup'));
});
