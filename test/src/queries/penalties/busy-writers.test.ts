import { beforeEach, expect, test } from 'bun:test';
import { inTransaction } from '../../../../src/db/client.ts';
import { lockPenalties } from '../../../../src/db/locks.ts';
import { settleAppeals } from '../../../../src/queries/appeals/settling.ts';
import { recordExpiredPenalties } from '../../../../src/queries/events.ts';
import { markExpiredPenalties } from '../../../../src/queries/penalties/expiry.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db, connection } = await createTestDatabase();

/** Two bans that ended two hours ago, unnoticed, each with an appeal. */
beforeEach(async () => {
  await connection`truncate penalties, penalty_events, appeals cascade`;
  await connection`
    insert into penalties (type, status, player_name, player_steamid, admin_name, admin_steamid, reason, duration_minutes, server_id,
      created_at, ends_at)
    select 'ban', 'ACTIVE', 'Gracz', 76561198000000000 + n, 'Admin', 76561198000000009, 'Aim', 60, 1,
      date_trunc('second', now()) - interval '3 hours', date_trunc('second', now()) - interval '2 hours' from generate_series(1, 2) n`;
  await connection`update penalty_event_state set expired_up_to = date_trunc('second', now()) - interval '1 day'`;
  await connection`
    insert into appeals (penalty_id, player_steamid, opened_at, wants_messages)
    select id, player_steamid, now() - interval '150 minutes', false from penalties`;
});

test.each([
  ['recording expired penalties', () => recordExpiredPenalties(db, new Date())],
  ['marking expired penalties', () => markExpiredPenalties(db, new Date())],
  ['settling appeals', () => settleAppeals(db, new Date())],
])('%s gives up after two seconds while others write, and is done the next time', async (_, work) => {
  await inTransaction(db, async (tx) => {
    await lockPenalties(tx);
    expect(await work()).toBe(0);
  });
  expect(await work()).toBe(2);
});
