import { aSteamId } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { findFreePort } from '../machine/free-port.ts';
import { startSteamOpenIdProvider } from '../providers/steam-openid-provider.ts';
import { type Browser, openBrowser, signIn } from '../web/browser.ts';
import { createTool } from './cli.ts';
import { createTestFolder } from './program.ts';
import { startTestService } from './service.ts';

/**
 * The service by the real clock, with its API, pages and files, a Steam that signs anybody in, and the operator's tool
 * on the same database and folders. Caches never expire: only a notification changes what they hold.
 */
export async function openWholeService(env: Record<string, string> = {}) {
  const database = await createTestDatabase();
  const steam = startSteamOpenIdProvider();
  const folder = createTestFolder();
  const port = String(findFreePort());
  const shared = {
    DATA_DIR: `${folder}/data`,
    STORAGE_DIR: `${folder}/storage`,
    ...env,
  };
  const service = await startTestService({
    databaseUrl: database.url,
    hasRealClock: true,
    hasFrozenCaches: true,
    env: { PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}`, STEAM_OPENID_URL: steam.url, ...shared },
  });

  return {
    ...database,
    service,
    steam,
    folder,
    /** A browser that is signed in as the player {@link aSteamId} of `number`. */
    signInAs: async (number: number, options: { language?: string } = {}): Promise<Browser> => {
      steam.steamId = aSteamId(number);
      const browser = openBrowser(service.origin, options);
      await signIn(browser);
      return browser;
    },
    ...createTool({ DATABASE_URL: database.url, ...shared }),
  };
}
