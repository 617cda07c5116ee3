import { afterAll, beforeEach, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { connect } from '../../../src/db/client.ts';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { UPLOAD_NAME } from '../../../src/domain/round-sound.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
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

const { folders, readSound } = await openSoundsIn(root, 'from-');
/** Publishes a file as the media role does: by renaming it over the previous one. */
async function place(text: string): Promise<void> {
  await writeFile(join(folders.published, '.next'), text);
  await rename(join(folders.published, '.next'), join(folders.published, FILE));
}
const backUp = (name: string) => writeBackup(join(root, name), { databaseUrl: from.url, readSound });
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

test('a sound whose file stays another one is named, and no backup is written', async () => {
  await place('another');
  await expect(backUp('differs.tar.gz')).rejects.toThrow(
    new InvalidInput(`sounds/${FILE} is missing, or is not the file of its row: nothing was written`),
  );
  expect((await readdir(root)).filter((name) => name.startsWith('differs.tar'))).toEqual([]);
});
