import { errorCode } from '../../domain/error-causes.ts';
import { type Connection, INSTANCE } from '../client.ts';
import type { LEASES } from '../locks.ts';

/** The rows of `leases`. PostgreSQL decides everything, by its own clock. */

export type LeaseName = (typeof LEASES)[number];

/** How long a lease lasts unless it is renewed. */
export const LEASE_SECONDS = 5;

/** Without the second condition, a lease could last for hours after the clock is set back. */
const IS_EXPIRED = `(expires_at <= clock_timestamp()
  or expires_at > clock_timestamp() + interval '${LEASE_SECONDS} seconds')`;
const LOCK_NOT_AVAILABLE = '55P03';
const NEW_EXPIRY = `clock_timestamp() + interval '${LEASE_SECONDS} seconds'`;
/**
 * Also based on the clock: after a failover that lost the last takeover, counting alone would issue its token again.
 */
const NEXT_TOKEN = 'greatest(token + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint)';

export type Renewal = {
  /** Whether another process recently tried to take over. */
  hasStandby: boolean;
};

/** @returns undefined once another process has taken over. */
export async function renewLease(
  session: Connection,
  name: LeaseName,
  token: number,
): Promise<Renewal | undefined> {
  const [row] = await session.unsafe(
    `update leases set expires_at = ${NEW_EXPIRY} where name = $1 and token = $2
     returning coalesce(standby_seen_at > clock_timestamp() - interval '${LEASE_SECONDS} seconds', false) as "hasStandby"`,
    [name, token],
  );
  return row && { hasStandby: row.hasStandby === true };
}

/**
 * Takes a lease that is free or was not renewed in time. The sessions of its old holder are terminated, since one that
 * hangs may hold locks; a holder that released the lease first gets a second to end its transactions.
 * @returns the token, or undefined while another process holds it.
 * @throws {PostgresError} when such a transaction took longer: the next call succeeds.
 */
export async function acquireLease(
  session: Connection,
  name: LeaseName,
  holder: string,
): Promise<number | undefined> {
  await session.unsafe(
    `insert into leases (name, holder, token, expires_at) values ($1, '', 0, '-infinity') on conflict do nothing`,
    [name],
  );
  const [seen] = await session.unsafe(
    `update leases set standby_seen_at = clock_timestamp() where name = $1
     returning token, holder, ${IS_EXPIRED} or holder = $2 as "isFree", expires_at = '-infinity' as "isReleased"`,
    [name, holder],
  );
  if (seen?.isFree !== true) return undefined;
  const endOldSessions = () => endSessions(session, String(seen.holder));
  if (seen.isReleased !== true) await endOldSessions();
  try {
    const { rows } = await session.begin(async (transaction) => {
      // Transactions under the old token have to end first.
      await transaction.unsafe(`set local lock_timeout = '1s'`);
      await transaction.unsafe('select from leases where name = $1 for update', [name]);
      const rows = await transaction.unsafe(
        `update leases set holder = $2, token = ${NEXT_TOKEN}, expires_at = ${NEW_EXPIRY}, standby_seen_at = null
         where name = $1 and token = $3 and (${IS_EXPIRED} or holder = $2) returning token`,
        [name, holder, String(seen.token)],
      );
      return { rows };
    });
    return rows[0] && Number(rows[0].token);
  } catch (error) {
    if (errorCode(error) === LOCK_NOT_AVAILABLE) await endOldSessions();
    throw error;
  }
}

/** Releases a lease, so that another process may take it at once. */
export async function releaseLease(session: Connection, name: LeaseName, token: number): Promise<void> {
  await session.unsafe(`update leases set expires_at = '-infinity' where name = $1 and token = $2`, [
    name,
    token,
  ]);
}

/** Whether nobody has taken over; prevents that until the transaction ends, but allows renewals. */
export async function isTokenCurrent(
  transaction: Pick<Connection, 'unsafe'>,
  name: LeaseName,
  token: number,
): Promise<boolean> {
  const rows = await transaction.unsafe(
    'select 1 from leases where name = $1 and token = $2 for key share',
    [name, token],
    { prepare: true },
  );
  return rows.length > 0;
}

/** Terminates all sessions of the process that held a lease; if that is this process, only those of the lease. */
async function endSessions(session: Connection, holder: string): Promise<void> {
  if (holder === '') return;
  const [instance = ''] = holder.split('.');
  await session.unsafe(
    `select pg_terminate_backend(pid) from pg_stat_activity
     cross join lateral (select substring(application_name from '[^ ]+$') as owner) as named
     where pid <> pg_backend_pid() and datname = current_database() and usename = current_user
       and (owner = $1 or split_part(owner, '.', 1) = $2)`,
    [holder, instance === INSTANCE ? '' : instance],
  );
}
