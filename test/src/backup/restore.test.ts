import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { readArchive, writeArchive } from '../../../src/backup/archive.ts';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { connect } from '../../../src/db/client.ts';
import { listTables, MIGRATION_HASHES } from '../../../src/db/migrate.ts';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { findErasure } from '../../../src/queries/personal-data/tombstones.ts';
import { deleteOldRows } from '../../../src/queries/retention.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { erasePlayer } from '../../../src/service/erase-player.ts';
import { aSteamId, insertPenalty, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { loadTables, readEveryTable } from '../../support/database/every-table.ts';
import { findTraces } from '../../support/database/traces.ts';
import {
  type ArchiveEntry,
  consistent,
  declaring,
  packArchive,
  unpackArchive,
} from '../../support/service/archive.ts';
import { insertSoundFile, insertUpload, openSoundsIn, REPLACING } from '../../support/service/backups.ts';
import { createTestFolder } from '../../support/service/program.ts';
import { aToken } from '../../support/service/service.ts';

/** A sound of the backup, and one that it does not have. */
const [FILE, SOUND] = [`sounds/${aSteamId(1)}.mp3`, `sounds/${aSteamId(9)}.mp3`];
const root = createTestFolder();
const { db, connection, url: databaseUrl } = await createTestDatabase();
const { folders, ...files } = await openSoundsIn(root);
const place = { databaseUrl, ...files };
const file = join(root, 'backup.tar.gz');

beforeAll(async () => {
  await insertUser(db, 1);
  await insertSoundFile(db, folders, 1, 'a sound');
  await insertUpload(db, folders, 2, 'an upload');
  await writeBackup(file, place);
  // What a refused restore leaves untouched.
  await insertUser(db, 3);
  await writeFile(join(folders.published, `${aSteamId(1)}.mp3`), 'a later sound');
});

async function readAll() {
  const names = (await readdir(root, { recursive: true })).filter((name) => !name.includes('.tar.gz'));
  return {
    names: names.sort(),
    sound: await readFile(join(folders.published, `${aSteamId(1)}.mp3`), 'utf8'),
    rows: await readEveryTable(connection, await loadTables(connection)),
  };
}

/** An entry that is added before all others. */
const added = (entry: Partial<ArchiveEntry>) => (entries: ArchiveEntry[]) => [
  { name: SOUND, body: Buffer.alloc(0), ...entry },
  ...entries,
];
const altered = (name: string, from: RegExp, to: string) => (entries: ArchiveEntry[]) =>
  entries.map((entry) =>
    entry.name === name ? { ...entry, body: Buffer.from(entry.body.toString().replace(from, to)) } : entry,
  );
const manifest = (from: RegExp, to: string) => altered('manifest.json', from, to);
const USERS = 'tables/users/000001.ndjson';
/** Another first row of a table, which the manifest describes as it is. */
const changedRow =
  (name: string, from: RegExp, to: string): Change =>
  (entries) => {
    const rows = entries.find((entry) => entry.name === name)?.body.toString() ?? '';
    return consistent(name, rows.replace(from, to))(entries);
  };
/** Of a table that is none of ours. */
const FOREIGN_ROWS = 'tables/pg_authid/000001.ndjson';

/** Writes an archive of other bytes than the backup's. @returns its path. */
async function writeChanged(change: (tar: Buffer) => Buffer): Promise<string> {
  const changed = join(root, 'changed.tar.gz');
  await writeFile(changed, gzipSync(change(gunzipSync(await readFile(file)))));
  return changed;
}

type Change = (entries: ArchiveEntry[]) => ArchiveEntry[];

/** Expects that the changed archive is refused for this reason, and that folders and rows stay as they are. */
async function expectRefusal(change: Change, reason: string): Promise<void> {
  const before = await readAll();
  const broken = await writeChanged((tar) => packArchive(change(unpackArchive(tar))));
  const restoring = restoreBackup(broken, place, REPLACING);
  const message = await restoring.then(String, (error) => [error.constructor, error.message]);
  expect(message).toEqual([InvalidInput, `${broken} ${reason}`]);
  expect(await readAll()).toEqual(before);
}

const NOT_REGULAR = 'it has an entry that is not a regular file';
test.each<[string, Change, string]>([
  ['a symbolic link', added({ type: '2', linkName: '/etc/passwd' }), NOT_REGULAR],
  ['a hard link', added({ type: '1', linkName: SOUND }), NOT_REGULAR],
  ['an extended header', added({ type: 'x', body: Buffer.from('12 path=a/b\n') }), NOT_REGULAR],
  [
    'another size in the manifest',
    manifest(/"sizeBytes": 7,/, '"sizeBytes": 8,'),
    `${FILE} is not what its manifest says`,
  ],
  [
    'other rows than its manifest says',
    altered(USERS, /"is_admin":(true|false)/, '"is_admin":null'),
    `${USERS} is not what its manifest says`,
  ],
  [
    'a table of PostgreSQL itself',
    consistent(FOREIGN_ROWS, '{"rolname":"intruder","rolsuper":true}\n', ({ tables }) =>
      tables.push({ name: 'pg_authid', rows: 1 }),
    ),
    'its schema and its manifest do not have the same tables (pg_authid)',
  ],
  ['rows of an unlisted table', consistent(FOREIGN_ROWS, '{}\n'), 'its manifest does not list pg_authid'],
  ['too few rows', consistent(USERS, ''), 'it has 0 rows of users, and its manifest says 1'],
  [
    'a row that is no JSON',
    consistent(USERS, '{"id":1,\n'),
    `line 1 of ${USERS}: invalid input syntax for type json`,
  ],
  [
    'a row of a wrong type',
    (entries) => {
      const user = entries.find(({ name }) => name === USERS)?.body.toString() ?? '';
      const wrong = user.replace(/(?<="created_at":)"[^"]*"/, '"a\\nb"');
      return consistent(USERS, `${user}${wrong}`, ({ tables }) => {
        for (const table of tables) if (table.name === 'users') table.rows = 2;
      })(entries);
    },
    `line 2 of ${USERS}: invalid input syntax for type timestamp with time zone: "a\\nb"`,
  ],
  [
    'a row without a column',
    changedRow(USERS, /"nickname":"[^"]*",/, ''),
    `line 1 of ${USERS} has other columns`,
  ],
  [
    'a row that has a column twice',
    changedRow(USERS, /^\{/, '{"is_owner":true,'),
    `line 1 of ${USERS} has other columns`,
  ],
  [
    'a time at infinity',
    changedRow(USERS, /(?<="created_at":)"[^"]*"/, '"-infinity"'),
    'users has a row whose created_at is not finite',
  ],
  [
    'a loudness that is no number',
    changedRow('tables/round_sounds/000001.ndjson', /(?<="loudness_before_lufs":)[^,]*/, '"NaN"'),
    'round_sounds has a row whose loudness_before_lufs is not finite',
  ],
  [
    'a user whose flags are not those in user_flags',
    changedRow(USERS, /"is_owner":false/, '"is_owner":true'),
    `the flags of user ${aSteamId(1)} are not those in user_flags`,
  ],
  ['another sound', consistent(FILE, 'another'), `${FILE} is missing, or is not the file of its row`],
  ['a sound that no row names', consistent(SOUND, 'another'), `no row names ${SOUND}`],
  ['an entry twice', added({ name: USERS }), `it has ${USERS} twice`],
  ['a sound of 5 MB', added({ body: Buffer.alloc(5 * 1024 * 1024) }), `${SOUND} is larger than 4 MB`],
  [
    'an entry after the manifest',
    (entries) => [...entries, { name: SOUND, body: Buffer.alloc(0) }],
    'it continues after its manifest',
  ],
])('an archive with %s is refused as altered, and folders and rows are as before', (_, change, reason) =>
  expectRefusal(change, `was altered: ${reason}`),
);

test.each([
  [{ tables: [] }, 'its manifest does not list users'],
  [{ tables: [{}] }, '/tables/0/name of its manifest: Expected required property'],
  [{ takenAt: '2026-19-01T00:00:00.000000+00:00' }, '/takenAt of its manifest: Expected a time'],
  [{ entries: [5] }, '/entries/0 of its manifest: Expected object'],
  [{ entries: {} }, '/entries of its manifest: Expected array'],
  [{ migrations: 5 }, '/migrations of its manifest: Expected array'],
])('an archive whose manifest has %j is refused, and folders and rows are as before', (values, reason) =>
  expectRefusal(declaring(values), `was altered: ${reason}`),
);

const FOREIGN = 'is not a backup of this service';
test.each<[string, Change, string]>([
  ['an upload whose name is no key', added({ name: `uploads/${'-'.repeat(36)}` }), FOREIGN],
  ['a path that leaves its folder', added({ name: 'sounds/../x.mp3' }), FOREIGN],
  ['an unknown file', added({ name: 'x' }), FOREIGN],
  ['a manifest that is no JSON', manifest(/^\{/, '['), FOREIGN],
  [
    'another format',
    manifest(/"formatVersion": 1/, '"formatVersion": 9'),
    'has format 9, and this version reads format 1: use the version that made it (1.1.0-dev)',
  ],
  [
    'the schema of a newer version',
    declaring({ productVersion: '9.9.9', migrations: [...MIGRATION_HASHES, 'x'] }),
    `was made by a newer version (9.9.9): its schema has ${MIGRATION_HASHES.length + 1} migrations, and this version ` +
      `knows ${MIGRATION_HASHES.length}; install that version or a later one`,
  ],
])('an archive with %s is refused, and folders and rows are as before', (_, change, reason) =>
  expectRefusal(change, reason),
);

test('a restore without --replace wants folders that are empty too', async () => {
  const empty = await createTestDatabase();
  const restoring = restoreBackup(
    file,
    { ...place, databaseUrl: empty.url },
    { log: createLogger('silent') },
  );
  await expect(restoring).rejects.toThrow(
    new InvalidInput(
      'The folder of sounds is not empty (sound files: 1, uploads: 1): use --replace to replace everything in it',
    ),
  );
});

test('the same archive without a change is restored', async () => {
  const repacked = await writeChanged((tar) => packArchive(unpackArchive(tar)));
  await restoreBackup(repacked, place, REPLACING);
  expect((await readAll()).sound).toBe('a sound');
});

test('a restore is refused when a service connects while it asks for confirmation', async () => {
  const before = await readAll();
  const service = connect(databaseUrl, { max: 1, owner: '01234567' });
  const confirmLoss = async () => void (await service`select epoch from penalty_event_state`);
  await expect(restoreBackup(file, place, { ...REPLACING, confirmLoss })).rejects.toThrow(
    new InvalidInput(
      'The service, or another command, is using the database (connections: community-api): stop it on every machine, then run restore again',
    ),
  );
  await service.end();
  expect(await readAll()).toEqual(before);
});

describe('a backup that 1.0.0 made on this schema', () => {
  const lacking = (isLacking: (table: string) => boolean): Change => {
    return (entries) => {
      const listing = JSON.parse(entries.at(-1)?.body.toString() ?? '');
      const has = ({ name }: { name: string }) => !isLacking(name.replace(/^tables\/([^/]+)\/.*/, '$1'));
      const changed = {
        productVersion: '1.0.0',
        tables: listing.tables.filter(has),
        entries: listing.entries.filter(has),
      };
      return declaring(changed)(entries.filter(has));
    };
  };

  test('a backup of the tables of 1.0.0 alone is restored, and the other tables are empty', async () => {
    await insertPenalty(db);
    await connection`insert into appeals (penalty_id, player_steamid, opened_at, wants_messages)
      select id, player_steamid, now(), false from penalties limit 1`;
    const first = listTables(6);
    const old = await writeChanged((tar) =>
      packArchive(lacking((name) => listTables().has(name) && !first.has(name))(unpackArchive(tar))),
    );
    await restoreBackup(old, place, REPLACING);
    expect((await readAll()).rows.appeals).toEqual([]);
  });

  test('a backup without one of the tables of 1.0.0 is refused', () =>
    expectRefusal(
      lacking((name) => name === 'steam_bans'),
      'was altered: its schema and its manifest do not have the same tables (steam_bans)',
    ));
});

test('new rows get ids above those of a restored backup, whatever its sequences were', async () => {
  await connection`insert into staff_notes (id, steamid64, text, created_at) overriding system value
    values (41, 1, 'a note', now())`;
  await connection`update penalty_event_state set pruned_up_to = 70`;
  const own = join(root, 'sequences.tar.gz');
  await writeBackup(own, place);
  await connection`delete from staff_notes`;
  await connection`update penalty_event_state set pruned_up_to = 0`;
  await restoreBackup(own, place, REPLACING);
  const [note] =
    await connection`insert into staff_notes (steamid64, text, created_at) values (1, 'b', now()) returning id`;
  await insertPenalty(db);
  const [event] = await connection`select max(id) as id from penalty_events`;
  expect([Number(note?.id), Number(event?.id)]).toEqual([42, 71]);
});

test('triggers work again after a restore', async () => {
  await restoreBackup(file, place, REPLACING);
  const disabled = await connection`select tgname from pg_trigger where not tgisinternal and tgenabled = 'D'`;
  expect([...disabled]).toEqual([]);
});

const TOO_SHORT = 'is not complete: it ends too early';
test.each<[string, (tar: Buffer) => Buffer, string]>([
  ['one block of zeros at its end', (tar) => tar.subarray(0, -512), TOO_SHORT],
  [
    'nothing but its end',
    () => Buffer.alloc(1024),
    'is not a backup of this service, or not complete: it has no manifest',
  ],
  [
    'something after its end',
    (tar) => Buffer.concat([tar, Buffer.from('x')]),
    'was altered: it continues after its end',
  ],
  [
    'a header whose checksum is wrong',
    (tar) => Buffer.concat([tar.subarray(0, 100), Buffer.from('7'), tar.subarray(101)]),
    'is damaged: the checksum of an entry is wrong',
  ],
])('an archive with %s is refused', async (_, change, reason) => {
  const broken = await writeChanged(change);
  await expect(readArchive(broken)).rejects.toThrow(new InvalidInput(`${broken} ${reason}`));
});

/** The same bytes, but one. */
function flip(bytes: Buffer): Buffer {
  const flipped = Buffer.from(bytes);
  const middle = Math.floor(bytes.length / 2);
  flipped.writeUInt8(flipped.readUInt8(middle) ^ 0xff, middle);
  return flipped;
}

test.each<[string, (whole: Buffer) => Buffer, RegExp]>([
  ['that is cut off', (whole) => whole.subarray(0, whole.length / 2), /is not complete: it ends too early$/],
  ['that is empty', () => Buffer.alloc(0), /is not complete: it ends too early$/],
  [
    'that a browser unpacked',
    gunzipSync,
    /is a \.tar that was unpacked, perhaps by a browser: gzip it again$/,
  ],
  [
    'with zeros after its end',
    (whole) => Buffer.concat([whole, Buffer.alloc(1000)]),
    /it continues after its end$/,
  ],
  [
    'of another format',
    () => Buffer.from('PK\u0003\u0004 something else'),
    /is not a backup of this service/,
  ],
  ['with a damaged byte', flip, /is damaged|was altered|ends too early/],
])('a file %s is refused', async (_, spoil, reason) => {
  const broken = join(root, 'changed.tar.gz');
  await writeFile(broken, spoil(await readFile(file)));
  const message = await readArchive(broken).then(String, (error) => [error.constructor, error.message]);
  expect(message).toEqual([InvalidInput, expect.stringMatching(reason)]);
});

test('an archive that an ordinary tool has completed with zeros is read', async () => {
  const padded = await writeChanged((tar) => Buffer.concat([tar, Buffer.alloc(8192)]));
  expect(await readArchive(padded)).toEqual(await readArchive(file));
});

test('a backup is refused at once from where it cannot be read twice', async () => {
  const pipe = join(root, 'pipe');
  await Bun.$`mkfifo ${pipe}`;
  for (const path of [pipe, root]) {
    await expect(restoreBackup(path, place, REPLACING)).rejects.toThrow(
      new InvalidInput(`${path} is not a regular file: a restore reads the backup twice`),
    );
  }
});

test('every table of the database is one of a backup, after those that it references', async () => {
  const tables = await loadTables(connection);
  const rows = await connection`select tablename from pg_tables where schemaname = 'public' order by 1`;
  expect(tables.toSorted()).toEqual(rows.map(({ tablename }) => tablename));
  const references = await connection`
    select conrelid::regclass::text as "from", confrelid::regclass::text as "to" from pg_constraint
    where contype = 'f' and connamespace = 'public'::regnamespace and conrelid <> confrelid`;
  expect(references.filter(({ from, to }) => tables.indexOf(from) < tables.indexOf(to))).toEqual([]);
});

test('a connection that is lost meanwhile is not reported as a failure of the file', async () => {
  const loss = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
  const about = {
    takenAt: '',
    productVersion: '',
    postgresVersion: '',
    migrations: [],
    tables: [],
  };
  // biome-ignore lint/correctness/useYield: it fails before its first entry.
  async function* entries() {
    throw loss;
  }
  await expect(writeArchive(join(root, 'lost.tar.gz'), entries(), about)).rejects.toBe(loss);
  await expect(readArchive(file, { onRows: () => Promise.reject(loss) })).rejects.toBe(loss);
});

describe('people who were erased after a backup', async () => {
  const database = await createTestDatabase();
  const { folders: ownFolders, ...ownFiles } = await openSoundsIn(root, 'erased-');
  const own = { databaseUrl: database.url, ...ownFiles };
  const backup = join(root, 'erased.tar.gz');
  const erase = (number: number, withPenalties: boolean) =>
    erasePlayer(database.db, own.sounds, { steamId64: aSteamId(number), withPenalties, actor: 'operator' });
  const restore = async () => {
    const { erasedAgain, erasedSince } = await restoreBackup(backup, own, REPLACING);
    const users = await database.connection`select steamid64::text as id from users order by 1`;
    return { erasedAgain, erasedSince, members: users.map(({ id }) => id) };
  };
  const listTraces = () =>
    findTraces(database.connection, [ownFolders.published, ownFolders.inbox], [aSteamId(1), aSteamId(2)]);

  beforeEach(async () => {
    await rm(backup, { force: true });
    await database.connection`truncate users, penalties, round_sounds, audit_log, erased_people, settings cascade`;
    for (const number of [1, 2, 3]) {
      await insertUser(database.db, number);
      await aToken(database.db, number, { now: new Date() });
      await insertPenalty(database.db, { playerSteamId: aSteamId(number), adminSteamId: aSteamId(2) });
    }
  });

  test('a restore erases people again, with or without their penalties, and restores none of their sounds', async () => {
    await insertSoundFile(database.db, ownFolders, 1, 'a sound');
    await insertUpload(database.db, ownFolders, 2, 'an upload');
    await insertSoundFile(database.db, ownFolders, 3, 'another sound');
    await writeBackup(backup, own);
    await erase(1, false);
    await erase(2, true);
    const traces = await listTraces();
    for (let time = 1; time <= 2; time++) {
      expect(await restore()).toEqual({ erasedAgain: 2, erasedSince: 0, members: [aSteamId(3)] });
      expect(await listTraces()).toEqual(traces);
      expect((await readdir(ownFolders.published)).filter((name) => name.endsWith('.mp3'))).toEqual([
        `${aSteamId(3)}.mp3`,
      ]);
      expect(await readdir(ownFolders.inbox)).toEqual([]);
    }
  });

  test('a restore keeps the tombstones of people who are not in the backup', async () => {
    await writeBackup(backup, own);
    await insertUser(database.db, 4);
    await erase(4, false);
    expect(await restore()).toMatchObject({ erasedAgain: 0, erasedSince: 0 });
    expect(await findErasure(database.db, aSteamId(4))).toMatchObject({ staysAnonymous: false });
  });

  test('a restore does not erase people who came back between their erasure and the backup', async () => {
    await erase(1, true);
    await insertUser(database.db, 1);
    await writeBackup(backup, own);
    await erase(2, false);
    const members = [aSteamId(1), aSteamId(3)];
    expect(await restore()).toEqual({ erasedAgain: 1, erasedSince: 0, members });
  });

  test('a restore erases people again who came back after their erasure, and sets their new sound aside', async () => {
    await writeBackup(backup, own);
    await erase(1, false);
    await insertUser(database.db, 1);
    await insertSoundFile(database.db, ownFolders, 1, 'a later sound');
    expect(await restore()).toMatchObject({ erasedAgain: 1, members: [aSteamId(2), aSteamId(3)] });
    expect(await findTraces(database.connection, [ownFolders.orphans], ['a later sound'])).toEqual([]);
  });

  test('a restore counts erased people without a tombstone', async () => {
    await writeBackup(backup, own);
    await erase(1, false);
    await erase(2, false);
    await deleteOldRows(database.db);
    expect(await restore()).toMatchObject({ erasedAgain: 2, erasedSince: 0 });
    // As 1.0.0 does an hour after an erasure, and retention after ERASED_KEPT_DAYS.
    await database.connection`delete from erased_people`;
    const members = [aSteamId(1), aSteamId(2), aSteamId(3)];
    expect(await restore()).toEqual({ erasedAgain: 0, erasedSince: 2, members });
  });
});
