import { expect, test } from 'bun:test';
import pino from 'pino';
import { openLeaders } from '../../../src/db/leader.ts';
import { auditLog } from '../../../src/db/schema/accounts.ts';
import { startRetention } from '../../../src/service/sync.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { waitFor } from '../../support/wait.ts';

const { db, url, connection } = await createTestDatabase();

test('cleans other tables while one fails, and that one within minutes', async () => {
  const { pruned: before } = await loadState();
  await connection`insert into penalties (type, status, player_steamid, admin_steamid, duration_minutes, created_at)
    values ('ban', 'ACTIVE', 1, 0, 0, now())`;
  await connection`update penalty_events set occurred_at = now() - interval '31 days'`;
  await db.insert(auditLog).values({ at: new Date('2020-01-01'), action: 'server.added', subject: 'x' });
  await connection.unsafe(`create function refuse() returns trigger language plpgsql as $$ begin raise 'broken'; end $$;
    create trigger refuses before delete on audit_log for each row execute function refuse()`);
  const lines: { msg: string; err?: { message: string } }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const retention = startRetention({ db, leaders: openLeaders(url, { log }), log, retryMs: 20 });
  await waitFor(async () => (await loadState()).pruned !== before);
  expect(await db.select().from(auditLog)).toHaveLength(1);
  await connection`drop trigger refuses on audit_log`;
  await waitFor(async () => (await db.select().from(auditLog)).length === 0);
  await retention.stop();
  expect(lines.filter(({ err }) => err)).toMatchObject([
    {
      msg: 'deleting old rows failed: retrying',
      err: { message: expect.stringContaining('old rows of audit_log') },
    },
  ]);
});

async function loadState() {
  const [row] = await connection`select pruned_up_to as pruned from penalty_event_state`;
  return { pruned: row?.pruned };
}

test('deletes old rows once it leads', async () => {
  await db.insert(auditLog).values({ at: new Date('2020-01-01'), action: 'server.added', subject: 'x' });
  const log = pino({ level: 'silent' });
  const retention = startRetention({ db, leaders: openLeaders(url, { log }), log });
  await waitFor(async () => (await db.select().from(auditLog)).length === 0);
  await retention.stop();
});
