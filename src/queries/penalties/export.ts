import { type SQL, sql } from 'drizzle-orm';
import { type Connection, openDrizzle } from '../../db/client.ts';
import { hasWaitedForLock, LOCKS } from '../../db/locks.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { buildStatement } from '../../db/select.ts';
import { openSnapshot } from '../../db/snapshot.ts';
import { LimitReached } from '../../domain/errors.ts';
import type { EventCursor } from '../../domain/event.ts';
import { readEventLog } from '../events.ts';
import { filterCondition, filterValues, type PenaltyFilter, statusSql } from './filter.ts';
import { OLDEST_FIRST } from './row.ts';

/** All penalties of a filter, from one snapshot. */
export type PenaltyExport = {
  /** The position of the snapshot in the sequence of changes. */
  cursor: EventCursor;
  /** The penalties, oldest first, in batches of some hundreds; read only as fast as they are consumed. */
  records: AsyncGenerator<RecordLines, void>;
  /** Closes the connection and the snapshot, even while a batch is being read. */
  close: () => Promise<unknown>;
};

/** Penalties as JSON objects in UTF-8, each with a line feed after it. */
type RecordLines = { bytes: Uint8Array<ArrayBuffer>; count: number };

const RECORDS_AT_ONCE = 500;
/** Sorting is disabled, since every order has an index: sorting ten million rows would take a minute and as much disk. */
const PLAN_SETTINGS = `set local enable_sort = off; set local enable_incremental_sort = off; set local jit = off`;

/** How long an export waits for the connection of the owner's previous one to be closed. */
const LOCK_LIMIT = '500ms';
/** `Retry-After` for an owner whose other export is still running. */
const RETRY_SECONDS = 10;

/** The error for an owner whose other export is still running. */
export function exportRunning(): LimitReached {
  return new LimitReached('Only one export at a time: your previous one is still running', RETRY_SECONDS);
}

/**
 * Opens an export of all penalties of a filter on a separate connection.
 * @param now the time at which statuses are computed, unless the events up to the cursor report later ends: then the
 * latest time that they cover.
 * @param ownerId who has one export at a time, in whichever process.
 * @throws {LimitReached} while another one of the owner runs · an outage when it does not begin in the request's time.
 */
export async function openPenaltyExport(
  databaseUrl: string,
  filter: PenaltyFilter,
  { ownerId, now }: { ownerId: number; now: Date },
): Promise<PenaltyExport> {
  const { value, connection, close } = await openSnapshot(databaseUrl, async (snapshot) => {
    await lockOwner(snapshot, ownerId);
    await snapshot.unsafe(PLAN_SETTINGS);
    return readEventLog(openDrizzle(snapshot));
  });
  const { epoch, newestId, expiredUpTo } = value;
  // Ends that were recorded before the snapshot are not among the changes after the cursor: the records must show
  // them.
  const statusAsOf = new Date(Math.max(now.getTime(), expiredUpTo.getTime()));
  const { text, parameters } = buildStatement(recordsOf(filter), filterValues(filter, statusAsOf));
  const rows = connection.unsafe(text, parameters).raw().cursor(RECORDS_AT_ONCE);
  return { cursor: { epoch, id: newestId }, records: readLines(rows), close };
}

async function lockOwner(snapshot: Connection, ownerId: number): Promise<void> {
  try {
    await snapshot.unsafe(`set local lock_timeout = '${LOCK_LIMIT}'`);
    await snapshot`select pg_advisory_xact_lock(${LOCKS.penaltyExport}, ${ownerId})`;
  } catch (error) {
    throw hasWaitedForLock(error) ? exportRunning() : error;
  }
}

async function* readLines(
  batches: AsyncIterable<readonly (readonly Buffer[])[]>,
): AsyncGenerator<RecordLines, void> {
  for await (const batch of batches) yield joinLines(batch.flat());
}

/** Keeps the bytes: strings would be decoded and encoded again, and leave twice the garbage. */
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

/** PostgreSQL produces the JSON: here it would take the process's single thread ten times as long. */
function recordsOf(filter: PenaltyFilter): SQL {
  return sql`select row_to_json(record)::text from (
    select ${RECORD_COLUMNS} from ${penalties} where ${filterCondition(filter)} order by ${OLDEST_FIRST}
  ) as record`;
}

/** The record of `presentWithLift`, with the status as of the placeholder `now`. */
const RECORD_COLUMNS = sql`
  ${penalties.type} as penalty_type, ${penalties.id} as id, ${penalties.playerName} as player_name,
  ${penalties.playerSteamId}::text as player_steamid, ${penalties.adminName} as admin_name,
  ${penalties.adminSteamId}::text as admin_steamid, ${penalties.reason} as reason, ${penalties.durationMinutes} as duration,
  ${statusSql(sql`(select ${sql.placeholder('now')}::timestamptz)`)} as status, ${penalties.serverId} as server_id,
  ${penalties.createdAt} as created, ${penalties.endsAt} as ends,
  case when ${penalties.status} = 'UNBANNED' then (select row_to_json(lift) from (
    select ${penalties.liftedAt} as at, ${penalties.liftedByName} as admin_name,
      coalesce(${penalties.liftedBySteamId}, 0)::text as admin_steamid, ${penalties.liftReason} as reason
  ) as lift) end as lifted`;
