import type { Route } from '../http/route-definition.ts';
import { listPenaltyChanges, streamEvents } from './events/events.ts';
import { listActivePenalties } from './penalties/active-penalties.ts';
import { listBans, listMutes, listPenalties, listWarnings } from './penalties/penalties.ts';
import { getPenalty } from './penalties/penalty.ts';
import { exportPenalties } from './penalties/penalty-export.ts';
import { listPenaltyServers } from './penalties/penalty-servers.ts';
import { searchPlayers } from './players/player-search.ts';
import { getRoundSound, listRoundSounds } from './players/round-sounds.ts';
import { getSteamBans } from './players/steam-bans.ts';
import { getServerHistory } from './servers/server-history.ts';
import { getServer, listServerPlayers, listServers } from './servers/servers.ts';
import { getToken } from './users/token.ts';
import { lookupUser, lookupUsers } from './users/users.ts';

/** Every route of the API, in the order of the OpenAPI document. */
export const ROUTES = [
  listServers,
  getServer,
  listServerPlayers,
  getServerHistory,
  getRoundSound,
  listRoundSounds,
  getSteamBans,
  listPenalties,
  listBans,
  listMutes,
  listWarnings,
  listActivePenalties,
  exportPenalties,
  listPenaltyServers,
  getPenalty,
  lookupUser,
  lookupUsers,
  searchPlayers,
  getToken,
  listPenaltyChanges,
  streamEvents,
] as const;

/** What the handlers of all routes need. */
export type EndpointDeps = [(typeof ROUTES)[number]] extends [Route<infer Deps>] ? Deps : never;
