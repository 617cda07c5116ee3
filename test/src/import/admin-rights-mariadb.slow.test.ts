import { describe, expect, test } from 'bun:test';
import { ADMIN_TABLES, readAdminTables } from '../../support/import/admin-tables.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../support/import/mariadb.ts';
import { readVipFlags, VIP_FLAGS, VIP_USERS } from '../../support/import/vip-users.ts';

describe.if(await isMariaDbAtHand())('VIPCore', () => {
  test('gives flags to the VIPs of all servers', async () => {
    const source = await createTestMariaDb();
    await source.run(VIP_USERS);
    expect(await readVipFlags(source.url)).toEqual(VIP_FLAGS);
  });
});

describe.if(await isMariaDbAtHand())('the admins of', () => {
  test.each([...ADMIN_TABLES])('$name, in MariaDB', async ({ system, statements, expected }) => {
    const source = await createTestMariaDb();
    await source.run(statements);
    expect(await readAdminTables(source.url, system)).toEqual(expected);
  });
});
