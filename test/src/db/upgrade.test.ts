import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { asc } from 'drizzle-orm';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { penaltyEvents } from '../../../src/db/schema/penalties.ts';
import { toPenaltyEvent } from '../../../src/queries/events.ts';
import { checkPenaltyTallies } from '../../../src/queries/penalties/recount.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { fillEveryTable, loadTables } from '../../support/database/every-table.ts';
import { tallyDifferences } from '../../support/database/tallies.ts';

setDefaultTimeout(60_000);

/** Those of 1.0.0. */
const RELEASED_MIGRATIONS = 6;

const { db, connection, url } = await createTestDatabase({ isMigrated: false });

type Tables = Record<string, { columns: string; rows: string[] }>;

async function listColumns(): Promise<[table: string, columns: string][]> {
  const tables = await connection`
    select table_name as name, string_agg(quote_ident(column_name), ', ' order by column_name) as columns
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' group by table_name order by table_name`;
  return tables.map(({ name, columns }) => [name, columns]);
}

/** The rows of tables in these columns, in any order. */
async function readRows(columnsByTable: [table: string, columns: string][]): Promise<Tables> {
  const tables: Tables = {};
  for (const [table, columns] of columnsByTable) {
    const rows = await connection.unsafe(
      `select row_to_json(stored)::text as json from (select ${columns} from "${table}") as stored order by 1`,
    );
    tables[table] = { columns, rows: rows.map(({ json }) => json) };
  }
  return tables;
}

/** Penalties of every type and status, known and unknown players, some of them changed, removed and deleted. */
const PENALTIES = `
  insert into penalties (type, status, player_name, player_steamid, admin_name, admin_steamid, reason, duration_minutes,
    server_id, created_at, ends_at, lifted_at, lifted_by_name, lifted_by_steamid, source, source_table, source_id)
  select (enum_range(null::penalty_type))[1 + n % 5], (enum_range(null::penalty_status))[1 + n % 3], 'Gracz ' || n % 7,
    case when n % 4 = 0 then 0 else 76561198000000000 + n % 7 end, 'Admin', 76561198000000100 + n % 2, 'Aim', n % 3 * 60,
    n % 3, '2026-01-01 00:00:00+00'::timestamptz + n * interval '20 hours', now() + interval '1 day',
    case when n % 3 = 2 then now() end, case when n % 3 = 2 then 'Admin' end, case when n % 3 = 2 then 76561198000000100 end,
    'old', 'bans', n
  from generate_series(1, 200) as n;
  update penalties set reason = 'Wallhack' where id % 10 = 0;
  update penalties set gone_at = now() where id % 50 = 0 and status <> 'ACTIVE';
  delete from penalties where id % 40 = 0`;

let columnsBefore: [table: string, columns: string][] = [];
let before: Tables = {};
beforeAll(async () => {
  await migrateDatabase(url, { upTo: RELEASED_MIGRATIONS });
  columnsBefore = await listColumns();
  await fillEveryTable(connection, await loadTables(connection, RELEASED_MIGRATIONS));
  await connection.unsafe(PENALTIES).simple();
  before = await readRows(columnsBefore);
  await migrateDatabase(url);
});

test('an upgrade keeps every row of 1.0.0, apart from tallies that nothing reads', async () => {
  const after = await readRows(columnsBefore);
  const { penalty_tallies: tallies, ...others } = before;
  const read = tallies?.rows.filter((row) => JSON.parse(row).scope !== 4) ?? [];
  expect(read.length).toBeLessThan(tallies?.rows.length ?? 0);
  expect(after).toEqual({ ...others, penalty_tallies: { columns: tallies?.columns ?? '', rows: read } });
});

test('tallies and events of an upgraded database are complete, and go on', async () => {
  expect(await tallyDifferences(connection)).toEqual([]);
  expect(await checkPenaltyTallies(url)).toMatchObject({ wrong: 0 });
  const count = await db.$count(penaltyEvents);
  await connection`update penalties set lifted_by_steamid = 76561198000000101 where id = 2`;
  await connection`delete from penalties where id = 2`;
  const rows = await db.select().from(penaltyEvents).orderBy(asc(penaltyEvents.id));
  const events = rows.map(toPenaltyEvent);
  expect(events.slice(count).map(({ type, penalty }) => [type, penalty.id, penalty.liftedBySteamId])).toEqual(
    [
      ['penalty.changed', 2, '76561198000000101' as never],
      ['penalty.removed', 2, '76561198000000101' as never],
    ],
  );
  expect(await tallyDifferences(connection)).toEqual([]);
});

test('an upgrade lifts the penalties in force that were removed at their source, silently', async () => {
  const old = await createTestDatabase({ isMigrated: false });
  await migrateDatabase(old.url, { upTo: RELEASED_MIGRATIONS });
  await old.connection.unsafe(PENALTIES).simple();
  await old.connection`update penalties set gone_at = '2026-02-03 04:05:06.7+00' where id in (3, 4, 6)`;
  await old.connection`update penalties set ends_at = now() - interval '1 minute' where id = 6`;
  const [newest] = await old.connection`select max(id) as id from penalty_events`;
  await migrateDatabase(old.url);
  const at = '2026-02-03 04:05:06+00';
  const nobody = { lifted_by_name: null, lifted_by_steamid: null, lift_reason: null };
  const stored =
    await old.connection`select id::integer, status, lifted_at, lifted_by_name, lifted_by_steamid, lift_reason
    from penalties where id in (3, 6) order by id`;
  expect([...stored]).toEqual([
    { id: 3, status: 'UNBANNED', lifted_at: at, ...nobody },
    { id: 6, status: 'ACTIVE', lifted_at: null, ...nobody },
  ]);
  const events =
    await old.connection`select type, is_silent, penalty_id::integer as id, status, lifted_at from penalty_events
    where id > ${newest?.id}`;
  expect([...events]).toEqual([
    { type: 'penalty.changed', is_silent: true, id: 3, status: 'UNBANNED', lifted_at: at },
  ]);
  expect(await tallyDifferences(old.connection)).toEqual([]);
});

/** What 1.0.0 selects and inserts of an event: its columns then. */
const EVENT_OF_1_0_0 = `penalty_id, penalty_type, status, player_name, player_steamid, admin_name, admin_steamid, reason,
  duration_minutes, server_id, created_at, ends_at, lifted_at, lifted_by_name, lifted_by_steamid, lift_reason`;

test('the statements of 1.0.0 still write penalties, record ends and read events', async () => {
  await connection.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(hashtext('penalty_tallies'))`;
    await tx`select set_config('community_api.records', 'on', true)`;
    await tx.unsafe(`
      insert into penalty_events (type, occurred_at, is_silent, ${EVENT_OF_1_0_0})
      select 'penalty.expired', clock_timestamp(), is_old_penalty(created_at, ends_at, lifted_at, now()), id, type, 'EXPIRED',
        player_name, player_steamid, admin_name, admin_steamid, reason, duration_minutes, server_id, created_at, ends_at,
        lifted_at, lifted_by_name, lifted_by_steamid, lift_reason
      from penalties where id = 3`);
  });
  await connection`insert into appeals (penalty_id, player_steamid, opened_at, wants_messages)
    select id, player_steamid, now(), false from penalties where source_id = '7'`;
  await connection`update penalties set status = 'EXPIRED' where status = 'ACTIVE'`;
  await connection`delete from penalties where source_id = '7'`;
  await connection.unsafe(PENALTIES.split(';')[0]?.replace("'old', 'bans', n", "'new', 'bans', n") ?? '');
  const nulls = await connection.unsafe(
    `select count(*)::integer as count from penalty_events where num_nulls(${EVENT_OF_1_0_0.split(', ends_at')[0]}) > 0`,
  );
  expect(nulls[0]?.count).toBe(0);
  expect(await tallyDifferences(connection)).toEqual([]);
});
