import type { Logger } from 'pino';
import { chooseFfmpeg } from '../../media/ffmpeg/choose.ts';
import packageJson from '../../package.json';
import type { Database } from '../db/database.ts';
import {
  type DatabaseAddress,
  openMigratedDatabase,
  toOpenFailure,
  warnOfConnectionLimit,
} from '../db/open.ts';
import { createPoller } from '../poll/poller.ts';
import { listServers } from '../queries/servers/servers.ts';
import { countApiTokens } from '../queries/users/api-tokens.ts';
import { areConfiguredFlagsStored } from '../queries/users/user-changes.ts';
import type { Config, Role } from '../runtime/config.ts';
import { probePort } from '../runtime/listen-failure.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { createShutdown, type Shutdown } from '../runtime/shutdown.ts';
import { TOOL } from '../runtime/tool.ts';
import { startBot } from './bot.ts';
import { type Context, openContext } from './context.ts';
import { COMMIT, reportBackups, startHealth } from './health.ts';
import { startApi } from './http.ts';
import { checkStorageIdentity, startMedia } from './media.ts';
import { createQueryRecorder, createReplicaReports } from './metrics.ts';
import type { ApiOptions } from './pages.ts';
import { startSync } from './sync.ts';
import { startWebhooks } from './webhooks.ts';

export type Service = {
  /** The HTTP port: of the API, or of only health and metrics; undefined without either. */
  port: number | undefined;
  database: Database;
  /** Stops everything in order, within five seconds. */
  stop: Shutdown['stop'];
};

/**
 * Starts the parts of `config.roles` in the order of their dependencies. When one fails, those already started are
 * stopped.
 * @param now the clock of timestamps.
 * @param clockMs a monotonic clock, for limits and caches.
 * @param signal aborts the start at its next step.
 * @param onReplaced called when a restored backup has replaced the database, after which the process has to end.
 * @throws {InvalidInput} or {Unavailable}, one line for the operator; the signal's reason.
 */
export async function runService(
  config: Config,
  log: Logger,
  {
    now = () => new Date(),
    clockMs = () => performance.now(),
    signal,
    onReplaced,
    demoPeople,
  }: {
    now?: () => Date;
    clockMs?: () => number;
    signal?: AbortSignal;
    onReplaced?: () => void;
  } & ApiOptions = {},
): Promise<Service> {
  const { stop, ...shutdown } = createShutdown(log);
  const has = (role: Role) => config.roles.includes(role);
  let address: DatabaseAddress | undefined;
  try {
    // These two checks come first, so that a taken port or a bad FFMPEG_PATH is the only line that the operator has to
    // read.
    if (has('api')) await probePort(config.host, { setting: 'PORT', port: config.port });
    else if (config.isHealthPortSet)
      await probePort(config.host, { setting: 'HEALTH_PORT', port: config.healthPort });
    const ffmpeg = has('media') ? await chooseFfmpeg(log, config) : undefined;
    log.info({ version: packageJson.version, commit: COMMIT }, 'starting');
    const metrics = createMetrics();
    const pool = {
      replicaUrls: config.databaseReplicaUrls,
      ...createReplicaReports(log, metrics),
      onQuery: createQueryRecorder(metrics),
    };
    const opening = await openMigratedDatabase(config, { log, onClose: shutdown.onStop, signal, pool });
    const { database } = opening;
    address = opening.address;
    await warnOfConnectionLimit(database.db, log);
    const context = await openContext({
      ...shutdown,
      config,
      log,
      now,
      clockMs,
      database,
      metrics,
      onReplaced,
    });

    reportBackups(context);
    if (has('api') || has('media')) {
      await checkStorageIdentity(database.db, context.sounds, log);
    }
    if (has('sync')) {
      await startSync(context);
      startWebhooks(context);
    }
    if (has('poller')) startPolling(context);
    if (ffmpeg) startMedia(context, ffmpeg);
    const port = has('api') ? await startApi(context, { demoPeople }) : startHealth(context);
    if (has('bot')) await startBot(context);
    warnOfPanels(context);
    await adviseOperator(context).catch((error: unknown) => {
      log.warn({ err: error }, 'the database became unavailable during startup; continuing');
    });
    return { port, database, stop };
  } catch (error) {
    await stop();
    // Only the start needs the database: once running, each part survives an outage.
    throw address ? toOpenFailure(error, address) : error;
  }
}

/** Role `poller`: queries the game servers. */
function startPolling(context: Context): void {
  const { config, log, database, serverList, metrics, onStopPart, leaders, health } = context;
  const poller = createPoller({
    db: database.db,
    leaders,
    log,
    intervalSeconds: config.pollIntervalSeconds,
    servers: serverList,
  });
  onStopPart('poller', poller.stop);
  health.set('poller', poller.health);
  metrics.addGauge('polls_running', 'Queries of game servers under way.', () => poller.health().running);
  metrics.addGauge(
    'polls_waiting',
    'Game servers that are due and wait for a free query.',
    () => poller.health().waiting,
  );
  poller.start();
}

/** Warns of addresses of panels that lead nowhere. */
function warnOfPanels({ config, log }: Context): void {
  for (const [kind, { url, panel }] of Object.entries(config.sources)) {
    const setting = `${kind.toUpperCase()}_PANEL_URL`;
    if (panel.length > 0 && url === undefined) {
      log.warn(
        `${setting} is set without ${kind.toUpperCase()}_URL: only penalties of that mirror are linked`,
      );
    }
    if (panel.some(({ address }) => /%(id|steamid64)%/i.test(address))) {
      log.warn(`${setting} has % around a placeholder, so every link is the same: write {id} or {steamid64}`);
    }
  }
}

/** Warns of settings of people that another process decides, and, on an empty database, logs the first commands to run; without double quotes, which JSON would escape. */
async function adviseOperator({ config, database, log }: Context): Promise<void> {
  const isConcerned =
    config.roles.includes('sync') || config.ownerSteamIds.length + config.moderatorSteamIds.length > 0;
  if (isConcerned && !(await areConfiguredFlagsStored(database.db, config))) {
    log.warn(
      'OWNER_STEAMIDS or MODERATOR_STEAMIDS differ from those of the process that leads `settings`: its values hold',
    );
  }
  const servers = await listServers(database.db);
  if (servers.length === 0) {
    log.info(`no servers yet; add the first: ${TOOL} servers add --name 'My server' --address HOST:PORT`);
  } else if (servers.every(({ isHidden }) => isHidden)) {
    log.info(
      { hidden: servers.length },
      `all servers are hidden; list them with: ${TOOL} servers unhide --all`,
    );
  }
  if ((await countApiTokens(database.db)) === 0) {
    log.info(
      `no API tokens yet; create the first: ${TOOL} tokens create --steamid64 YOUR_STEAMID --name website`,
    );
  }
}
