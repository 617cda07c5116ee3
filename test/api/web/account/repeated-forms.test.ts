import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { apiTokens, auditLog, users } from '../../../../src/db/schema/accounts.ts';
import type { SteamId64 } from '../../../../src/domain/steam-id.ts';
import { createApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { publishedPath } from '../../../support/audio/sound-folders.ts';
import {
  aSteamId,
  insertReadySound as insertSoundOf,
  insertUser,
} from '../../../support/database/builders.ts';
import type { Browser } from '../../../support/web/browser.ts';
import { openSoundSite, PLAYER } from '../../../support/web/sound-site.ts';

const { en } = PAGE_TEXTS;

const { db, folders, visit, insertReadySound, signedIn } = await openSoundSite();
const PLAYER_PAGE = `/account/moderation/users/${PLAYER}`;

/** Posts a form that ends or removes something twice at once, as a double click does, then once more. */
async function repeat(browser: Browser, path: string) {
  await browser.get('/account');
  const pages = await Promise.all([browser.post(path), browser.post(path)]);
  pages.push(await browser.post(path));
  return pages.map(({ status, location }) => `${status} ${location}`);
}

async function readNotice(browser: Browser, location: string): Promise<string> {
  const { text } = await browser.get(location);
  return /<p class="notice"[^>]*>.*?<span>([^<]*)</s.exec(text)?.[1] ?? '';
}

async function countEntries(action: string): Promise<number> {
  return (await db.select().from(auditLog).where(eq(auditLog.action, action))).length;
}

async function createTokenOf(steamId64: SteamId64): Promise<number> {
  const [user] = await db.select().from(users).where(eq(users.steamId64, steamId64));
  const options = { name: 'Old', now: new Date(), actor: 'operator' } as const;
  return (await createApiToken(db, user?.id ?? 0, options)).id;
}

async function openAdmin(): Promise<Browser> {
  await insertUser(db, 7, { isAdmin: true });
  return signedIn(7);
}

describe('a member who repeats a form ends where the first request did', () => {
  test('revoking an own token three times revokes it once and leads to the same page', async () => {
    const { browser } = visit;
    const id = await createTokenOf(PLAYER);
    expect(await repeat(browser, `/account/tokens/${id}/revoke`)).toEqual(
      Array(3).fill('303 /account#tokens'),
    );
    expect(await readNotice(browser, '/account#tokens')).toBe(en.notices['token-revoked']);
    expect(await countEntries('token.revoked')).toBe(1);
  });

  test('deleting an own sound three times deletes it once and leads to the same page', async () => {
    const { browser } = visit;
    await insertReadySound('old.mp3');
    expect(await repeat(browser, '/account/roundsound/delete')).toEqual(Array(3).fill('303 /account#sound'));
    expect(await readNotice(browser, '/account#sound')).toBe(en.notices['sound-already-removed']);
    expect(await Bun.file(publishedPath(folders, PLAYER)).exists()).toBe(false);
    expect(await countEntries('sound.removed')).toBe(1);
  });

  test('unlinking Discord three times unlinks it once and leads to the same page', async () => {
    const { browser } = visit;
    await db.update(users).set({ discordId: '80351110224678912' }).where(eq(users.steamId64, PLAYER));
    expect(await repeat(browser, '/account/discord/unlink')).toEqual(Array(3).fill('303 /account#discord'));
    expect(await readNotice(browser, '/account#discord')).toBe(en.notices['discord-unlinked']);
    expect(await countEntries('discord.unlinked')).toBe(1);
  });

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
      expect(await readNotice(browser, '/account')).toBe(en.notices['signed-out']);
    }
  });
});

describe('a moderator who repeats a form ends where the first request did', () => {
  test('an admin who revokes a token three times revokes it once and is led to the same page', async () => {
    const admin = await openAdmin();
    const path = `${PLAYER_PAGE}/tokens/${await createTokenOf(PLAYER)}/revoke`;
    expect(await repeat(admin, path)).toEqual(Array(3).fill(`303 ${PLAYER_PAGE}#tokens`));
    expect(await readNotice(admin, `${PLAYER_PAGE}#tokens`)).toBe(en.notices['token-revoked']);
    expect(await countEntries('token.revoked')).toBe(1);
  });

  test('revoking a token of somebody else, or of nobody, gives 404', async () => {
    const admin = await openAdmin();
    const id = await createTokenOf(aSteamId(7));
    for (const wrong of [id, 999_999, 'abc', '%00']) {
      const path = `${PLAYER_PAGE}/tokens/${wrong}/revoke`;
      expect([wrong, (await admin.post(path)).status]).toEqual([wrong, 404]);
    }
    const [token] = await db.select().from(apiTokens).where(eq(apiTokens.id, id));
    expect(token?.revokedAt).toBeNull();
  });

  test.each([
    [`/account/moderation/sounds/${PLAYER}/delete`, '/account/moderation/sounds#sounds'],
    [`${PLAYER_PAGE}/sound/delete`, `${PLAYER_PAGE}#sounds`],
  ])('a moderator who deletes a sound three times at %s deletes it once', async (path, back) => {
    await insertReadySound('rude.mp3');
    const admin = await openAdmin();
    expect(await repeat(admin, path)).toEqual(Array(3).fill(`303 ${back}`));
    expect(await readNotice(admin, back)).toBe(en.notices['sound-already-removed']);
    expect(await countEntries('sound.removed')).toBe(1);
    expect((await admin.post('/account/moderation/sounds/abc/delete')).status).toBe(404);
  });

  test('deleting the only thing known of a player three times leads back to their record', async () => {
    const admin = await openAdmin();
    const unknown = aSteamId(40);
    await insertSoundOf(db, unknown);
    const path = `/account/moderation/users/${unknown}`;
    expect(await repeat(admin, `${path}/sound/delete`)).toEqual(Array(3).fill(`303 ${path}#sounds`));
  });
});
