import { afterAll, expect, test } from 'bun:test';
import mysql from 'mysql2/promise';

/** Where tests look for a MariaDB or MySQL they may create databases on; `.ci/run` provides one. */
const SERVER_URL = process.env.TEST_MYSQL_URL ?? 'mysql://root@127.0.0.1:3306';

/**
 * Whether a server answers. Without one the tests that need it say so and are skipped, except under CI, where its
 * absence is a failure.
 */
export async function isMariaDbAtHand(): Promise<boolean> {
  try {
    const connection = await mysql.createConnection({ uri: SERVER_URL, connectTimeout: 2000 });
    await connection.end();
    return true;
  } catch (error) {
    const line = `no MariaDB answers at ${new URL(SERVER_URL).host} (set TEST_MYSQL_URL): ${error}`;
    if (process.env.CI !== 'true') console.warn(`SKIPPED: ${line}`);
    // A test that fails, not a file that cannot be loaded: the test server is stopped all the same.
    else test('a MariaDB is at hand', () => expect.unreachable(line));
    return false;
  }
}

/** A database of the caller's own. */
export async function createMariaDbDatabase() {
  const name = `community_api_test_${process.pid}_${crypto.randomUUID().slice(0, 8)}`;
  const admin = await mysql.createConnection(SERVER_URL);
  await admin.query(`create database ${name} default character set utf8mb4`);
  await admin.end();
  const url = new URL(SERVER_URL);
  url.pathname = `/${name}`;
  const connection = await mysql.createConnection({
    uri: url.href,
    multipleStatements: true,
    charset: 'utf8mb4',
  });
  return {
    url: url.href,
    /** Runs statements, each of which may be several that are separated by semicolons. */
    run: async (...statements: string[]) => {
      const texts = statements.map((text) => text.trim().replace(/;$/, ''));
      await connection.query(texts.filter((text) => text !== '').join(';'));
    },
    /** The rows of a query. */
    read: async (query: string) => (await connection.query<mysql.RowDataPacket[]>(query))[0],
    drop: async () => {
      await connection.query(`drop database ${name}`);
      await connection.end();
    },
  };
}

/** A database that is dropped after the file's tests. @param statements what it is filled with. */
export async function createTestMariaDb(...statements: string[]) {
  const database = await createMariaDbDatabase();
  afterAll(database.drop);
  if (statements.length > 0) await database.run(...statements);
  return database;
}
