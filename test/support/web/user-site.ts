import { beforeEach } from 'bun:test';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { findUserBySteamId, type User } from '../../../src/queries/users/users.ts';
import { aSteamId } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { startSteamOpenIdProvider } from '../providers/steam-openid-provider.ts';
import { type AccountSite, type AccountSiteOptions, startAccountSite } from './account.ts';
import { type Browser, openBrowser, signIn } from './browser.ts';

/** Named by `OWNER_STEAMIDS` of {@link openUserSite}. */
export const CONFIGURED_OWNER = aSteamId(900);

/**
 * The pages for this test file, with a Steam that signs in without asking: a new player in each test.
 */
export async function openUserSite(options: Partial<AccountSiteOptions> = {}) {
  const { db, requestDb } = await createTestDatabase();
  const steam = startSteamOpenIdProvider();
  /** Starts the pages with other settings, beside `site`. */
  function startSite({ settings, ...others }: Partial<AccountSiteOptions>): AccountSite {
    const owners = { ownerSteamIds: [CONFIGURED_OWNER] };
    return startAccountSite({ db: requestDb, steam, settings: { ...owners, ...settings }, ...others });
  }
  const site = startSite(options);
  /** Who signs in during this test, unless the test says otherwise. */
  const player: { steamId: SteamId64 } = { steamId: aSteamId(0) };
  let lastPlayer = 0;
  beforeEach(() => {
    lastPlayer += 1;
    player.steamId = aSteamId(lastPlayer);
    steam.steamId = player.steamId;
    steam.conduct = 'honest';
    site.clock.now = null;
  });

  /** A browser that is signed in as the player of this test, or as another. */
  async function signedIn(
    number = lastPlayer,
    { language = 'en', at = site }: { language?: string; at?: AccountSite } = {},
  ): Promise<Browser> {
    steam.steamId = aSteamId(number);
    const browser = openBrowser(at.origin, { language });
    await signIn(browser);
    return browser;
  }

  /** The player of this test, or another. */
  async function userOf(number = lastPlayer): Promise<User> {
    const user = await findUserBySteamId(db, aSteamId(number));
    if (!user) throw new Error(`no user ${number}`);
    return user;
  }

  return { db, requestDb, steam, site, startSite, player, signedIn, userOf };
}
