import { afterAll, beforeEach } from 'bun:test';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { aSteamId } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { startSteamOpenIdProvider } from '../providers/steam-openid-provider.ts';
import { type AccountSiteOptions, startAccountSite } from './account.ts';
import { type Browser, openBrowser, signIn } from './browser.ts';

/** Named by `OWNER_STEAMIDS` of {@link openMemberSite}. */
export const CONFIGURED_OWNER = aSteamId(900);

/**
 * The pages for this test file, with a Steam that signs in without asking: a new player in each test. Stopped when the
 * file's tests are done.
 */
export async function openMemberSite(options: Partial<AccountSiteOptions> = {}) {
  const { db } = await createTestDatabase();
  const steam = startSteamOpenIdProvider();
  const site = startAccountSite({ db, steam, ownerSteamIds: [CONFIGURED_OWNER], ...options });
  /** Who signs in during this test, unless the test says otherwise. */
  const player: { steamId: SteamId64 } = { steamId: aSteamId(0) };
  let lastPlayer = 0;
  beforeEach(() => {
    lastPlayer += 1;
    player.steamId = aSteamId(lastPlayer);
    steam.steamId = player.steamId;
    steam.conduct = 'honest';
    steam.approvesAtOnce = true;
    site.clock.now = null;
  });
  afterAll(async () => {
    await site.stop();
    await steam.stop();
    await options.discord?.stop();
  });

  /** A browser that is signed in as the player of this test, or as another. */
  async function signedIn(number = lastPlayer, language = 'en'): Promise<Browser> {
    Object.assign(steam, { steamId: aSteamId(number), approvesAtOnce: true });
    const browser = openBrowser(site.origin, { language });
    await signIn(browser);
    return browser;
  }

  return { db, steam, site, player, signedIn };
}
