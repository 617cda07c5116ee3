import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { connect as dial } from 'node:net';
import { sql } from 'drizzle-orm';
import { isDatabaseOutage, openDatabase } from '../../../src/db/client.ts';
import { listPenalties } from '../../../src/queries/penalties.ts';
import { insertPenalties } from '../../support/builders.ts';
import { createTestDatabase } from '../../support/database.ts';

const primary = await createTestDatabase();
const replica = await createTestDatabase();

async function databaseReadFrom(database: ReturnType<typeof openDatabase>): Promise<unknown> {
  const [row] = await database.reader.execute(sql`select current_database() as name`);
  return row?.name;
}

test('lists are read from a replica once it answers, and from the primary while none does', async () => {
  const name = (url: string) => new URL(url).pathname.slice(1);
  const dead = 'postgres://nobody@127.0.0.1:1/none';
  const database = openDatabase(primary.url, { replicaUrls: [dead, replica.url], max: 2 });
  expect(await databaseReadFrom(database)).toBe(name(primary.url));
  const deadline = Date.now() + 5000;
  while ((await databaseReadFrom(database)) !== name(replica.url) && Date.now() < deadline)
    await Bun.sleep(20);
  for (let i = 0; i < 5; i++) expect(await databaseReadFrom(database)).toBe(name(replica.url));
  await database.close({ timeoutSeconds: 1 });
});

test('dates are read alike whatever notation the database is set to', async () => {
  const name = new URL(replica.url).pathname.slice(1);
  await replica.db.execute(sql.raw(`alter database ${name} set datestyle = 'SQL, DMY'`));
  const createdAt = new Date('2026-11-03T10:00:00Z');
  const database = openDatabase(replica.url, { max: 1 });
  await insertPenalties(database.db, [{ createdAt }]);
  const { rows } = await listPenalties(database.db, {}, { page: 1, perPage: 1, now: createdAt });
  expect(rows.map((row) => row.createdAt)).toEqual([createdAt]);
  await database.close({ timeoutSeconds: 1 });
});

test('a socket that is missing is an outage, a file that is missing is none', async () => {
  const failureOf = (work: (settle: (error: unknown) => void) => void) => new Promise<unknown>(work);
  const ofSocket = await failureOf((settle) => dial('/none/.s.PGSQL.5432').once('error', settle));
  const ofFile = await readFile('/none/file').catch((error: unknown) => error);
  expect([ofSocket, ofFile].map((error) => error instanceof Error && 'code' in error && error.code)).toEqual([
    'ENOENT',
    'ENOENT',
  ]);
  expect([isDatabaseOutage(ofSocket), isDatabaseOutage(ofFile)]).toEqual([true, false]);
});
