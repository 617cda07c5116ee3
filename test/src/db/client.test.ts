import { expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { openDatabase } from '../../../src/db/client.ts';
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
