import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { inTransaction } from '../../../../src/db/client.ts';
import { apiTokens, auditLog, users } from '../../../../src/db/schema/accounts.ts';
import type { SteamId64 } from '../../../../src/domain/steam-id.ts';
import { createApiToken } from '../../../../src/queries/users/api-tokens.ts';
import {
  aSteamId,
  insertReadySound as insertSoundOf,
  insertUser,
} from '../../../support/database/builders.ts';
import type { Browser } from '../../../support/web/browser.ts';
import { noticesOf } from '../../../support/web/page-text.ts';
import { openSoundSite, PLAYER } from '../../../support/web/sound-site.ts';

const { notices } = en;

const { db, visit, insertReadySound, signedIn } = await openSoundSite();
const PLAYER_PAGE = `/account/moderation/users/${PLAYER}`;

/** Posts a form that ends or removes something twice at once, as a double click does, then once more. */
async function repeat(browser: Browser, path: string) {
  await browser.get('/account');
  const pages = await Promise.all([browser.post(path), browser.post(path)]);
  pages.push(await browser.post(path));
  return pages.map(({ status, location }) => `${status} ${location}`);
}

async function createTokenOf(steamId64: SteamId64): Promise<number> {
  const [user] = await db.select().from(users).where(eq(users.steamId64, steamId64));
  const options = { name: 'Old', now: new Date(), actor: 'operator' } as const;
  return (await inTransaction(db, (tx) => createApiToken(tx, user?.id ?? 0, options))).id;
}

async function openAdmin(): Promise<Browser> {
  await insertUser(db, 7, { isAdmin: true });
  return signedIn(7);
}

test.each<[what: string, path: string, back: string, notice: keyof typeof notices, entry: string]>([
  ['token', '/account/tokens/:id/revoke', '/account#tokens', 'token-revoked', 'token.revoked'],
  ['sound', '/account/roundsound/delete', '/account#sound', 'sound-already-removed', 'sound.removed'],
  ['link to Discord', '/account/discord/unlink', '/account#discord', 'discord-unlinked', 'discord.unlinked'],
  [
    'token of a player',
    `${PLAYER_PAGE}/tokens/:id/revoke`,
    `${PLAYER_PAGE}#tokens`,
    'token-revoked',
    'token.revoked',
  ],
  [
    'sound of a list',
    `/account/moderation/sounds/${PLAYER}/delete`,
    '/account/moderation/sounds#sounds',
    'sound-already-removed',
    'sound.removed',
  ],
  [
    'sound of a player',
    `${PLAYER_PAGE}/sound/delete`,
    `${PLAYER_PAGE}#sounds`,
    'sound-already-removed',
    'sound.removed',
  ],
])(
  'ending or deleting a %s three times does it once and leads to the same card',
  async (_, path, back, notice, entry) => {
    const id = await createTokenOf(PLAYER);
    await insertReadySound('old.mp3');
    await db.update(users).set({ discordId: '80351110224678912' }).where(eq(users.steamId64, PLAYER));
    const browser = path.includes('moderation') ? await openAdmin() : visit.browser;
    const responses = await repeat(browser, path.replace(':id', String(id)));
    expect(responses).toEqual(Array(3).fill(`303 ${back}`));
    expect(noticesOf((await browser.get(back)).text)).toEqual([[back.split('#')[1], notices[notice]]]);
    expect(await db.$count(auditLog, eq(auditLog.action, entry))).toBe(1);
  },
);

test('signing out works again without the session that has ended', async () => {
  const { browser } = visit;
  await browser.get('/account');
  const stale = new Map(browser.cookies);
  expect((await browser.post('/account/sign-out')).location).toBe('/account');
  for (const cookies of [stale, new Map<string, string>()]) {
    browser.cookies.clear();
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    const again = await browser.post('/account/sign-out');
    expect([again.status, again.location]).toEqual([303, '/account']);
    expect(noticesOf((await browser.get('/account')).text)).toEqual([[undefined, notices['signed-out']]]);
  }
});

test('revoking a token of somebody else than the page shows, or of nobody, gives 404', async () => {
  const admin = await openAdmin();
  const id = await createTokenOf(aSteamId(7));
  for (const wrong of [id, 999_999, 'abc', '%00']) {
    const path = `${PLAYER_PAGE}/tokens/${wrong}/revoke`;
    expect([wrong, (await admin.post(path)).status]).toEqual([wrong, 404]);
  }
  const [token] = await db.select().from(apiTokens).where(eq(apiTokens.id, id));
  expect(token?.revokedAt).toBeNull();
  expect((await admin.post('/account/moderation/sounds/abc/delete')).status).toBe(404);
});

test('deleting the only thing known of a player three times leads back to their record', async () => {
  const admin = await openAdmin();
  const unknown = aSteamId(40);
  await insertSoundOf(db, unknown);
  const path = `/account/moderation/users/${unknown}`;
  expect(await repeat(admin, `${path}/sound/delete`)).toEqual(Array(3).fill(`303 ${path}#sounds`));
});
