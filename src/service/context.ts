import type { Logger } from 'pino';
import type { SoundFolders } from '../../media/sound-folders.ts';
import type { Changes } from '../db/changes.ts';
import type { Database } from '../db/database.ts';
import type { LeaseName } from '../db/lease/lease-row.ts';
import type { EventReader } from '../events/event-reader.ts';
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
  /** Milliseconds by a clock that is never set: what durations in memory are measured by. */
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
  onStop: Shutdown['onStop'];
  onStopPart: Shutdown['onStopPart'];
  onDrain: Shutdown['onDrain'];
  isStopping: Shutdown['isStopping'];
  /** Whether this process runs a part that one process runs at a time. */
  leaders: Map<LeaseName, () => boolean>;
  /** What each part says of itself in `/readyz`; it does not decide whether the process is ready. */
  health: Map<string, () => unknown>;
};
