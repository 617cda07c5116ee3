import { afterAll } from 'bun:test';
import { eq } from 'drizzle-orm';
import { users } from '../../../src/db/schema/accounts.ts';
import type { UserFlagColumn } from '../../../src/domain/rights/user-flags.ts';
import { aSteamId, insertUser } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { startSteamApi } from '../providers/steam-api.ts';
import { startSteamOpenIdProvider } from '../providers/steam-openid-provider.ts';
import { startAccountSite } from './account.ts';
import { type Browser, openBrowser, type Page, signIn } from './browser.ts';

export const OWNER = aSteamId(900);
/** The nickname and Discord name of user 3. */
export const HOSTILE = '<img src=x onerror=alert(1)>"\'&amp;';
/** A site with an owner, an admin (user 4) and 34 other users, and browsers signed in as the first two. */
export async function openModeration({
  limits = {},
}: Pick<Parameters<typeof startAccountSite>[0], 'limits'> = {}) {
  const { db } = await createTestDatabase();
  const steam = startSteamOpenIdProvider();
  steam.approvesAtOnce = true;
  const steamApi = startSteamApi();
  steamApi.vanityNames.rzeznik = aSteamId(1);
  const site = startAccountSite({
    db,
    steam,
    steamApi: { apiUrl: steamApi.url, apiKey: steamApi.key },
    ownerSteamIds: [OWNER],
    limits,
  });
  afterAll(async () => {
    await site.stop();
    await steam.stop();
    await steamApi.stop();
  });

  await insertUser(db, 1, {
    nickname: 'Rzeźnik',
    discordId: '80351110224678912',
    discordUsername: 'rzeznik.pl',
  });
  await insertUser(db, 2, { nickname: '100%_legit', discordUsername: 'under_score' });
  await insertUser(db, 3, { nickname: HOSTILE, discordId: '3', discordUsername: HOSTILE });
  await insertUser(db, 4, { nickname: 'Admin', isAdmin: true });
  for (let number = 10; number < 40; number++) await insertUser(db, number, { nickname: `Crowd ${number}` });

  /** Signs in as the user of this number. */
  async function as(number: number) {
    steam.steamId = aSteamId(number);
    const browser = openBrowser(site.origin);
    await signIn(browser);
    return browser;
  }

  async function userOf(number: number) {
    const [user] = await db
      .select()
      .from(users)
      .where(eq(users.steamId64, aSteamId(number)));
    if (!user) throw new Error(`no user ${number}`);
    return user;
  }

  return { db, site, steamApi, as, owner: await as(900), admin: await as(4), userOf };
}

/** Opens the page of the user of this number, and saves their flags with exactly these boxes ticked. */
export async function saveFlags(browser: Browser, number: number, ticked: FlagBoxes = {}): Promise<Page> {
  const path = `/account/moderation/users/${aSteamId(number)}`;
  const shown = (await browser.get(path)).field('shown_flags') ?? '';
  return browser.post(`${path}/flags`, { ...ticked, shown_flags: shown });
}

type FlagBoxes = Partial<Record<UserFlagColumn, 'on'>>;
