import { TimeLimitExceeded, withTimeLimit } from '../../runtime/time-limit.ts';
import { type Connection, connect } from '../client.ts';

/** What a server reports about itself. */
export type ServerPosition = {
  isInRecovery: boolean;
  /** Of a primary the current WAL position, of a replica the last replayed one. */
  lsn: bigint;
  /** The same on a primary and its replicas: the database and, where it may be read, the system identifier. */
  identity: string;
  /** When the query was sent, by the monotonic clock. */
  askedAtMs: number;
};

export type ServerProbe = {
  /** @throws {TimeLimitExceeded} after 300 ms; what the driver throws. */
  ask: () => Promise<ServerPosition>;
  close: () => Promise<void>;
};

const RESPONSE_LIMIT_MS = 300;
/** Connecting may take longer than a response; the connection is given up after this and the driver's margin. */
const STATEMENT_TIMEOUT_MS = 1000;

/** Reads the position of a server on a connection of its own, one query at a time. */
export function openServerProbe(url: string): ServerProbe {
  let connection = open();
  let asking: Promise<ServerPosition> | undefined;
  let hasResponded = false;

  function open(): Connection {
    return connect(url, {
      max: 1,
      applicationName: 'replica probe',
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    });
  }

  /** The next query must not wait for one that hangs. */
  function startAnew(): void {
    const lost = connection;
    connection = open();
    asking = undefined;
    hasResponded = false;
    void lost.end({ timeout: 0 }).catch(() => {});
  }

  return {
    ask: async () => {
      asking ??= readPosition(connection);
      const asked = asking;
      try {
        const position = await withTimeLimit(asked, RESPONSE_LIMIT_MS);
        hasResponded = true;
        asking = undefined;
        return position;
      } catch (error) {
        const isConnecting = error instanceof TimeLimitExceeded && !hasResponded;
        if (!isConnecting && asking === asked) startAnew();
        throw error;
      }
    },
    close: () => connection.end({ timeout: 0 }),
  };
}

async function readPosition(connection: Connection): Promise<ServerPosition> {
  const askedAtMs = performance.now();
  const [row] = await connection`
    select pg_is_in_recovery() as "isInRecovery",
      coalesce(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, '0/0')
        - '0/0' as lsn,
      concat_ws(' ', current_database(), case when has_function_privilege('pg_control_system()', 'execute')
        then (select system_identifier from pg_control_system()) end) as identity`;
  return {
    isInRecovery: row?.isInRecovery === true,
    lsn: BigInt(row?.lsn ?? 0),
    identity: String(row?.identity),
    askedAtMs,
  };
}
