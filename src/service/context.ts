import type { Logger } from 'pino';
import type { Changes } from '../db/changes.ts';
import type { Database } from '../db/database.ts';
import type { Leaders } from '../db/leader.ts';
import type { SoundFolders } from '../domain/round-sound.ts';
import type { EventReader } from '../events/event-reader.ts';
import type { MirrorMetrics } from '../import/rounds.ts';
import type { ReadHistory } from '../live/server-history.ts';
import type { ServerList } from '../live/server-list.ts';
import type { Config } from '../runtime/config.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Shutdown } from '../runtime/shutdown.ts';
import type { LookUpSteamBans } from '../steam/bans.ts';
import type { SteamApi } from '../steam/steam-api.ts';

/** What every part is given. */
export type Context = {
  config: Config;
  log: Logger;
  now: () => Date;
  /** A monotonic clock in milliseconds, for durations and caches. */
  clockMs: () => number;
  database: Database;
  changes: Changes;
  eventReader: EventReader;
  serverList: ServerList;
  readHistory: ReadHistory;
  steamApi: SteamApi;
  lookUpSteamBans: LookUpSteamBans;
  soundFolders: SoundFolders;
  metrics: Metrics;
  mirrorMetrics: MirrorMetrics;
  onStop: Shutdown['onStop'];
  onStopPart: Shutdown['onStopPart'];
  onDrain: Shutdown['onDrain'];
  isStopping: Shutdown['isStopping'];
  /** Runs the parts that run in one process at a time. */
  leaders: Leaders;
  /** What each part reports in `/readyz`; it does not decide whether the process is ready. */
  health: Map<string, () => unknown>;
};
