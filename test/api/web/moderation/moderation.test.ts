import { afterAll, describe, expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { apiTokens, users } from '../../../../src/db/schema/accounts.ts';
import { auditLog } from '../../../../src/db/schema/audit-log.ts';
import { hashApiToken } from '../../../../src/domain/api-token.ts';
import { createApiToken, findLiveApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { saveConfiguredOwners } from '../../../../src/queries/users/owners.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startSteamApi } from '../../../support/providers/steam-api.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';
import { startAccountSite } from '../../../support/web/account.ts';
import { openBrowser, type Page, signIn } from '../../../support/web/browser.ts';

const { db } = await createTestDatabase();
const steam = startSteamOpenIdProvider();
steam.approvesAtOnce = true;
const OWNER = aSteamId(900);
const steamApi = startSteamApi();
steamApi.vanityNames.rzeznik = aSteamId(1);
const site = startAccountSite({
  db,
  steam,
  steamApi: { apiUrl: steamApi.url, apiKey: steamApi.key },
  ownerSteamIds: [OWNER],
});
afterAll(async () => {
  await site.stop();
  await steam.stop();
  await steamApi.stop();
});

const HOSTILE = '<img src=x onerror=alert(1)>"\'&amp;';
await insertUser(db, 1, {
  nickname: 'Rzeźnik',
  discordId: '80351110224678912',
  discordUsername: 'rzeznik.pl',
});
await insertUser(db, 2, { nickname: '100%_legit', discordUsername: 'under_score' });
await insertUser(db, 3, { nickname: HOSTILE, discordId: '3', discordUsername: HOSTILE });
await insertUser(db, 4, { nickname: 'Admin', isAdmin: true });
for (let number = 10; number < 40; number++) await insertUser(db, number, { nickname: `Crowd ${number}` });

async function as(number: number) {
  steam.steamId = aSteamId(number);
  const browser = openBrowser(site.origin);
  await signIn(browser);
  return browser;
}

const owner = await as(900);
const admin = await as(4);

describe('the moderation view', () => {
  test('is for admins and owners alone, every address of it', async () => {
    const player = await as(1);
    expect((await player.get('/account')).text).not.toContain('/account/moderation');
    const { id } = await createApiToken(db, (await userOf(2)).id, {
      name: 'x',
      now: new Date(),
      actor: 'operator',
    });
    const user = `/account/moderation/users/${aSteamId(2)}`;
    for (const path of [
      '/account/moderation',
      '/account/moderation/audit',
      user,
      `${user}/tokens/${id}/revoke`,
    ]) {
      expect([path, (await player.get(path)).status]).toEqual([path, 403]);
      expect([path, (await admin.get(path)).status]).toEqual([path, 200]);
      expect([path, (await openBrowser(site.origin).get(path)).status]).toEqual([path, 303]);
    }
    for (const path of [`${user}/flags`, `${user}/tokens/${id}/revoke`]) {
      expect([path, (await player.post(path)).status]).toEqual([path, 403]);
    }
  });

  test('stops for somebody who was admin, at the next request', async () => {
    await insertUser(db, 50, { isAdmin: true });
    const former = await as(50);
    expect((await former.get('/account/moderation')).status).toBe(200);
    await db
      .update(users)
      .set({ isAdmin: false })
      .where(eq(users.steamId64, aSteamId(50)));
    expect((await former.get('/account/moderation')).status).toBe(403);
  });

  test('finds users by any SteamID notation, profile address, nickname, Discord name and id', async () => {
    for (const query of [
      aSteamId(1),
      'STEAM_1:1:19867136',
      'STEAM_0:1:19867136',
      '[U:1:39734273]',
      `https://steamcommunity.com/profiles/${aSteamId(1)}/`,
      `https://www.steamcommunity.com/profiles/${aSteamId(1)}`,
      `steamcommunity.com/profiles/${aSteamId(1)}?l=polish`,
      `http://steamcommunity.com/profiles/${aSteamId(1)}/games?tab=all#top`,
      'https://steamcommunity.com/profiles/%5BU:1:39734273%5D',
      'https://www.steamcommunity.com/id/rzeznik/?l=polish',
      'rzeź',
      'RZEŹNIK',
      'rzeznik.pl',
      '80351110224678912',
      '  Rzeźnik ',
    ]) {
      expect([query, await found(query)]).toEqual([query, [aSteamId(1)]]);
    }
  });

  test('finds nobody by a custom profile address that Steam does not know, or does not tell', async () => {
    expect(await found('https://steamcommunity.com/id/nobody')).toEqual([]);
    steamApi.answer = 'fails';
    expect(await found('https://steamcommunity.com/id/rzeznik')).toEqual([]);
    steamApi.answer = 'players';
  });

  test('shows those whose nickname nobody can see by the end of their SteamID', async () => {
    await insertUser(db, 80, { nickname: '\u3164\u200b' });
    const page = await admin.get(`/account/moderation?q=${aSteamId(80)}`);
    expect(page.text).toContain('<bdi>Player 0080</bdi>');
  });

  test('takes wildcards, quotes and NUL bytes as what they are', async () => {
    expect(await found('100%_legit')).toEqual([aSteamId(2)]);
    expect(await found('%')).toEqual([aSteamId(2)]);
    expect(await found("'; drop table users; --")).toEqual([]);
    expect(await found('\\')).toEqual([]);
    expect(await found('\u0000')).not.toBeUndefined();
    expect(await found('<img src=x')).toEqual([aSteamId(3)]);
    // Nineteen digits that are more than 63 bits: no id of anybody's.
    expect(await found('9999999999999999999')).toEqual([]);
  });

  test('has pages, and survives senseless page numbers', async () => {
    const first = await admin.get('/account/moderation');
    expect(first.text).toContain('Page 1 of 2');
    expect(first.text).toContain('page=2');
    const second = await admin.get('/account/moderation?page=2');
    expect(second.text).toContain('Page 2 of 2');
    for (const page of ['0', '-1', 'x', '1e9', '']) {
      expect((await admin.get(`/account/moderation?page=${page}`)).text).toContain('Page 1 of 2');
    }
    const past = await admin.get('/account/moderation?page=99');
    expect(past.status).toBe(200);
    expect(past.text).toContain('No results.');
    expect((await admin.get('/account/moderation?page=999999999999999')).status).toBe(200);
  });
});

async function found(query: string): Promise<string[]> {
  const page = await admin.get(`/account/moderation?${new URLSearchParams({ q: query })}`);
  expect(page.status).toBe(200);
  return [...page.text.matchAll(/href="\/account\/moderation\/users\/(\d+)"/g)].map(([, id]) => id ?? '');
}

async function userOf(number: number) {
  const [user] = await db
    .select()
    .from(users)
    .where(eq(users.steamId64, aSteamId(number)));
  if (!user) throw new Error(`no user ${number}`);
  return user;
}

describe('an admin', () => {
  test('revokes any token, which is written down', async () => {
    const target = await userOf(1);
    const { token, id } = await createApiToken(db, target.id, {
      name: 'Leaked',
      now: new Date(),
      actor: 'operator',
    });
    const user = `/account/moderation/users/${aSteamId(1)}`;
    expect((await admin.get(user)).text).toContain('Leaked');
    expect((await admin.get(`${user}/tokens/${id}/revoke`)).text).toContain('Rzeźnik: Programs that use');
    const page = await admin.post(`${user}/tokens/${id}/revoke`);
    expect([page.status, page.location]).toEqual([303, `${user}#tokens`]);
    const after = await admin.follow(page);
    expect(after.text).toContain('Token revoked');
    expect(after.text).toContain('state-revoked');
    expect(await findLiveApiToken(db, hashApiToken(token), new Date())).toBeUndefined();

    const [entry] = await db.select().from(auditLog).where(eq(auditLog.action, 'token.revoked'));
    expect(entry).toMatchObject({
      actorUserId: (await userOf(4)).id,
      subject: aSteamId(1),
      details: { tokenId: id, name: 'Leaked' },
    });
    expect((await admin.post(`${user}/tokens/${id}/revoke`)).status).toBe(404);
    expect((await admin.post(`/account/moderation/users/${aSteamId(2)}/tokens/${id}/revoke`)).status).toBe(
      404,
    );
  });

  test('may not set flags', async () => {
    const path = `/account/moderation/users/${aSteamId(4)}/flags`;
    expect((await admin.post(path, { isOwner: 'on', isAdmin: 'on' })).status).toBe(403);
    expect((await userOf(4)).isOwner).toBe(false);
    expect((await admin.get(`/account/moderation/users/${aSteamId(4)}`)).text).toContain(
      'Only owners can change flags',
    );
  });
});

describe("a user's tokens", () => {
  const LIVE = 3;
  const ENDED = 5_000;

  test('come a page at a time, those that live first, however many were revoked', async () => {
    const clicker = await insertUser(db, 70, { nickname: 'Clicker' });
    for (let number = 1; number <= LIVE; number++) {
      await createApiToken(db, clicker.id, { name: `Live ${number}`, now: new Date(), actor: 'operator' });
    }
    await db.execute(sql`insert into api_tokens (user_id, name, token_hash, last_four, revoked_at, expires_at)
      select ${clicker.id}, 'Ended ' || n || '.', 'clicker ' || n, 'abcd',
        case when n % 2 = 0 then now() end, case when n % 2 = 1 then now() end
      from generate_series(1, ${ENDED}::integer) n`);

    const path = `/account/moderation/users/${clicker.steamId64}`;
    const first = await admin.get(path);
    expect(first.text.length).toBeLessThan(60_000);
    expect(namesOn(first)).toEqual([
      ...['Live 3', 'Live 2', 'Live 1'],
      ...Array.from({ length: 25 }, (_, index) => `Ended ${ENDED - index}.`),
    ]);
    expect(first.text).not.toContain('Newest tokens');
    const second = await admin.get(olderOf(first));
    expect(namesOn(second)).toEqual(Array.from({ length: 25 }, (_, index) => `Ended ${ENDED - 25 - index}.`));
    expect(second.text).toContain(`href="${path}#tokens"`);

    const [beforeLast] = await db.select().from(apiTokens).where(eq(apiTokens.name, 'Ended 2.'));
    const last = await admin.get(`${path}?before=${beforeLast?.id}`);
    expect(namesOn(last)).toEqual(['Ended 1.']);
    expect(olderOf(last)).toBe('');
    for (const before of ['0', '-1', 'x', '1e9', '999999999999999', '99999999999999999999']) {
      expect([before, (await admin.get(`${path}?before=${before}`)).status]).toEqual([before, 200]);
    }
  });

  test('of their own page are the live ones alone', async () => {
    const page = await (await as(70)).get('/account');
    expect(page.text.length).toBeLessThan(20_000);
    expect(namesOn(page)).toEqual(['Live 3', 'Live 2', 'Live 1']);
  });

  function namesOn({ text }: Page): string[] {
    return [...text.matchAll(/<th scope="row" class="list-title list-words">([^<]*)</g)].map(
      ([, name]) => name ?? '',
    );
  }

  function olderOf({ text }: Page): string {
    return /href="([^"]*\?before=\d+)#tokens"/.exec(text)?.[1] ?? '';
  }
});

describe('an owner', () => {
  test('sets and takes flags; only what changed is written down', async () => {
    const path = `/account/moderation/users/${aSteamId(2)}`;
    const page = await owner.post(`${path}/flags`, { hasSvip: 'on', isServiceplus: 'on' });
    expect((await owner.follow(page)).text).toContain('Flags saved');
    expect(await userOf(2)).toMatchObject({
      isAdmin: false,
      isOwner: false,
      hasSvip: true,
      isServiceplus: true,
    });
    await owner.post(`${path}/flags`, { hasSvip: 'on' });
    expect(await userOf(2)).toMatchObject({ hasSvip: true, isServiceplus: false });
    await owner.post(`${path}/flags`, { hasSvip: 'on' });
    const entries = await db
      .select()
      .from(auditLog)
      .where(eq(auditLog.subject, aSteamId(2)));
    expect(entries.filter(({ action }) => action === 'user.flags-set').map(({ details }) => details)).toEqual(
      [{ hasSvip: true, isServiceplus: true }, { isServiceplus: false }],
    );
  });

  test('cannot lose the flag by his own hand or against the configuration', async () => {
    await owner.post(`/account/moderation/users/${OWNER}/flags`, {});
    expect(await userOf(900)).toMatchObject({ isOwner: true, isAdmin: true });
    await insertUser(db, 60, { isOwner: true, isAdmin: true });
    const second = await as(60);
    await second.post(`/account/moderation/users/${OWNER}/flags`, {});
    expect(await userOf(900)).toMatchObject({ isOwner: true, isAdmin: true });
    await second.post(`/account/moderation/users/${aSteamId(60)}/flags`, {});
    expect(await userOf(60)).toMatchObject({ isOwner: true, isAdmin: false });
    await owner.post(`/account/moderation/users/${aSteamId(60)}/flags`, {});
    expect((await userOf(60)).isOwner).toBe(false);
  });

  test('gets 404 for users there are not', async () => {
    for (const id of ['0', 'abc', aSteamId(77_777), '%00']) {
      expect([id, (await owner.post(`/account/moderation/users/${id}/flags`)).status]).toEqual([id, 404]);
    }
  });
});

describe('the audit log', () => {
  test('names the configuration where it made somebody owner, and where that ended', async () => {
    await saveConfiguredOwners(db, [OWNER, aSteamId(60)]);
    const granted = (await admin.get('/account/moderation/audit')).text;
    expect(granted).toContain('<span class="hint">configuration</span>');
    expect(granted).toContain(`href="/account/moderation/users/${aSteamId(60)}"`);
    expect(granted).toContain('Admin: true · Owner: true');
    await saveConfiguredOwners(db, [OWNER]);
    expect((await admin.get('/account/moderation/audit')).text).toContain('Admin: false · Owner: false');
    const polish = await admin.get('/account/moderation/audit?lang=pl');
    expect(polish.text).toContain('<span class="hint">konfiguracja</span>');
    expect(polish.text).toContain('Admin: false · Właściciel: false');
    await admin.get('/account?lang=en');
  });

  test('tells who did what to whom, newest first, a page at a time', async () => {
    const page = await admin.get('/account/moderation/audit');
    expect(page.text).toContain('set flags');
    expect(page.text).toContain('SVIP: true · Premium: true');
    const actor = await userOf(900);
    await db.insert(auditLog).values(
      Array.from({ length: 60 }, (_, index) => ({
        actorUserId: index === 0 ? null : actor.id,
        action: 'token.created',
        subject: aSteamId(2),
        details: { name: `Filler ${index}` },
      })),
    );
    const newest = await admin.get('/account/moderation/audit');
    expect(newest.text).toContain('Filler 59');
    expect(newest.text).not.toContain('Filler 9<');
    const before = /audit\?before=(\d+)/.exec(newest.text)?.[1];
    const older = await admin.get(`/account/moderation/audit?before=${before}`);
    expect(older.text).toContain('name: Filler 9<');
    expect(older.text).toContain('operator');
    expect(older.text).toContain('Newest entries');
  });
});

test('what a player calls himself is never markup, wherever it is shown', async () => {
  const hostile = await as(3);
  await hostile.post('/account/tokens', { name: HOSTILE.slice(0, 64) });
  const created = await hostile.post('/account/tokens', { name: HOSTILE });
  const [row] = await db
    .select()
    .from(apiTokens)
    .where(eq(apiTokens.userId, (await userOf(3)).id));
  const token = row?.id;
  const user = `/account/moderation/users/${aSteamId(3)}`;
  const pages = [
    created,
    await hostile.get('/account'),
    await hostile.get('/account?lang=pl'),
    await hostile.get(`/account/tokens/${token}/revoke`),
    await hostile.get('/account/discord/unlink'),
    await admin.get(user),
    await admin.get(`${user}/tokens/${token}/revoke`),
    await admin.get(`/account/moderation?${new URLSearchParams({ q: HOSTILE })}`),
    await admin.get('/account/moderation/audit'),
  ];
  for (const page of pages) {
    expect([page.url, page.status]).toEqual([page.url, 200]);
    expect([page.url, page.text.includes('<img src=x')]).toEqual([page.url, false]);
    expect([page.url, page.text.includes('&lt;img src=x')]).toEqual([page.url, true]);
    // Nor does the quote end an attribute.
    expect(page.text).not.toMatch(/="[^"]*onerror=alert\(1\)>"[^>]*'/);
  }
});
