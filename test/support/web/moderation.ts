import { aSteamId, insertUser } from '../database/builders.ts';
import { startSteamApi } from '../providers/steam-api.ts';
import type { AccountSiteOptions } from './account.ts';
import { openUserSite } from './user-site.ts';

/** The nickname and Discord name of user 3. */
export const HOSTILE = '<img src=x onerror=alert(1)>"\'&amp;';

/** A site with an owner, an admin (user 4) and 34 other users, and browsers signed in as the first two. */
export async function openModeration({ limits = {} }: Pick<AccountSiteOptions, 'limits'> = {}) {
  const steamApi = startSteamApi();
  steamApi.vanityNames.rzeznik = aSteamId(1);
  const { db, site, signedIn, userOf } = await openUserSite({
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
