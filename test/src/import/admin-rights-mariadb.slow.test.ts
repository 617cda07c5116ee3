import { describe, expect, test } from 'bun:test';
import { ADMIN_TABLES, readAdminTables } from '../../support/import/admin-tables.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../support/import/mariadb.ts';

describe.if(await isMariaDbAtHand())('the admins of', () => {
  test.each([...ADMIN_TABLES])('$name, in MariaDB', async ({ system, statements, expected }) => {
    const source = await createTestMariaDb();
    await source.run(statements);
    expect(await readAdminTables(source.url, system)).toEqual(expected);
  });
});
