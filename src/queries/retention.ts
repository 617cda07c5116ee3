import { type SQL, sql } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { prunePenaltyEvents } from './events.ts';
import { LATEST_CHECK, STEAM_BANS_KEPT_MS } from './steam-bans.ts';
import { MAX_SESSION_MS } from './users/sessions.ts';

/** Rows deleted by one statement, which holds its locks for milliseconds. */
const BATCH = 1000;
/** The most ended tokens that are kept per user. */
const ENDED_TOKENS_A_USER = 100;

const HAS_ENDED = sql`least(revoked_at, expires_at) <= now()`;

/** How long tombstones of people whose penalties stay are kept. */
const ERASED_KEPT_DAYS = 35;

/**
 * Which rows of which table are old, by the clock of the database: a process clock that is ahead must not empty a table.
 * Nonces are kept an hour longer, for clocks that differ.
 */
const OLD_ROWS = [
  ['api_tokens', sql`least(revoked_at, expires_at) < now() - interval '90 days'`],
  [
    'api_tokens',
    sql`id in (
      select id from (
        select id, row_number() over (partition by user_id order by id desc) as place from api_tokens
        where ${HAS_ENDED} and user_id in (
          select user_id from api_tokens group by user_id having count(*) > ${ENDED_TOKENS_A_USER}
        )
      ) as ended where place > ${ENDED_TOKENS_A_USER}
    )`,
  ],
  ['appeals', sql`decided_at < now() - interval '1 year' and waits_for is null`],
  ['audit_log', sql`at < now() - interval '1 year'`],
  ['sessions', sql`expires_at <= now() or created_at <= ${ago(MAX_SESSION_MS)}`],
  ['steam_bans', sql`checked_at < ${ago(STEAM_BANS_KEPT_MS)} or checked_at > ${LATEST_CHECK}`],
  ['steam_calls', sql`day < current_date - 7`],
  ['used_nonces', sql`expires_at <= now() - interval '1 hour'`],
] as const satisfies readonly (readonly [string, SQL])[];

type DeletedRows = Record<
  (typeof OLD_ROWS)[number][0] | 'erased_appeals' | 'erased_people' | 'penalty_events',
  number
>;

/**
 * Deletes the rows of {@link OLD_ROWS}, old tombstones, and old events. Several processes may do it at once.
 * @param options.erasedKeptDays how long tombstones of people whose penalties stay are kept, 35 by default.
 * @param options.appealAgainDays `APPEAL_AGAIN_DAYS`; with 0, by default, a denial counts while its penalty is in force.
 * @param options.signal stops it after the current statement.
 * @returns the number of deleted rows by table.
 * @throws {Error} that names the tables that failed, once it has cleaned the others.
 */
export async function deleteOldRows(
  db: Db,
  {
    erasedKeptDays = ERASED_KEPT_DAYS,
    appealAgainDays = 0,
    signal,
  }: { erasedKeptDays?: number | undefined; appealAgainDays?: number | undefined; signal?: AbortSignal } = {},
): Promise<DeletedRows> {
  const isOldErasure = sql`not stays_anonymous and erased_at < now() - make_interval(days => ${erasedKeptDays}::integer)`;
  const againDays = sql`${appealAgainDays}::integer`;
  const isOldLimit = sql`opened_at < now() - interval '1 day' and not (
    exists (
      select from penalties
      where penalties.id = penalty_id and status = 'ACTIVE' and (ends_at is null or ends_at > now())
    ) and (state = 'accepted' or ${againDays} = 0 or decided_at > now() - make_interval(days => ${againDays}))
  )`;
  const oldRows = [...OLD_ROWS, ['erased_people', isOldErasure], ['erased_appeals', isOldLimit]] as const;
  const tables = [...oldRows.map(([table]) => table), 'penalty_events'] as const;
  const deleted = Object.fromEntries(tables.map((table) => [table, 0])) as DeletedRows;
  const failures = new Map<string, unknown>();
  const clean = async (table: keyof DeletedRows, work: () => Promise<number>) => {
    try {
      deleted[table] += await work();
    } catch (error) {
      failures.set(table, error);
    }
  };
  for (const [table, isOld] of oldRows) await clean(table, () => deleteInSteps(db, { table, isOld, signal }));
  await clean('penalty_events', () => prunePenaltyEvents(db, signal));
  if (failures.size === 0) return deleted;
  const [cause] = failures.values();
  throw new Error(`old rows of ${[...failures.keys()].join(', ')} cannot be deleted`, { cause });
}

async function deleteInSteps(
  db: Db,
  { table, isOld, signal }: { table: string; isOld: SQL; signal: AbortSignal | undefined },
): Promise<number> {
  const name = sql.identifier(table);
  let deleted = 0;
  for (let count = BATCH; count === BATCH && !signal?.aborted; deleted += count) {
    // By `ctid`, which is stable while the rows are locked, so that the rows are searched only once.
    ({ count } = await db.execute(sql`
      delete from ${name} where ctid = any (array(
        select ctid from ${name} where ${isOld} limit ${BATCH} for update skip locked
      ))`));
  }
  return deleted;
}

function ago(ageMs: number): SQL {
  return sql`now() - ${ageMs}::double precision * interval '1 millisecond'`;
}
