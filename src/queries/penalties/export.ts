import { type SQL, sql } from 'drizzle-orm';
import { connect, openDrizzle } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { buildStatement } from '../../db/select.ts';
import type { EventCursor } from '../../domain/penalty-event.ts';
import { readEventLog } from './events.ts';
import { conditions, isDue, type PenaltyFilter, values } from './filter.ts';
import { OLDEST_FIRST, type Penalty } from './row.ts';

/** All penalties of a filter, of one snapshot. */
export type PenaltyExport = {
  /** Where the changes after the snapshot begin. */
  cursor: EventCursor;
  /** The penalties, oldest first, some hundreds at a time; read as fast as they are asked for. */
  records: AsyncIterator<RecordLines, void>;
  /** Frees the connection and the snapshot, whatever is under way. */
  close: () => Promise<void>;
};

/** Penalties as JSON objects in UTF-8, each with a line feed after it. */
export type RecordLines = { bytes: Uint8Array<ArrayBuffer>; count: number };

const RECORDS_AT_ONCE = 500;

/**
 * Every list can be walked in order by an index: sorting ten million rows would take a minute, and a file of their size.
 * A process that hangs keeps its snapshot for a minute.
 */
const BEGIN = `begin isolation level repeatable read read only;
  set local enable_sort = off; set local enable_incremental_sort = off; set local jit = off; set local timezone = 'UTC';
  set local idle_in_transaction_session_timeout = '60s'`;

/**
 * Begins to read all penalties of a filter over a connection of its own.
 * @param fields what a record's fields are called, in their order.
 * @param now what statuses are judged by.
 */
export async function openPenaltyExport(
  databaseUrl: string,
  filter: PenaltyFilter,
  { fields, now }: { fields: Readonly<Record<string, keyof Penalty>>; now: Date },
): Promise<PenaltyExport> {
  // PostgreSQL counts the pauses of a cursor as well: its time limit on statements would be one on the whole export.
  const connection = connect(databaseUrl, {
    max: 1,
    applicationName: 'export',
    statementTimeoutMs: 0,
    keepsSession: true,
  });
  const close = () => connection.end({ timeout: 0 });
  try {
    await connection.unsafe(BEGIN);
    const { epoch, newestId } = await readEventLog(openDrizzle(connection));
    const { text, parameters } = buildStatement(recordsOf(filter, fields), values(filter, now));
    const rows = connection.unsafe(text, parameters).raw().cursor(RECORDS_AT_ONCE);
    return { cursor: { epoch, id: newestId }, records: readLines(rows), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function* readLines(
  batches: AsyncIterable<readonly (readonly Buffer[])[]>,
): AsyncGenerator<RecordLines, void> {
  for await (const batch of batches) yield joinLines(batch.flat());
}

/** Bytes as they came: as texts they would be read and written once more, and be garbage twice. */
function joinLines(records: readonly Buffer[]): RecordLines {
  const bytes = new Uint8Array(records.reduce((sum, record) => sum + record.length + 1, 0));
  let at = 0;
  for (const record of records) {
    bytes.set(record, at);
    at += record.length;
    bytes[at++] = LINE_FEED;
  }
  return { bytes, count: records.length };
}

const LINE_FEED = 0x0a;

/** PostgreSQL writes the JSON: read and written here, a row would take the process's one thread ten times as long. */
function recordsOf(filter: PenaltyFilter, fields: Readonly<Record<string, keyof Penalty>>): SQL {
  const columns = Object.entries(fields).map(
    ([name, field]) => sql`${shown(field)} as ${sql.identifier(name)}`,
  );
  return sql`select row_to_json(record)::text from (
    select ${sql.join(columns, sql`, `)} from ${penalties} where ${conditions(filter)} order by ${OLDEST_FIRST}
  ) as record`;
}

function shown(field: keyof Penalty): SQL {
  const column = penalties[field];
  if (field === 'status') {
    const now = sql`(select ${sql.placeholder('now')}::timestamptz)`;
    return sql`case when ${isDue(now)} then 'EXPIRED' else ${column} end`;
  }
  // Their numbers exceed what a JSON number holds everywhere.
  return field === 'playerSteamId' || field === 'adminSteamId' ? sql`${column}::text` : sql`${column}`;
}
