import type { UserFlagColumn } from '../../../src/domain/rights/user-flags.ts';
import { aSteamId, insertUser } from '../database/builders.ts';
import { startSteamApi } from '../providers/steam-api.ts';
import type { AccountSiteOptions } from './account.ts';
import type { Browser, Page } from './browser.ts';
import { CONFIGURED_OWNER, openMemberSite } from './member-site.ts';

export const OWNER = CONFIGURED_OWNER;
/** The nickname and Discord name of user 3. */
export const HOSTILE = '<img src=x onerror=alert(1)>"\'&amp;';

/** A site with an owner, an admin (user 4) and 34 other users, and browsers signed in as the first two. */
export async function openModeration({ limits = {} }: Pick<AccountSiteOptions, 'limits'> = {}) {
  const steamApi = startSteamApi();
  steamApi.vanityNames.rzeznik = aSteamId(1);
  const { db, site, signedIn, userOf } = await openMemberSite({
    steamApi: { apiUrl: steamApi.url, apiKey: steamApi.key },
    limits,
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

  return {
    db,
    site,
    steamApi,
    as: signedIn,
    owner: await signedIn(900),
    admin: await signedIn(4),
    userOf,
  };
}

/** Opens the page of the user of this number, and saves their flags with exactly these boxes ticked. */
export async function saveFlags(browser: Browser, number: number, ticked: FlagBoxes = {}): Promise<Page> {
  const path = `/account/moderation/users/${aSteamId(number)}`;
  const shown = (await browser.get(path)).field('shown_flags') ?? '';
  return browser.post(`${path}/flags`, { ...ticked, shown_flags: shown });
}

type FlagBoxes = Partial<Record<UserFlagColumn, 'on'>>;
