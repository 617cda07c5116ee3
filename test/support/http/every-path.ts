import { aSteamId, insertPenalties, insertServer } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { aToken, startTestService } from '../service/service.ts';

/** Paths below a base that answer 200 where {@link serveEveryPath} serves. */
export const PUBLIC_PATHS = [
  '/servers',
  '/servers/one',
  '/servers/1/players',
  '/servers/one/history',
  `/players/${aSteamId(1)}/roundsound`,
  `/players/roundsounds?steamids=${aSteamId(1)}`,
];
/** Takes no parameter, and reads no query. */
export const STEAM_BANS = `/players/${aSteamId(1)}/steam-bans`;
/** The same with a token. */
export const PROTECTED_PATHS = [
  '/penalties',
  '/bans',
  '/mutes',
  '/warns',
  '/penalties/changes',
  `/penalties/active?steamids=${aSteamId(1)}`,
  `/users/lookup?steamid64=${aSteamId(1)}`,
  `/users/lookup/batch?steamids=${aSteamId(1)},${aSteamId(2)}`,
  '/players/search?name=player',
  STEAM_BANS,
];
export const PATHS = [...PUBLIC_PATHS, ...PROTECTED_PATHS];

/** A service with one server and one ban, on a database of the test file's own, and a token for it. */
export async function serveEveryPath() {
  const database = await createTestDatabase();
  await insertServer(database.db, { slug: 'one', name: 'One' });
  await insertPenalties(database.db, [{ type: 'ban' }]);
  const { token } = await aToken(database.db, 1);
  return { token, service: await startTestService({ databaseUrl: database.url }) };
}
