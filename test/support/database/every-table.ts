import { sortTables } from '../../../src/backup/tables.ts';
import type { Connection } from '../../../src/db/client.ts';
import { listTables } from '../../../src/db/migrate.ts';

/** Characters that break careless formats. */
const AWKWARD = 'Zażółć "gęślą"\t\\N\\\\n\n{jaźń} 💥 \u0001 ,\'x\'';

/** A value for each type, by row. */
const VALUES: Record<string, (row: number) => string> = {
  int2: (row) => String(row),
  int4: (row) => String(row),
  int8: (row) => String(76_561_198_000_000_000n + BigInt(row)),
  float4: (row) => String(-0.1 * row),
  bool: (row) => String(row % 2 === 0),
  text: (row) => `${AWKWARD}${row}`,
  date: (row) => `2026-0${row}-28`,
  timestamptz: (row) => `2026-0${row}-03 04:05:06.789+02`,
  _timestamptz: (row) => `{2026-0${row}-03 04:05:06.789+02}`,
  jsonb: (row) => JSON.stringify([{ name: AWKWARD, score: row, half: 0.5 }]),
  _int2: (row) => `{${row},-1}`,
  _int4: (row) => `{${row},2147483647}`,
  _int8: (row) => `{${row},9223372036854775807}`,
  _text: (row) => `{"a,${row}","\\"b\\""}`,
};
/** Columns whose constraints ask for special values. */
const OF_COLUMNS: Record<string, (row: number) => string> = {
  'penalty_event_state.is_only': () => 'true',
  'round_sounds.status': () => 'failed',
  'round_sounds.upload_key': (row) => `0190c2a5-7a51-7c52-a6a1-00000000000${row}`,
};
/** Above the ids that the service has assigned before. */
const ROWS = [7, 8];
/** Filled by triggers, or by the service for the moment. */
const DERIVED = ['penalty_tallies', 'penalty_events', 'player_names', 'penalty_event_state'];

/** The tables of the schema after that many migrations, all by default; none references a later one. */
export const loadTables = (connection: Connection, migrations?: number): Promise<string[]> =>
  sortTables(connection, listTables(migrations));

/** Two rows in every table that anybody writes to; what triggers keep follows. */
export async function fillEveryTable(connection: Connection, tables: readonly string[]): Promise<void> {
  for (const table of tables.filter((name) => !DERIVED.includes(name))) {
    const columns = await connection`
      select attname as name, typname as type, typtype = 'e' as "isEnum", (select enumlabel from pg_enum where enumtypid = typelem
          or enumtypid = pg_type.oid order by enumsortorder limit 1) as label, typcategory = 'A' as "isArray",
        (select confrelid::regclass::text from pg_constraint where contype = 'f' and conrelid = attrelid
          and attnum = any(conkey)) as target
      from pg_attribute join pg_type on pg_type.oid = atttypid
      where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`;
    for (const row of ROWS) {
      const values = columns.map(({ name, type, label, isArray }) => {
        const own = OF_COLUMNS[`${table}.${name}`];
        if (own) return own(row);
        if (label !== null) return isArray ? `{${label}}` : label;
        const value = VALUES[type];
        if (!value) throw new Error(`no value for ${table}.${name}, a ${type}`);
        return value(row);
      });
      const places = columns.map(({ type }, index) => `$${index + 1}::text::"${type}"`).join(', ');
      const names = columns.map(({ name }) => `"${name}"`).join(', ');
      await connection.unsafe(
        `insert into "${table}" (${names}) overriding system value values (${places})`,
        values.map(String),
      );
    }
  }
}

/** All rows of these tables, as text in a fixed order. */
export async function readEveryTable(
  connection: Connection,
  tables: readonly string[],
): Promise<Record<string, string[]>> {
  const rows: Record<string, string[]> = {};
  for (const table of tables) {
    const found = await connection.unsafe(
      `select row_to_json(kept)::text as line from "${table}" as kept order by 1`,
    );
    rows[table] = found.map(({ line }) => String(line));
  }
  return rows;
}
