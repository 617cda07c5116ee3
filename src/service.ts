import type { Logger } from 'pino';
import { Registry } from 'prom-client';
import { loadSessionSecret } from '../api/account/account.tsx';
import { createTokenChecker } from '../api/api-token.ts';
import { createApi } from '../api/app.ts';
import packageJson from '../package.json';
import { createBoard } from './board.ts';
import { createAddressMatcher } from './client-address.ts';
import type { Config, Role } from './config.ts';
import { listenForChanges } from './db/changes.ts';
import { type Database, openDatabase } from './db/client.ts';
import { startEmbeddedPostgres } from './db/embedded.ts';
import { migrateDatabase } from './db/migrate.ts';
import { InvalidInput } from './errors.ts';
import { listPenalties, markExpiredPenalties } from './queries/penalties.ts';
import { listReadySounds } from './queries/round-sounds.ts';
import { type HistoryPoint, listServerHistory } from './queries/servers.ts';
import { findUser, saveOwners } from './queries/users.ts';
import { createMemoryRateLimiter } from './rate-limiter.ts';
import { createServerBoard } from './server-board.ts';
import { createStaleCache } from './stale-cache.ts';

export type Service = {
  /** Where HTTP listens; undefined when this process does not run the API. */
  port: number | undefined;
  database: Database;
  databaseUrl: string;
  /** Stops everything in order, within five seconds. */
  stop: () => Promise<void>;
};

/** How long requests that run may take once the service stops. */
const DRAIN_MS = 2500;
const SWEEP_MS = 1000;
const TOKEN_FLUSH_MS = 5000;
/** Account page: starts and returns of a sign-in or link, by address; forms sent, by user. */
const TRIPS_PER_MINUTE = 30;
const FORMS_PER_MINUTE = 60;

/** Starts the parts that `config.roles` names, in the order they need each other. What was started is stopped when one fails. */
export async function runService(config: Config, log: Logger): Promise<Service> {
  const stops: { name: string; stop: () => unknown }[] = [];
  const stop = async () => {
    for (const part of stops.splice(0).reverse()) {
      try {
        await part.stop();
      } catch (error) {
        log.error({ err: error }, `${part.name} did not stop`);
      }
    }
  };
  try {
    const databaseUrl = config.databaseUrl ?? (await startEmbedded(config, log, stops));
    await migrateDatabase(databaseUrl);
    const database = openDatabase(databaseUrl, { replicaUrls: config.databaseReplicaUrls });
    stops.push({ name: 'database', stop: () => database.close({ timeoutSeconds: 1 }) });
    await saveOwners(database.db, config.ownerSteamIds);
    const has = (role: Role) => config.roles.includes(role);
    const changes = await listenForChanges(database.connection, log);
    stops.push({ name: 'notifications', stop: changes.stop });
    const board = await createServerBoard(database.db, log);
    stops.push({ name: 'server board', stop: board.stop });
    changes.onChange('servers', board.invalidate);
    changes.onChange('server_snapshots', board.invalidate);

    if (has('sync')) stops.push({ name: 'expiry', stop: startSweeping(database, log) });
    const port = has('api') ? await startApi({ config, log, database, board, changes, stops }) : undefined;
    return { port, database, databaseUrl, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Stops = { name: string; stop: () => unknown }[];

async function startEmbedded(config: Config, log: Logger, stops: Stops): Promise<string> {
  const embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  stops.push({ name: 'embedded PostgreSQL', stop: embedded.stop });
  return embedded.url;
}

type ApiParts = {
  config: Config;
  log: Logger;
  database: Database;
  board: Awaited<ReturnType<typeof createServerBoard>>;
  changes: Awaited<ReturnType<typeof listenForChanges>>;
  stops: Stops;
};

async function startApi({ config, log, database, board, changes, stops }: ApiParts): Promise<number> {
  const sounds = await createBoard({
    name: 'sounds',
    log,
    read: () => listReadySounds(database.db),
    build: (ready) => new Map(ready.map(({ steamId64, title }) => [steamId64, title])),
  });
  stops.push({ name: 'sound board', stop: sounds.stop });
  changes.onChange('round_sounds', sounds.invalidate);
  const tokens = createTokenChecker(database.db);
  changes.onChange('api_tokens', tokens.forget);
  stops.push({ name: 'token uses', stop: () => tokens.flush() });
  stops.push({ name: 'token uses', stop: every(TOKEN_FLUSH_MS, () => tokens.flush(), log) });

  const mayReadMetrics = createAddressMatcher(['127.0.0.0/8', '::1', ...config.metricsAllow]);
  const app = createApi({
    log,
    tokens,
    limiters: {
      public: createMemoryRateLimiter(config.rateLimit.publicPerMinute),
      protected: createMemoryRateLimiter(config.rateLimit.protectedPerMinute),
    },
    isTrustedProxy: createAddressMatcher(config.trustedProxies),
    now: () => new Date(),
    publicUrl: config.publicUrl,
    version: packageJson.version,
    servers: { board, readHistory: createHistoryReader(database), now: () => new Date() },
    penalties: { listPenalties: (filter, options) => listPenalties(database.reader, filter, options) },
    users: { findUser: (who, now) => findUser(database.reader, who, now) },
    roundSounds: { findTitle: (steamId64) => sounds.current().get(steamId64) },
    health: { readiness: () => readiness(database), metrics: new Registry(), mayReadMetrics },
    account: {
      db: database.db,
      settings: config,
      sessionSecret: await loadSessionSecret(database.db, config.sessionSecret),
      limits: {
        trips: createMemoryRateLimiter(TRIPS_PER_MINUTE),
        forms: createMemoryRateLimiter(FORMS_PER_MINUTE),
      },
    },
  });
  try {
    app.listen({ hostname: config.host, port: config.port, reusePort: false });
  } catch (error) {
    throw listenFailure(error, config);
  }
  const { server } = app;
  if (!server?.port) throw new Error('HTTP does not listen');
  stops.push({
    name: 'HTTP',
    stop: () =>
      drain(
        () => server.stop(),
        () => server.stop(true),
      ),
  });
  log.info({ host: config.host, port: server.port }, 'HTTP listens');
  return server.port;
}

function listenFailure(error: unknown, { host, port }: Config): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE')
    return new InvalidInput(`PORT=${port} is taken on ${host}: stop what listens there or give another PORT`);
  if (code === 'EACCES') return new InvalidInput(`PORT=${port} needs more rights: give a PORT above 1023`);
  return error;
}

/** Lets running requests finish, then closes what is still open. */
async function drain(stopAccepting: () => Promise<unknown>, closeAll: () => Promise<unknown>): Promise<void> {
  const isDrained = await Promise.race([
    stopAccepting().then(() => true),
    Bun.sleep(DRAIN_MS).then(() => false),
  ]);
  if (!isDrained) await Promise.race([closeAll(), Bun.sleep(500)]);
}

function startSweeping(database: Database, log: Logger): () => void {
  return every(
    SWEEP_MS,
    async () => {
      while ((await markExpiredPenalties(database.db, new Date())) > 0);
    },
    log,
  );
}

const HISTORY_FRESH_MS = 30_000;
const HISTORY_STALE_MS = 15 * 60_000;

type History = { points: HistoryPoint[]; stepSeconds: number; readAt: Date };

function createHistoryReader(database: Database): (serverId: number, hours: number) => Promise<History> {
  const cache = createStaleCache<History>({
    freshMs: HISTORY_FRESH_MS,
    staleMs: HISTORY_STALE_MS,
    maxEntries: 1000,
  });
  return (serverId, hours) =>
    cache.get(`${serverId} ${hours}`, async () => {
      const readAt = new Date();
      const stepSeconds = hours <= 48 ? 300 : hours <= 24 * 60 ? 3600 : 6 * 3600;
      const since = new Date(readAt.getTime() - hours * 3_600_000);
      const points = await listServerHistory(database.reader, serverId, {
        since,
        until: readAt,
        stepSeconds,
      });
      return { points, stepSeconds, readAt };
    });
}

async function readiness(database: Database) {
  const isReachable = await Promise.race([
    database.connection`select 1`.then(
      () => true,
      () => false,
    ),
    Bun.sleep(1000).then(() => false),
  ]);
  return { isReady: isReachable, parts: { database: isReachable ? 'up' : 'down' } };
}

/** Runs work again and again, never twice at once; a failure is logged when it begins. Returns what stops it. */
function every(intervalMs: number, work: () => Promise<unknown>, log: Logger): () => void {
  let isRunning = false;
  let isFailing = false;
  const timer = setInterval(async () => {
    if (isRunning) return;
    isRunning = true;
    try {
      await work();
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, 'regular work failed: trying again');
      isFailing = true;
    } finally {
      isRunning = false;
    }
  }, intervalMs);
  return () => clearInterval(timer);
}
