import { expect, setDefaultTimeout, test } from 'bun:test';
import pino from 'pino';
import { openDatabase } from '../../../../src/db/database.ts';
import { usedNonces } from '../../../../src/db/schema/accounts.ts';
import { auditLog } from '../../../../src/db/schema/audit-log.ts';
import { startRetention } from '../../../../src/service/parts/retention.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { waitFor } from '../../../support/wait.ts';

setDefaultTimeout(60_000);

const { db, connection, url } = await createTestDatabase();

test('a process that has lost the lease deletes nothing any more', async () => {
  const old = new Date('2020-01-01T00:00:00Z');
  await db.insert(auditLog).values({ at: old, action: 'server.added', subject: 'x' });
  await db.insert(usedNonces).values({ nonce: 'old', expiresAt: old });
  const lines: { msg: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const database = openDatabase(url);
  const held = Promise.withResolvers<void>();
  const isLocked = Promise.withResolvers<void>();
  const holding = connection.begin(async (transaction) => {
    await transaction`lock table audit_log in access exclusive mode`;
    isLocked.resolve();
    await held.promise;
  });
  await isLocked.promise;
  const stop = startRetention(database, log).stop;
  await waitFor(async () => {
    const [row] = await connection`
      select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%audit_log%'`;
    return row?.waiting > 0;
  });
  // As another process would after this one was suspended; it keeps the lease for the rest of the test.
  await connection`
    update leases set token = token + 1, holder = 'another', expires_at = now() + interval '5 seconds'
    where name = 'retention'`;
  held.resolve();
  await holding;
  await waitFor(() => lines.some(({ msg }) => msg === 'deleting old rows failed: retrying'));
  expect(await db.select().from(auditLog)).toEqual([]);
  expect(await db.select({ nonce: usedNonces.nonce }).from(usedNonces)).toEqual([{ nonce: 'old' }]);
  await stop();
  await database.close();
});
