import type { Logger } from 'pino';
import type { RecordRequest } from '../../api/http/pipeline.ts';
import type { OnQuery } from '../db/connection/instrument.ts';
import type { Database } from '../db/database.ts';
import type { Leaders } from '../db/leader.ts';
import type { ReplicaState } from '../db/replicas.ts';
import type { ServerList } from '../live/server-list.ts';
import type { ServerStatus } from '../queries/servers/servers.ts';
import { LATENCY_SECONDS, type Metrics } from '../runtime/metrics.ts';

/** Of the pool to the primary. */
export const POOL_GAUGES = [
  ['database_connections_in_use', 'Connections to the primary that run a query or a transaction.', 'inUse'],
  ['database_connections_max', 'Connections that the pool to the primary may have.', 'max'],
  [
    'database_queries_waiting',
    'Queries and transactions that wait for a connection to the primary.',
    'waiting',
  ],
] as const;

/** Of each listed server. */
export const SERVER_GAUGES: [string, string, read: (status: ServerStatus) => number][] = [
  [
    'server_online',
    '1 while a listed server is online, else 0.',
    ({ snapshot }) => (snapshot?.isOnline ? 1 : 0),
  ],
  ['server_players', 'Players on a listed server.', ({ snapshot }) => snapshot?.playersCount ?? 0],
  ['server_max_players', 'Players that fit on a listed server.', ({ snapshot }) => snapshot?.maxPlayers ?? 0],
];

/** Gauges of the database, its replicas, the parts and the game servers, read at each scrape. */
export function addStateMetrics(
  metrics: Metrics,
  { database, serverList, leaders }: { database: Database; serverList: ServerList; leaders: Leaders },
): void {
  for (const [name, help, key] of POOL_GAUGES) metrics.addGauge(name, help, () => database.poolLoad()[key]);
  metrics.addGauges('replica_read', '1 while a read replica is read, else 0.', () =>
    database
      .replicaStates()
      .map(({ name, fault }) => ({ labels: { replica: name }, value: fault === undefined ? 1 : 0 })),
  );
  metrics.addGauges(
    'replica_lag_seconds',
    'The greatest possible age of the data of a read replica; NaN when unknown.',
    () =>
      database
        .replicaStates()
        .map(({ name, lagSeconds = Number.NaN }) => ({ labels: { replica: name }, value: lagSeconds })),
  );
  metrics.addGauges('leader', '1 while this process runs the part, 0 while it waits.', () =>
    leaders.states().map(({ part, isLeader }) => ({ labels: { part }, value: isLeader ? 1 : 0 })),
  );
  metrics.addGauge(
    'servers_online',
    'Listed servers that are online.',
    () => serverList.current().filter(({ snapshot }) => snapshot?.isOnline).length,
  );
  for (const [name, help, read] of SERVER_GAUGES)
    metrics.addGauges(name, help, () =>
      serverList.current().map((status) => ({ labels: { server: status.server.slug }, value: read(status) })),
    );
}

/** Times queries by their names. */
export function createQueryRecorder(metrics: Metrics): OnQuery {
  const time = metrics.addHistogram(
    'database_query_duration_seconds',
    'Time of a query, waiting for a connection included.',
    LATENCY_SECONDS,
    ['query'],
  );
  return (query, seconds) => time(seconds, { query });
}

/** Adds the counter of lookups in caches. @returns for the name of a cache, a function that counts its hits and misses. */
export function createLookupCounter(metrics: Metrics): (cache: string) => (isHit: boolean) => void {
  const count = metrics.addCounter(
    'cache_lookups_total',
    'Lookups in memory, by whether a value was there.',
    ['cache', 'result'],
  );
  return (cache) => {
    for (const result of ['hit', 'miss']) count({ cache, result }, 0);
    return (isHit) => count({ cache, result: isHit ? 'hit' : 'miss' });
  };
}

/** The methods that are named; a label for each made-up one would make their number unbounded. */
const METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'POST']);

/** Counts and times requests by their routes. */
export function createRequestRecorder(metrics: Metrics): RecordRequest {
  const count = metrics.addCounter('http_requests_total', 'Requests by method, route and status.', [
    'kind',
    'method',
    'route',
    'status',
  ]);
  const time = metrics.addHistogram(
    'http_request_duration_seconds',
    'From the request to its response, whose body may still be sent.',
    LATENCY_SECONDS,
    ['route'],
  );
  return ({ kind, method, route, status, seconds }) => {
    count({ kind, method: METHODS.has(method) ? method : 'other', route, status });
    time(seconds, { route });
  };
}

/** What a pool of the database reports of its read replicas. */
type ReplicaReports = {
  onReplicaChange: (state: ReplicaState) => void;
  /** A read was repeated on the primary. */
  onRepeatedRead: () => void;
};

/** Logs and counts when a read replica starts or stops being used. */
export function createReplicaReports(log: Logger, metrics: Metrics): ReplicaReports {
  const countChange = metrics.addCounter(
    'replica_changes_total',
    'How often a read replica was dropped or used again.',
    ['replica', 'change'],
  );
  const countRepeated = metrics.addCounter(
    'replica_reads_repeated_total',
    'Reads repeated on the primary after they failed or were late on a replica.',
    [],
  );
  return {
    onReplicaChange: ({ name: replica, fault }) => {
      const isRead = fault === undefined;
      countChange({ replica, change: isRead ? 'read' : 'left' });
      // Prometheus sees no increase where a series begins: the first drop would be missing.
      countChange({ replica, change: isRead ? 'left' : 'read' }, 0);
      if (isRead) log.info({ replica }, 'using the read replica');
      else log.warn({ replica, fault }, 'not using the read replica: reads go to the primary');
    },
    onRepeatedRead: () => countRepeated({}),
  };
}
