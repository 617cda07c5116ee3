import { test } from 'bun:test';
import pino from 'pino';
import { openLeaders } from '../../../src/db/leader.ts';
import { auditLog } from '../../../src/db/schema/accounts.ts';
import { startRetention } from '../../../src/service/sync.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { waitFor } from '../../support/wait.ts';

const { db, url } = await createTestDatabase();

test('deletes old rows once it leads', async () => {
  await db.insert(auditLog).values({ at: new Date('2020-01-01'), action: 'server.added', subject: 'x' });
  const log = pino({ level: 'silent' });
  const retention = startRetention({ db, leaders: openLeaders(url, { log }), log });
  await waitFor(async () => (await db.select().from(auditLog)).length === 0);
  await retention.stop();
});
