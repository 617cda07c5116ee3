import { afterAll, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { erasePlayer } from '../../../src/service/erase-player.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { openSoundsIn, REPLACING } from '../../support/service/backups.ts';
import { createTestFolder } from '../../support/service/program.ts';

const root = createTestFolder();
afterAll(root.remove);
const { db, connection, url: databaseUrl } = await createTestDatabase();
const files = await openSoundsIn(root.path);
const place = { databaseUrl, ...files };
const erase = (number: number, withPenalties: boolean) =>
  erasePlayer(db, files.sounds, { steamId64: aSteamId(number), withPenalties, actor: 'operator' });
const backUp = async (file: string) => {
  await writeBackup(file, place);
  return file;
};
const restore = (file: string) => restoreBackup(file, place, REPLACING);

beforeEach(async () => {
  await connection`truncate users, audit_log, erased_people cascade`;
  for (const number of [1, 2, 3]) await insertUser(db, number);
});

test('a restore says how many were erased since, of members whose tombstone is deleted too', async () => {
  await erase(1, false);
  const file = await backUp(join(root.path, 'since.tar.gz'));
  await erase(2, true);
  await erase(3, false);
  // As retention does an hour later.
  await connection`delete from erased_people where not stays_anonymous`;
  expect((await restore(file)).erasedSince).toBe(2);
  expect((await restore(file)).erasedSince).toBe(0);
});

test('somebody who came back and was erased again is counted', async () => {
  await erase(1, true);
  await insertUser(db, 1);
  const file = await backUp(join(root.path, 'again.tar.gz'));
  await erase(1, true);
  expect((await restore(file)).erasedSince).toBe(1);
});

test('somebody whose entry in the audit log is deleted is counted while there is a tombstone', async () => {
  const file = await backUp(join(root.path, 'old.tar.gz'));
  await erase(1, true);
  // As retention does a year later.
  await connection`delete from audit_log`;
  expect((await restore(file)).erasedSince).toBe(1);
});
