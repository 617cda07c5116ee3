import type { Context } from '../context.ts';

/** Gauges of the database, its replicas, the parts and the game servers, read at each scrape. */
export function addStateMetrics({ database, metrics, serverList, leaders }: Context): void {
  metrics.addGauge(
    'database_connections_in_use',
    'Connections to the primary that run a query or a transaction.',
    () => database.poolLoad().inUse,
  );
  metrics.addGauge(
    'database_connections_max',
    'Connections that the pool to the primary may have.',
    () => database.poolLoad().max,
  );
  metrics.addGauge(
    'database_queries_waiting',
    'Queries and transactions that wait for a connection to the primary.',
    () => database.poolLoad().waiting,
  );
  metrics.addGauges('replica_read', '1 while a read replica is read, else 0.', ['replica'], () =>
    database
      .replicaStates()
      .map(({ name, isRead }) => ({ labels: { replica: name }, value: isRead ? 1 : 0 })),
  );
  metrics.addGauges(
    'replica_lag_seconds',
    'The greatest possible age of the data of a read replica; NaN when unknown.',
    ['replica'],
    () =>
      database.replicaStates().map(({ name, lagSeconds }) => ({
        labels: { replica: name },
        value: lagSeconds ?? Number.NaN,
      })),
  );
  metrics.addGauges('leader', '1 while this process runs the part, 0 while it waits.', ['part'], () =>
    leaders.states().map(({ part, isLeader }) => ({ labels: { part }, value: isLeader ? 1 : 0 })),
  );
  const addOfServers = (name: string, help: string, read: (shown: Shown) => number) =>
    metrics.addGauges(name, help, ['server'], () =>
      serverList.current().map((shown) => ({ labels: { server: shown.server.slug }, value: read(shown) })),
    );
  addOfServers('server_online', '1 while a listed server is online, else 0.', ({ snapshot }) =>
    snapshot?.isOnline ? 1 : 0,
  );
  addOfServers(
    'server_players',
    'Players on a listed server.',
    ({ snapshot }) => snapshot?.playersCount ?? 0,
  );
  addOfServers(
    'server_max_players',
    'Players that fit on a listed server.',
    ({ snapshot }) => snapshot?.maxPlayers ?? 0,
  );
}

type Shown = ReturnType<Context['serverList']['current']>[number];
