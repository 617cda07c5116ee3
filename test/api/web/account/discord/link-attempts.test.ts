import { afterAll, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { users } from '../../../../../src/db/schema/accounts.ts';
import { aSteamId } from '../../../../support/database/builders.ts';
import { createTestDatabase } from '../../../../support/database/database.ts';
import { startDiscordOAuthProvider } from '../../../../support/providers/discord-oauth-provider.ts';
import { startSteamOpenIdProvider } from '../../../../support/providers/steam-openid-provider.ts';
import { startAccountSite } from '../../../../support/web/account.ts';
import { openBrowser, signIn } from '../../../../support/web/browser.ts';

const { db } = await createTestDatabase();
const steam = startSteamOpenIdProvider();
steam.approvesAtOnce = true;
const discord = startDiscordOAuthProvider();
/** The address of each attempt, and how many are allowed. */
const attempts: string[] = [];
let allowed = 0;
const take = (key: string) => ({ isAllowed: attempts.push(key) <= allowed, resetSeconds: 9 });
const site = startAccountSite({ db, steam, discord, limits: { attempts: { take } } });
afterAll(async () => {
  await site.stop();
  await steam.stop();
  await discord.stop();
});

test('the start and the return of a link count as attempts of the address', async () => {
  steam.steamId = aSteamId(1);
  const browser = openBrowser(site.origin);
  allowed = 2;
  await signIn(browser);
  expect(attempts).toEqual(['127.0.0.1', '127.0.0.1']);
  const refused = await browser.post('/account/discord/link');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '9']);

  allowed = attempts.length + 1;
  const back = await browser.follow(await browser.post('/account/discord/link'));
  expect((await browser.follow(back)).status).toBe(429);
  expect(await findDiscordId()).toBeNull();
  expect(attempts).toEqual(Array(5).fill('127.0.0.1'));

  allowed = attempts.length + 1;
  expect((await browser.follow(back)).status).toBe(303);
  expect(await findDiscordId()).toBe(discord.account.id);
});

async function findDiscordId() {
  const [user] = await db
    .select()
    .from(users)
    .where(eq(users.steamId64, aSteamId(1)));
  return user?.discordId;
}
