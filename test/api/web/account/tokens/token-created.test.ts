import { afterAll, expect, test } from 'bun:test';
import { aSteamId } from '../../../../support/database/builders.ts';
import { createTestDatabase } from '../../../../support/database/database.ts';
import { startSteamOpenIdProvider } from '../../../../support/providers/steam-openid-provider.ts';
import { startAccountSite } from '../../../../support/web/account.ts';
import { openBrowser, signIn } from '../../../../support/web/browser.ts';

const { db } = await createTestDatabase();
const steam = startSteamOpenIdProvider();
steam.approvesAtOnce = true;
const site = startAccountSite({ db, steam });
afterAll(async () => {
  await site.stop();
  await steam.stop();
});
steam.steamId = aSteamId(1);
const browser = openBrowser(site.origin);
await signIn(browser);

test.each([
  ['penalties', 'curl -H', '/penalties?per_page=5'],
  ['lookup', 'curl -H', `/users/lookup?steamid64=${aSteamId(1)}`],
  ['events', 'curl -N -H', '/events'],
  ['servers', 'curl -H', '/servers'],
])('a new token with the scope %s is shown with a request that it allows', async (scope, curl, path) => {
  const page = await browser.post('/account/tokens', {
    name: scope,
    expires: '30',
    [`scope_${scope}`]: 'on',
  });
  const command = /id="new-token-curl"[^>]*>([^<]+)</.exec(page.text)?.[1] ?? '';
  expect([command.startsWith(curl), command.endsWith(`&quot;${site.origin}/api/v1${path}&quot;`)]).toEqual([
    true,
    true,
  ]);
});
