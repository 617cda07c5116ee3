import { expect, test } from 'bun:test';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import { connect } from '../../../src/db/client.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { aPenalty, insertPenalties } from '../../support/builders.ts';
import { createTestDatabase } from '../../support/database.ts';
import { tallyDifferences } from '../../support/tallies.ts';

const { db, connection } = await createTestDatabase();

const FIRST = '1971-01-01T00:00:00+00';
const LAST = '9999-12-31T23:59:59+00';

test('nobody can write a time outside the years 1971 to 9999', async () => {
  const [row] = await insertPenalties(db, [aPenalty()]);
  const id = row?.id ?? 0;
  for (const column of ['created_at', 'ends_at', 'lifted_at']) {
    const set = (time: string) =>
      connection`update penalties set ${connection(column)} = ${time}::text::timestamptz where id = ${id}`;
    for (const time of [FIRST, LAST]) await set(time);
    for (const time of [
      'infinity',
      '-infinity',
      '10000-01-01T00:00:00+00',
      '1970-12-31T23:59:59.999+00',
      '0044-03-15 BC',
    ]) {
      await expect(set(time)).rejects.toThrow('violates check constraint "penalties_times"');
    }
  }
});

test('whoever writes, times are kept in whole seconds, cut as lists show them', async () => {
  const at = (milliseconds: number) => new Date(Date.UTC(2026, 10, 30, 23, 59, 59, milliseconds));
  const times = { createdAt: at(999), endsAt: at(500), liftedAt: at(1) };
  const [row] = await insertPenalties(db, [{ serverId: 8, ...times }]);
  expect([row?.createdAt, row?.endsAt, row?.liftedAt]).toEqual([at(0), at(0), at(0)]);
  const [updated] =
    await connection`update penalties set created_at = ${at(700).toISOString()}::text::timestamptz,
    lifted_at = null where id = ${row?.id ?? 0} returning created_at::text, ends_at::text, lifted_at`;
  expect(updated).toEqual({
    created_at: '2026-11-30 23:59:59+00',
    ends_at: '2026-11-30 23:59:59+00',
    lifted_at: null,
  });
  expect(await tallyDifferences(connection)).toEqual([]);
});

test('a database that holds other times is brought to them, and its totals stay exact', async () => {
  const { url } = await createTestDatabase({ isMigrated: false });
  await migrateBefore(url, '0008_penalty_times');
  const old = connect(url, { max: 1 });
  try {
    await old`insert into penalties (type, status, player_steamid, admin_steamid, duration_minutes, created_at, ends_at, lifted_at)
      values ('ban', 'ACTIVE', 1, 0, 60, '2026-11-21 10:00:00.999+00', '2026-11-21 11:00:00.999+00', null),
        ('ban', 'ACTIVE', 1, 0, 60, '2026-11-21 10:00:00+00', 'infinity', null),
        ('ban', 'EXPIRED', 1, 0, 60, '-infinity', '13083-01-01 00:00:00+00', null),
        ('mute', 'UNBANNED', 0, 0, 0, '1969-07-20 20:17:40+00', null, '2026-01-01 00:00:00.5+00'),
        ('gag', 'EXPIRED', 1, 0, 60, '13083-01-01 00:00:00+00', '0001-01-01 BC', '-infinity'),
        ('warn', 'ACTIVE', 1, 0, 0, '2026-11-21 10:00:00+00', null, null)`;
    await migrateDatabase(url);
    const rows =
      await old`select created_at::text, ends_at::text, lifted_at::text from penalties order by id`;
    const [first, last] = ['1971-01-01 00:00:00+00', '9999-12-31 23:59:59+00'];
    expect([...rows]).toEqual([
      { created_at: '2026-11-21 10:00:00+00', ends_at: '2026-11-21 11:00:00+00', lifted_at: null },
      { created_at: '2026-11-21 10:00:00+00', ends_at: last, lifted_at: null },
      { created_at: first, ends_at: last, lifted_at: null },
      { created_at: first, ends_at: null, lifted_at: '2026-01-01 00:00:00+00' },
      { created_at: last, ends_at: first, lifted_at: first },
      { created_at: '2026-11-21 10:00:00+00', ends_at: null, lifted_at: null },
    ]);
    expect(await tallyDifferences(old)).toEqual([]);
  } finally {
    await old.end();
  }
});

/** Applies the migrations that come before one. */
async function migrateBefore(url: string, tag: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'community-api-test-'));
  const connection = connect(url, { max: 1 });
  try {
    await cp('src/db/migrations', folder, { recursive: true });
    const journal = join(folder, 'meta', '_journal.json');
    const told = JSON.parse(await readFile(journal, 'utf8'));
    const end = told.entries.findIndex((entry: { tag: string }) => entry.tag === tag);
    expect(end).toBeGreaterThan(0);
    await writeFile(journal, JSON.stringify({ ...told, entries: told.entries.slice(0, end) }));
    await migrate(drizzle(connection), { migrationsFolder: folder });
  } finally {
    await connection.end();
    await rm(folder, { recursive: true, force: true });
  }
}
