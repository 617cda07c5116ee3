import { afterAll } from 'bun:test';
import mysql from 'mysql2/promise';
import type { createTestMariaDb } from './mariadb.ts';

/** The command that commits, as it is sent; settings of a session contain the word too. */
export const COMMIT = '\u0003commit';

type TestMariaDb = Awaited<ReturnType<typeof createTestMariaDb>>;

const GUIDE = await Bun.file('docs/importing.md').text();
/** Rights, table and the name before its prefix, of each GRANT in the guide. */
const GRANTS = [...GUIDE.matchAll(/^GRANT (.+) ON database\.(\w+) TO 'lift'@'%';$/gm)];

/**
 * Two new accounts for a database: one that may read all of it, and one with exactly the rights that the guide grants, as
 * far as the database has the tables and columns.
 */
export async function createLiftAccounts(
  database: TestMariaDb,
): Promise<{ mirrorUrl: string; liftUrl: string }> {
  const name = new URL(database.url).pathname.slice(1);
  const admin = await mysql.createConnection(database.url);
  const [columns] = await admin.query<mysql.RowDataPacket[]>(
    'select table_name as `table`, lower(column_name) as `column` from information_schema.columns where table_schema = ?',
    [name],
  );
  const has = (table: string, column: string) =>
    columns.some((each) => each.table === table && each.column === column.toLowerCase());
  const accountUrl = async (user: string, grants: string[]) => {
    await admin.query(`create user ${user}@'%' identified by 'secret'`);
    for (const grant of grants) await admin.query(`${grant} to ${user}@'%'`);
    afterAll(() => database.run(`drop user if exists ${user}@'%'`));
    return Object.assign(new URL(database.url), { username: user, password: 'secret' }).href;
  };
  const id = crypto.randomUUID().slice(0, 8);
  const rights = GRANTS.flatMap(([, right = '', table = '']) => {
    const existing = right.replace(/\(([^)]+)\)/g, (_, list: string) => {
      // The first releases of IKS misspelled it.
      const names = has(table, 'ubanned_by') ? list.replace('unbanned_by', 'ubanned_by') : list;
      const present = names.split(', ').filter((column) => has(table, column));
      return `(${present.join(', ')})`;
    });
    return columns.some((each) => each.table === table) ? [`grant ${existing} on ${name}.${table}`] : [];
  });
  const urls = {
    mirrorUrl: await accountUrl(`mirror_${id}`, [`grant select on ${name}.*`]),
    liftUrl: await accountUrl(`lift_${id}`, rights),
  };
  await admin.end();
  return urls;
}
