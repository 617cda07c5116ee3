import { afterAll, describe, expect, test } from 'bun:test';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openDatabase } from '../../src/db/database.ts';
import { SYSTEM_VERSIONS, startFilledPostgres } from '../support/database/system-postgres.ts';
import { startDeployedPrimary } from '../support/docs/deployment.ts';
import { createTestFolder } from '../support/service/program.ts';
import { waitForProcess } from '../support/wait.ts';

describe.skipIf(SYSTEM_VERSIONS.length === 0)('the script of the replica', async () => {
  if (SYSTEM_VERSIONS.length === 0) return;
  const folder = createTestFolder();
  const { primary, copyPrimary } = await startDeployedPrimary(folder);
  const { connection, close } = openDatabase(primary.url, { max: 1 });
  afterAll(() => close({ timeoutSeconds: 1 }));
  const readSlots = async () => [
    ...(await connection`SELECT slot_name, active, wal_status FROM pg_replication_slots`),
  ];

  test('makes folders that the account of the server may enter', async () => {
    const dir = join(folder, '18', 'docker');
    expect(await copyPrimary(dir)).toMatchObject({ code: 0 });
    expect((await stat(dirname(dir))).mode & 0o777).toBe(0o777 & ~process.umask());
    expect(await readSlots()).toEqual([{ slot_name: 'replica', active: false, wal_status: 'reserved' }]);
  });

  test('replaces the slot of an earlier copy when it was lost, but not while a replica uses it', async () => {
    await connection`ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'`;
    await connection`SELECT pg_reload_conf()`;
    await waitForProcess(async () => {
      await connection`SELECT pg_switch_wal(), txid_current()`;
      await connection`CHECKPOINT`;
      return (await readSlots())[0]?.wal_status === 'lost';
    });
    await connection`ALTER SYSTEM RESET max_slot_wal_keep_size`;
    await connection`SELECT pg_reload_conf()`;
    await startFilledPostgres(primary.password, async (dir) =>
      expect(await copyPrimary(dir)).toMatchObject({ code: 0 }),
    );
    await waitForProcess(async () => (await readSlots())[0]?.active === true);
    const { code, output } = await copyPrimary(join(folder, 'second'));
    expect([code, output]).toEqual([1, expect.stringContaining('replication slot "replica" already exists')]);
    expect(await readSlots()).toEqual([{ slot_name: 'replica', active: true, wal_status: 'reserved' }]);
  });
});
