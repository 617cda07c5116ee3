import http from 'node:http';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { loadSessionSecret } from '../api/account/account.tsx';
import { roundSoundSection } from '../api/account/round-sound-section.tsx';
import { createTokenChecker } from '../api/api-token.ts';
import { createApi } from '../api/app.ts';
import { createBot } from '../bot/bot.ts';
import { INTERACTION_OUTCOMES } from '../bot/dispatcher.ts';
import { chooseFfmpeg } from '../media/choose-ffmpeg.ts';
import type { Ffmpeg } from '../media/ffmpeg.ts';
import { createRoundSoundWorker, type RoundSoundWorkerDeps } from '../media/round-sounds.ts';
import { openSoundFolders, type SoundFolders } from '../media/sound-folders.ts';
import { removeSound, storeUpload } from '../media/uploads.ts';
import packageJson from '../package.json';
import { type Board, createBoard } from './board.ts';
import { createAddressMatcher } from './client-address.ts';
import type { Config, Role } from './config.ts';
import { type Changes, listenForChanges } from './db/changes.ts';
import { type Database, openDatabase } from './db/client.ts';
import { startEmbeddedPostgres } from './db/embedded.ts';
import { createGate, REQUEST_LIMITS } from './db/gate.ts';
import { throughGate } from './db/gated-database.ts';
import { migrateDatabase } from './db/migrate.ts';
import { type OpenedDatabase, toOpenFailure } from './db/open-failure.ts';
import { createDatabaseProbe } from './db/probe.ts';
import { InvalidInput } from './errors.ts';
import { createExpirySweep, EXPIRY_SWEEP_MS } from './expiry.ts';
import { createMirror } from './import/mirror.ts';
import { checkSourceUrl } from './import/source-database.ts';
import { toListenFailure } from './listen-failure.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createPoller } from './poll/poller.ts';
import { countApiTokens } from './queries/api-tokens.ts';
import { saveConfiguredOwners } from './queries/owners.ts';
import { listPenalties } from './queries/penalties.ts';
import { deleteOldRows } from './queries/retention.ts';
import { countUnfinishedSounds, listReadySounds } from './queries/round-sounds.ts';
import { listServers } from './queries/servers.ts';
import { findUser } from './queries/users.ts';
import { createMemoryRateLimiter, type RateLimiter } from './rate-limiter.ts';
import { createRedisRateLimiter } from './redis-rate-limiter.ts';
import { runRegularly } from './regular-work.ts';
import { UNFINISHED_STATUSES } from './round-sound.ts';
import { createServerBoard, type ServerBoard } from './server-board.ts';
import { createHistoryReader, type ReadHistory } from './server-history.ts';
import { createShutdown, type Shutdown } from './shutdown.ts';
import { runSinglePart } from './single-part.ts';
import { createVanityResolver } from './steam-profile.ts';

export type Service = {
  /** Where HTTP listens; undefined when this process does not run the API. */
  port: number | undefined;
  database: Database;
  /** Stops everything in order, within five seconds. */
  stop: () => Promise<void>;
};

/** What every part is given. */
type Context = {
  config: Config;
  log: Logger;
  now: () => Date;
  database: Database;
  /** For what needs a session of its own: leases. */
  databaseUrl: string;
  changes: Changes;
  board: ServerBoard;
  readHistory: ReadHistory;
  soundFolders: SoundFolders;
  metrics: Metrics;
  onStop: Shutdown['onStop'];
  onStopPart: Shutdown['onStopPart'];
  /** Adds a part's state to `/readyz`; it does not decide whether the process is ready. */
  addHealth: (name: string, read: () => unknown) => void;
};

/** Bounds of the histogram: ffmpeg is stopped after 30 seconds. */
const RENDER_SECONDS = [0.25, 0.5, 1, 2, 5, 10, 30, 60];
/** How long requests that run may take once the service stops. */
const DRAIN_MS = 2500;
/** How long a sound under way may take once the service stops; else the next start renders it again. */
const SOUND_GRACE_MS = 1500;
/** Address and headers of a request: room for 5,000 characters of any script, percent-encoded. */
const MAX_HEADER_BYTES = 128 * 1024;
const RETENTION_MS = 3_600_000;
const TOKEN_FLUSH_MS = 5000;
/** Account page: starts and returns of a sign-in or link, by address; forms sent, by user. */
const TRIPS_PER_MINUTE = 30;
const FORMS_PER_MINUTE = 60;

/**
 * Starts the parts that `config.roles` names, in the order they need each other. What was started is stopped when one
 * fails.
 * @param now the clock that answers are judged by.
 * @param signal gives the start up at its next step.
 * @throws {InvalidInput} or {Unavailable}, one line for the operator; the signal's reason.
 */
export async function runService(
  config: Config,
  log: Logger,
  { now = () => new Date(), signal }: { now?: () => Date; signal?: AbortSignal } = {},
): Promise<Service> {
  const { onStop, onStopPart, stop } = createShutdown(log);
  const has = (role: Role) => config.roles.includes(role);
  let opened: OpenedDatabase | undefined;
  try {
    // Before anything is started: what it refuses (FFMPEG_PATH) is all that the operator has to read.
    const ffmpeg = has('media') ? await openFfmpeg(config, log) : undefined;
    const url = config.databaseUrl ?? (await startEmbedded(config, log, onStop));
    opened = { url, isEmbedded: config.databaseUrl === undefined };
    const database = await prepareDatabase(url, { config, log, onStop, signal });
    const changes = await listenForChanges(database.connection, log);
    onStop('notifications', changes.stop);
    const board = await createServerBoard(database.db, log);
    onStop('server board', board.stop);
    changes.onChange('servers', board.invalidate);
    changes.onChange('server_snapshots', board.invalidate);

    const metrics = createMetrics();
    metrics.addGauge('servers_online', 'Listed servers that are online.', () => countOnline(board));
    const health = new Map<string, () => unknown>();
    const addHealth: Context['addHealth'] = (name, read) => health.set(name, read);
    const readHistory = createHistoryReader(database, now);
    const soundFolders = await openSoundFolders(config);
    const shared = {
      config,
      log,
      now,
      database,
      databaseUrl: url,
      changes,
      board,
      readHistory,
      soundFolders,
    };
    const context: Context = { ...shared, metrics, onStop, onStopPart, addHealth };

    if (has('sync')) startSync(context);
    if (has('poller')) await startPolling(context);
    if (ffmpeg) startMedia(context, ffmpeg);
    const port = has('api') ? await startApi(context, health) : undefined;
    if (has('bot')) startBot(context);
    await adviseOperator(context).catch((error: unknown) => {
      log.warn({ err: error }, 'the database went away during the start; the service goes on');
    });
    return { port, database, stop };
  } catch (error) {
    await stop();
    // Until then the database was needed; afterwards an outage is met by each part.
    throw opened ? toOpenFailure(error, opened) : error;
  }
}

function openFfmpeg({ dataDir, ffmpegPath }: Config, log: Logger): Promise<Ffmpeg> {
  return chooseFfmpeg(log, { ffmpegPath, workDirectory: join(dataDir, 'media') });
}

async function startEmbedded(config: Config, log: Logger, onStop: Shutdown['onStop']): Promise<string> {
  const embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  onStop('embedded PostgreSQL', embedded.stop, { limitMs: Number.POSITIVE_INFINITY });
  return embedded.url;
}

async function prepareDatabase(
  url: string,
  {
    config,
    log,
    onStop,
    signal,
  }: Pick<Context, 'config' | 'log' | 'onStop'> & { signal?: AbortSignal | undefined },
): Promise<Database> {
  await migrateDatabase(url, { log, signal });
  const database = openDatabase(url, { replicaUrls: config.databaseReplicaUrls });
  onStop('database', () => database.close({ timeoutSeconds: 1 }), { limitMs: 1200 });
  signal?.throwIfAborted();
  return database;
}

/** Role `poller`: asks the game servers how they are. */
async function startPolling(context: Context): Promise<void> {
  const { config, log, database, databaseUrl, changes, metrics, onStopPart, addHealth } = context;
  const poller = createPoller({
    db: database.db,
    databaseUrl,
    log,
    intervalSeconds: config.pollIntervalSeconds,
    onServersChanged: (listener) => changes.onChange('servers', listener),
  });
  onStopPart('poller', poller.stop);
  addHealth('poller', poller.health);
  metrics.addGauge('polls_running', 'Questions to game servers under way.', () => poller.health().running);
  metrics.addGauge(
    'polls_waiting',
    'Game servers whose turn to be asked has come.',
    () => poller.health().waiting,
  );
  await poller.start();
}

/** Role `sync`: what keeps the penalties in step with the clock and with their sources, and deletes what is old. */
function startSync({
  config,
  database,
  databaseUrl,
  log,
  now,
  metrics,
  onStopPart,
  addHealth,
}: Context): void {
  const sweep = createExpirySweep(database.db, now);
  onStopPart(
    'expiry',
    runRegularly({ name: 'marking expired penalties', everyMs: EXPIRY_SWEEP_MS, work: sweep, log }),
  );

  const deleteOld = async (signal: AbortSignal) => {
    const deleted = await deleteOldRows(database.db, signal);
    if (Object.values(deleted).some((count) => count > 0)) log.info({ deleted }, 'old rows deleted');
  };
  onStopPart(
    'retention',
    runRegularly({
      name: 'deleting old rows',
      everyMs: RETENTION_MS,
      startsAtOnce: true,
      work: deleteOld,
      log,
    }),
  );

  const { url, source, timezone, intervalSeconds } = config.simpleAdmin;
  if (url === undefined) return;
  checkSimpleAdminUrl(url);

  const mirror = createMirror(
    { db: database.db, databaseUrl, log, metrics, now },
    { url, source, timezone, intervalSeconds },
  );
  onStopPart('mirror', mirror.stop);
  addHealth('mirror', mirror.health);
  mirror.start();
}

/** @throws {InvalidInput} one line that names the variable, and nothing secret. */
function checkSimpleAdminUrl(url: string): void {
  try {
    checkSourceUrl(url);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw new InvalidInput(`SIMPLEADMIN_URL is not allowed: ${error.message}`);
  }
}

/** Role `media`: uploads become sounds. Processes with the roles `api` and `media` share `DATA_DIR` and `STORAGE_DIR`. */
function startMedia(context: Context, ffmpeg: Ffmpeg): void {
  const { config, log, database, changes, soundFolders, metrics, onStopPart, addHealth } = context;
  const countOutcome = metrics.addCounter('sounds_settled_total', 'Uploads that came to their end.', [
    'outcome',
  ]);
  const noteSeconds = metrics.addHistogram(
    'sound_render_seconds',
    'From taking an upload out of the queue to publishing it.',
    RENDER_SECONDS,
  );
  const onSettled: RoundSoundWorkerDeps['onSettled'] = (outcome, durationMs) => {
    countOutcome({ outcome });
    if (outcome === 'published') noteSeconds(durationMs / 1000);
  };
  const worker = createRoundSoundWorker(
    { db: database.db, ffmpeg, folders: soundFolders, log, onSettled },
    { maxSeconds: config.sound.maxSeconds, targetLufs: config.sound.loudnessLufs, graceMs: SOUND_GRACE_MS },
  );
  changes.onChange('round_sounds', worker.wake);
  // Anybody may read /readyz: where the program lies is for the log alone.
  addHealth('ffmpeg', () => ffmpeg.description.replace(/ \(.*\)$/, ''));
  onStopPart('sounds', worker.stop);
  worker.start();
}

/** Role `api`: HTTP. */
async function startApi(context: Context, health: Map<string, () => unknown>): Promise<number> {
  const {
    config,
    log,
    now,
    database,
    changes,
    board,
    readHistory,
    soundFolders,
    metrics,
    onStop,
    onStopPart,
  } = context;
  // Here alone: a process of other roles may have been given no OWNER_STEAMIDS.
  await saveConfiguredOwners(database.db, config.ownerSteamIds);
  const maxUploadBytes = config.sound.maxUploadMb * 1024 * 1024;
  const sounds = await watchSounds(context, {
    name: 'sounds',
    read: () => listReadySounds(database.db),
    build: (ready) => new Map(ready.map(({ steamId64, title }) => [steamId64, title])),
  });
  await addQueueGauges(context);

  const accountDb = throughGate(database.db, createGate(REQUEST_LIMITS));
  const tokens = createTokenChecker(database.db);
  changes.onChange('api_tokens', tokens.forget);
  onStop('last uses of tokens', tokens.flush);
  onStop(
    'token uses',
    runRegularly({ name: 'writing last uses of tokens', everyMs: TOKEN_FLUSH_MS, work: tokens.flush, log }),
  );

  const app = createApi({
    log,
    tokens,
    limiters: {
      public: createLimiter(context, 'public', config.rateLimit.publicPerMinute),
      protected: createLimiter(context, 'protected', config.rateLimit.protectedPerMinute),
    },
    isTrustedProxy: createAddressMatcher(config.trustedProxies),
    now,
    countAnswer: metrics.addCounter('http_answers_total', 'Answers under both bases.', ['kind', 'status']),
    publicUrl: config.publicUrl,
    version: packageJson.version,
    servers: { board, readHistory, now },
    penalties: { listPenalties: (filter, options) => listPenalties(database.reader, filter, options) },
    users: { findUser: (who, now) => findUser(database.reader, who, now) },
    roundSounds: { findTitle: (steamId64) => sounds.current().get(steamId64) },
    health: {
      readiness: createReadiness(createDatabaseProbe(database), health),
      metrics,
      mayReadMetrics: createAddressMatcher(['127.0.0.0/8', '::1', ...config.metricsAllow]),
    },
    account: {
      db: accountDb,
      settings: config,
      sessionSecret: await loadSessionSecret(database.db, config.sessionSecret),
      onTokenRevoked: tokens.forget,
      limits: {
        trips: createMemoryRateLimiter(TRIPS_PER_MINUTE),
        forms: createMemoryRateLimiter(FORMS_PER_MINUTE),
      },
      sections: (facilities) => [
        roundSoundSection({
          ...facilities,
          db: accountDb,
          limits: { maxSeconds: config.sound.maxSeconds, maxUploadBytes },
          storeUpload: (upload) => storeUpload(accountDb, soundFolders, { upload, maxBytes: maxUploadBytes }),
          removeSound: (removal) => removeSound(accountDb, soundFolders, removal),
        }),
      ],
    },
    storage: { soundFolder: soundFolders.published },
    maxUploadBytes,
  });
  // Bun reads it when it begins to listen; at its own 16 KB a long query would be answered without a body.
  Reflect.set(http, 'maxHeaderSize', MAX_HEADER_BYTES);
  try {
    app.listen({ hostname: config.host, port: config.port, reusePort: false });
  } catch (error) {
    throw toListenFailure(error, config);
  }
  const { server } = app;
  if (!server?.port) throw new Error('HTTP does not listen');
  onStopPart('HTTP', () => drain({ stopAccepting: () => server.stop(), closeAll: () => server.stop(true) }));
  log.info({ host: config.host, port: server.port, url: config.publicUrl }, 'HTTP listens');
  return server.port;
}

/** What all processes together have to do; how they fare is told by each that renders. */
async function addQueueGauges(context: Context): Promise<void> {
  const queue = await watchSounds(context, {
    name: 'queue of sounds',
    read: () => countUnfinishedSounds(context.database.db),
    build: (counts) => new Map(counts.map(({ status, count }) => [status, count])),
  });
  for (const status of UNFINISHED_STATUSES) {
    const help = `Uploaded sounds that are ${status}.`;
    context.metrics.addGauge(`sounds_${status}`, help, () => queue.current().get(status) ?? 0);
  }
}

/** A board over the table of sounds. */
async function watchSounds<Rows, T>(
  { log, changes, onStop }: Context,
  options: { name: string; read: () => Promise<Rows>; build: (rows: Rows) => T },
): Promise<Board<T>> {
  const board = await createBoard({ log, ...options });
  onStop(options.name, board.stop);
  changes.onChange('round_sounds', board.invalidate);
  return board;
}

/** Role `bot`: Discord, in one process at a time. Whatever happens to it, the API goes on. */
function startBot(context: Context): void {
  const { config, log, database, databaseUrl, board, readHistory, metrics, onStopPart, addHealth } = context;
  const { token, guildId, apiUrl } = config.discord;
  if (token === undefined) {
    addHealth('bot', () => 'off');
    log.info('the bot is off: DISCORD_TOKEN is not set');
    return;
  }
  const countInteraction = metrics.addCounter('bot_interactions_total', 'Interactions by how they ended.', [
    'outcome',
  ]);
  for (const outcome of INTERACTION_OUTCOMES) countInteraction({ outcome }, 0);
  const countLogin = metrics.addCounter('bot_logins_total', 'Attempts to log in to Discord.', []);
  countLogin({}, 0);
  let bot: ReturnType<typeof createBot> | undefined;
  const part = runSinglePart({
    databaseUrl,
    name: 'bot',
    log,
    isReachable: createDatabaseProbe(database),
    create: () => {
      bot = createBot({
        token,
        guildId,
        apiUrl,
        publicUrl: config.publicUrl,
        database,
        servers: board,
        readHistory,
        resolveVanity: createVanityResolver(config.steam),
        log,
        countLogin: () => countLogin({}),
        countInteraction: (outcome) => countInteraction({ outcome }),
      });
      return bot;
    },
  });
  onStopPart('bot', part.stop);
  addHealth('bot', () => {
    const health = bot?.health();
    return health
      ? { state: health.state, reason: health.reason, since: health.since, moderators: health.moderators }
      : { state: 'standby' };
  });
  metrics.addGauge('bot_connected', '1 while the bot is connected to Discord, else 0.', () =>
    bot?.health().state === 'ready' ? 1 : 0,
  );
}

function createLimiter({ config, log, onStop }: Context, name: string, limit: number): RateLimiter {
  if (config.redisUrl === undefined) return createMemoryRateLimiter(limit);
  const limiter = createRedisRateLimiter({ url: config.redisUrl, limit, name, log });
  onStop(`${name} limits`, () => limiter.close?.());
  return limiter;
}

/** Lets running requests finish, then closes what is still open. */
async function drain({
  stopAccepting,
  closeAll,
}: Record<'stopAccepting' | 'closeAll', () => Promise<unknown>>) {
  const isDrained = await Promise.race([
    stopAccepting().then(() => true),
    Bun.sleep(DRAIN_MS).then(() => false),
  ]);
  if (!isDrained) await Promise.race([closeAll(), Bun.sleep(500)]);
}

function createReadiness(isReachable: () => Promise<boolean>, health: Map<string, () => unknown>) {
  return async () => {
    const isReady = await isReachable();
    const parts = Object.fromEntries([...health].map(([name, read]) => [name, read()]));
    return { isReady, parts: { database: isReady ? 'up' : 'down', ...parts } };
  };
}

function countOnline(board: ServerBoard): number {
  return board.current().filter(({ snapshot }) => snapshot?.isOnline).length;
}

/** On an empty database, says what to do first: commands without double quotes, which JSON would escape. */
async function adviseOperator({ database, log }: Context): Promise<void> {
  if ((await listServers(database.db)).length === 0) {
    log.info("no servers yet; add the first: bun run cli servers add --name 'My server' --address HOST:PORT");
  }
  if ((await countApiTokens(database.db)) === 0) {
    log.info(
      'no API tokens yet; make the first: bun run cli tokens create --steamid64 YOUR_STEAMID --name website',
    );
  }
}
