import { expect, test } from 'bun:test';
import { type SQL, sql } from 'drizzle-orm';
import { openDatabase } from '../../../../src/db/database.ts';
import { listActivePenalties } from '../../../../src/queries/penalties/active.ts';
import { countsByType } from '../../../../src/queries/penalties/filter.ts';
import { listPenalties } from '../../../../src/queries/penalties/list.ts';
import { aSteamId } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { waitFor } from '../../../support/wait.ts';

/** How PostgreSQL finds the rows of lists; which rows they are is tested beside this. */

const { db, url } = await createTestDatabase();
const now = new Date('2026-11-21T10:00:00Z');
await db.execute(sql`
  insert into penalties (type, status, player_steamid, admin_steamid, server_id, duration_minutes, created_at, ends_at)
  select (enum_range(null::penalty_type))[1 + i % 5], (enum_range(null::penalty_status))[1 + i / 5 % 3],
    ${aSteamId(0)}::bigint + i % 41, ${aSteamId(900)}::bigint + i % 7, i % 4, 60, at, at + (i % 1000) * interval '1 hour'
  from generate_series(1, 6000) as i,
    lateral (select ${now.toISOString()}::timestamptz - i * interval '43 minutes' as at) as created`);
// Rows are visible to all only once the log of their commit is written and nobody has an older snapshot.
await waitFor(async () => {
  await db.execute(sql`vacuum analyze penalties`);
  const [table] = await db.execute<{ isVisible: boolean }>(
    sql`select relallvisible = relpages as "isVisible" from pg_class where oid = 'penalties'::regclass`,
  );
  return table?.isVisible;
});

async function explain(query: SQL): Promise<string> {
  const plan = await db.execute<{ 'QUERY PLAN': string }>(sql`explain ${query}`);
  return plan.map((line) => line['QUERY PLAN']).join('\n');
}

const NEWEST_FIRST = sql`created_at desc, id desc`;
const IS_ACTIVE = sql`status = 'ACTIVE' and (ends_at is null or ends_at > ${now.toISOString()})`;

test.each([
  ['penalties_created', sql`true`],
  ['penalties_server', sql`server_id = 1`],
])('a list sorted by the index %s is walked in that order', async (index, condition) => {
  const plan = await explain(
    sql`select id from penalties where ${condition} order by ${NEWEST_FIRST} limit 50`,
  );
  expect(plan).toContain(`Backward using ${index}`);
});

test.each([
  ['penalties_created', sql`true`, NEWEST_FIRST],
  ['penalties_server', sql`server_id = 1`, NEWEST_FIRST],
  ['penalties_admin', sql`admin_steamid = ${aSteamId(901)}`, NEWEST_FIRST],
  ['penalties_ends', sql`created_at < ${now.toISOString()}`, sql`ends_at desc, id desc`],
])('what a deep page passes is decided in %s, without visiting the rows', async (index, condition, order) => {
  const plan = await explain(
    sql`select created_at, id from penalties where ${condition} and type in ('gag', 'mute') and ${IS_ACTIVE} order by ${order} limit 1`,
  );
  expect(plan).toContain(`Index Only Scan Backward using ${index}`);
});

test.each([
  ["a player's rows are counted", countsByType(sql`type`), sql`true`, 'penalties_player'],
  [
    'whether a player is banned is decided',
    sql`1`,
    sql`type = 'ban' and ${IS_ACTIVE}`,
    'penalties_active_player',
  ],
])('%s in the index, without visiting the rows', async (_, columns, condition, index) => {
  const plan = await explain(
    sql`select ${columns} from penalties where player_steamid = ${aSteamId(2)} and ${condition} limit 1`,
  );
  expect(plan).toContain(`Index Only Scan using ${index}`);
});

test('PostgreSQL plans a page once and not for each value of its filters', async () => {
  const one = openDatabase(url, { max: 1 });
  const lists = [0, 1, 2, 3].flatMap((serverId) => [
    { serverId, status: 'ACTIVE' as const },
    { serverId, playerSteamId: aSteamId(serverId) },
  ]);
  for (const filter of lists) {
    for (let page = 1; page <= 8; page++) await listPenalties(one.db, filter, { page, perPage: 7, now });
  }
  const statements = await one.db.execute<{ customPlans: number }>(sql`
    select custom_plans::int as "customPlans" from pg_prepared_statements where statement like '%penalt%'`);
  await one.close();
  // PostgreSQL plans the first five executions for their values, and then compares the generic plan with those.
  expect(Math.max(...statements.map(({ customPlans }) => customPlans))).toBe(5);
});

test('active penalties are counted as they are read, and not again for each of them', async () => {
  const one = openDatabase(url, { max: 1 });
  await listActivePenalties(one.db, [aSteamId(2)], { limit: 20, now });
  const [statement] = await one.db.execute<{ name: string; parameters: number }>(sql`
    select name, cardinality(parameter_types) as parameters from pg_prepared_statements
    where statement like '%row_number()%' and parameter_types <> '{}'`);
  const nulls = Array(statement?.parameters).fill('null').join(', ');
  const plan = await one.db.execute<{ 'QUERY PLAN': string }>(
    sql.raw(`explain execute "${statement?.name}"(${nulls})`),
  );
  await one.close();
  const text = plan.map((line) => line['QUERY PLAN']).join('\n');
  expect(text).toContain('penalties_active_player');
  expect(text).not.toMatch(/Nested Loop|Join/);
});
