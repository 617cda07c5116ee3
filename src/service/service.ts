import type { Logger } from 'pino';
import { chooseFfmpeg } from '../../media/ffmpeg/choose.ts';
import { openSoundFolders } from '../../media/sound-files.ts';
import packageJson from '../../package.json';
import { listenForChanges } from '../db/changes.ts';
import type { Database } from '../db/database.ts';
import { openLeaders } from '../db/leader.ts';
import { type DatabaseAddress, openMigratedDatabase, toOpenFailure } from '../db/open.ts';
import { createEventReader } from '../events/event-reader.ts';
import { createMirrorMetrics } from '../import/rounds.ts';
import { createHistoryReader } from '../live/server-history.ts';
import { createServerList, type ServerList } from '../live/server-list.ts';
import { listServers } from '../queries/servers/servers.ts';
import { countApiTokens } from '../queries/users/api-tokens.ts';
import type { Config } from '../runtime/config.ts';
import { probePort } from '../runtime/listen-failure.ts';
import { createMetrics } from '../runtime/metrics.ts';
import type { Role } from '../runtime/roles.ts';
import { createShutdown, type Shutdown } from '../runtime/shutdown.ts';
import { createSteamBans } from '../steam/bans.ts';
import { createSteamApi } from '../steam/steam-api.ts';
import { startBot } from './bot.ts';
import type { Context } from './context.ts';
import { startHealth } from './health.ts';
import { startApi } from './http.ts';
import { startMedia } from './media.ts';
import { addStateMetrics, countLookups, createQueryRecorder, createReplicaReports } from './metrics.ts';
import type { ApiOptions } from './pages.ts';
import { startPolling } from './poller.ts';
import { checkStorageIdentity } from './storage-identity.ts';
import { startSync } from './sync.ts';
import { startWebhooks } from './webhooks.ts';

export type Service = {
  /** The HTTP port: of the API, or of health and metrics alone; undefined without either. */
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
 * @throws {InvalidInput} or {Unavailable}, one line for the operator; the signal's reason.
 */
export async function runService(
  config: Config,
  log: Logger,
  {
    now = () => new Date(),
    clockMs = () => performance.now(),
    signal,
    demoPeople,
  }: { now?: () => Date; clockMs?: () => number; signal?: AbortSignal } & ApiOptions = {},
): Promise<Service> {
  const { onStop, onStopPart, onDrain, isStopping, stop } = createShutdown(log);
  const has = (role: Role) => config.roles.includes(role);
  let address: DatabaseAddress | undefined;
  try {
    // These two checks come first, so that a taken port or a bad FFMPEG_PATH is the only line that the operator has to
    // read.
    if (has('api')) await probePort(config.host, { setting: 'PORT', port: config.port });
    else if (config.isHealthPortSet)
      await probePort(config.host, { setting: 'HEALTH_PORT', port: config.healthPort });
    const ffmpeg = has('media') ? await chooseFfmpeg(log, config) : undefined;
    const metrics = createMetrics();
    const pool = {
      replicaUrls: config.databaseReplicaUrls,
      ...createReplicaReports(log, metrics),
      onQuery: createQueryRecorder(metrics),
    };
    const opened = await openMigratedDatabase(config, { log, onClose: onStop, signal, pool });
    const { database } = opened;
    address = opened.address;
    const changes = await listenForChanges(database.connection, log);
    onStop('notifications', changes.stop);
    const serverList = await createServerList(database.db, log);
    onStop('server list', serverList.stop);
    changes.onChange('servers', serverList.invalidate);
    changes.onChange('server_snapshots', serverList.invalidate);

    const eventReader = await createEventReader(database.db, log);
    onStop('reader of events', eventReader.stop);
    changes.onChange('penalty_events', eventReader.invalidate);

    metrics.addGauges('build_info', 'Always 1; the label names the running version.', ['version'], () => [
      { labels: { version: packageJson.version }, value: 1 },
    ]);
    metrics.addGauge('servers_online', 'Listed servers that are online.', () => countOnline(serverList));
    const steamApi = createSteamApi(config.steam);
    const context: Context = {
      config,
      log,
      now,
      clockMs,
      database,
      changes,
      eventReader,
      serverList,
      readHistory: createHistoryReader(database.requestDb, {
        now,
        clockMs,
        onLookup: countLookups(metrics, 'histories'),
      }),
      steamApi,
      lookUpSteamBans: createSteamBans({
        steam: steamApi,
        db: database.requestDb,
        log,
        now,
        clockMs,
      }),
      soundFolders: await openSoundFolders(config),
      metrics,
      mirrorMetrics: createMirrorMetrics(metrics),
      onStop,
      onStopPart,
      onDrain,
      isStopping,
      leaders: openLeaders(database.url, { log, clockMs }),
      health: new Map(),
    };
    addStateMetrics(context);

    if (has('api') || has('media')) {
      await checkStorageIdentity(database.db, config.storageDir, log);
    }
    if (has('sync')) {
      await startSync(context);
      startWebhooks(context);
    }
    if (has('poller')) startPolling(context);
    if (ffmpeg) startMedia(context, ffmpeg);
    const port = has('api') ? await startApi(context, { demoPeople }) : startHealth(context);
    if (has('bot')) await startBot(context);
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

function countOnline(serverList: ServerList): number {
  return serverList.current().filter(({ snapshot }) => snapshot?.isOnline).length;
}

/** On an empty database, logs the first commands to run; without double quotes, which JSON would escape. */
async function adviseOperator({ database, log }: Context): Promise<void> {
  if ((await listServers(database.db)).length === 0) {
    log.info("no servers yet; add the first: bun run cli servers add --name 'My server' --address HOST:PORT");
  }
  if ((await countApiTokens(database.db)) === 0) {
    log.info(
      'no API tokens yet; create the first: bun run cli tokens create --steamid64 YOUR_STEAMID --name website',
    );
  }
}
