import type { Logger } from 'pino';
import { openSoundStore } from '../../media/sound-store.ts';
import packageJson from '../../package.json';
import { listenForChanges } from '../db/changes.ts';
import type { Database } from '../db/database.ts';
import { openLeaders } from '../db/leader.ts';
import { createEventReader } from '../events/event-reader.ts';
import { createMirrorMetrics } from '../import/rounds.ts';
import { createHistoryReader } from '../live/server-history.ts';
import { createServerList } from '../live/server-list.ts';
import { countSteamCall } from '../queries/steam-bans.ts';
import type { Config } from '../runtime/config.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { asRequest } from '../runtime/request.ts';
import type { Shutdown } from '../runtime/shutdown.ts';
import { createSteamBans } from '../steam/bans.ts';
import { createSteamApi } from '../steam/steam-api.ts';
import { addStateMetrics, createLookupCounter } from './metrics.ts';

/** What every part is given. */
export type Context = Awaited<ReturnType<typeof openContext>>;

type Foundations = Omit<Shutdown, 'stop'> & {
  config: Config;
  log: Logger;
  now: () => Date;
  /** A monotonic clock in milliseconds, for durations and caches. */
  clockMs: () => number;
  database: Database;
  metrics: Metrics;
  /** Called when a restored backup has replaced the database: the caches of this process are of the former one. */
  onReplaced?: (() => void) | undefined;
};

/** After so many intervals without a poll, the state of a server is not known. */
const STALE_AFTER_POLLS = 3;

/** Opens what the parts share, until the service stops. */
export async function openContext(foundations: Foundations) {
  const { config, log, now, clockMs, database, metrics, onStop, onStopPart, onReplaced } = foundations;
  const changes = await listenForChanges(database.connection, log);
  onStop('changes', changes.stop);
  const serverList = await createServerList(database.db, log, {
    staleAfterMs: STALE_AFTER_POLLS * config.pollIntervalSeconds * 1000,
    now,
  });
  onStop('server list', serverList.stop);
  changes.onChange('servers', serverList.invalidate);
  changes.onChange('server_snapshots', serverList.invalidate);
  const eventReader = await createEventReader(database.db, log, { onReplaced });
  onStop('reader of events', eventReader.stop);
  changes.onChange('penalty_events', eventReader.invalidate);

  const countCall = () => asRequest('steam', () => countSteamCall(database.requestDb));
  const steamApi = createSteamApi({ ...config.steam, countCall });
  const countLookups = createLookupCounter(metrics);
  /** Runs the parts that run in one process at a time. */
  const leaders = openLeaders(database.url, { log, clockMs });
  metrics.addGauges('build_info', 'Always 1; the label names the running version.', () => [
    { labels: { version: packageJson.version }, value: 1 },
  ]);
  addStateMetrics(metrics, { database, serverList, leaders });
  return {
    ...foundations,
    changes,
    eventReader,
    serverList,
    readHistory: createHistoryReader(database.requestDb, {
      now,
      clockMs,
      onLookup: countLookups('histories'),
    }),
    steamApi,
    lookUpSteamBans: createSteamBans({ steam: steamApi, db: database.requestDb, log, now, clockMs }),
    sounds: await openSoundStore(config),
    countLookups,
    mirrorMetrics: createMirrorMetrics(metrics),
    leaders,
    /** Starts a loop that stops with the parts. */
    repeat: (options: Omit<Parameters<typeof startLoop>[0], 'log'>): Loop => {
      const loop = startLoop({ ...options, log });
      onStopPart(options.name, loop.stop);
      return loop;
    },
    /** What each part reports in `/readyz`; it does not decide whether the process is ready. */
    health: new Map<string, () => unknown>(),
  };
}
