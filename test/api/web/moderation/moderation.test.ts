import { beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { pl } from '../../../../api/web/locales/pl.ts';
import { userFlags, users } from '../../../../src/db/schema/accounts.ts';
import { parseSteamId } from '../../../../src/domain/steam-id.ts';
import {
  aSteamId,
  insertPenalties,
  insertReadySound,
  insertUser,
} from '../../../support/database/builders.ts';
import { openModeration } from '../../../support/web/moderation.ts';
import { cardOf, noticesOf, rowsOf, textOf } from '../../../support/web/page-text.ts';

const { columns, inForce, permanently } = en.penalties;

const { db, steamApi, as, admin, userOf } = await openModeration();

const WITH_ACCOUNT = aSteamId(501);
const WITHOUT_ACCOUNT = aSteamId(502);

/** Ids of penalties, in the order in which they are inserted below. */
let ids: number[];

beforeAll(async () => {
  await insertUser(db, 501, { nickname: 'Żniwiarz' });
  await insertUser(db, 503, { nickname: 'Ștefan', discordUsername: 'zoë' });
  await insertUser(db, 504, { nickname: 'Ștefan 2' });
  const rows = await insertPenalties(db, [
    { playerSteamId: aSteamId(504), playerName: 'Łowca' },
    { playerSteamId: WITH_ACCOUNT, playerName: 'Żniwiarz', reason: 'Aimbot' },
    { playerSteamId: WITHOUT_ACCOUNT, playerName: 'zniwiarz2', reason: 'Wallhack', createdAt: new Date() },
    { playerSteamId: WITHOUT_ACCOUNT, playerName: 'Old name', type: 'warn', status: 'EXPIRED' },
  ]);
  ids = rows.map(({ id }) => id);
});

const card = (text: string, id: string) => textOf(cardOf(text, id));

const search = async (query: string) =>
  (await admin.get(`/account/moderation?${new URLSearchParams({ q: query })}`)).text;

describe('the moderation view', () => {
  test('a former admin is refused from the next request on', async () => {
    await insertUser(db, 50, { isAdmin: true });
    const former = await as(50);
    expect((await former.get('/account/moderation')).status).toBe(200);
    await db
      .update(users)
      .set({ isAdmin: false })
      .where(eq(users.steamId64, aSteamId(50)));
    expect((await former.get('/account/moderation')).status).toBe(403);
  });

  test('finds users however they are written: SteamIDs, profile addresses, account ids, Discord, names', async () => {
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
      '<@80351110224678912>',
      '<@!80351110224678912>',
      '@Rzeznik.PL',
      'U:1:39734273',
      'u:1:39734273',
      '39734273',
      '  Rzeźnik ',
    ]) {
      expect([query, await found(query)]).toEqual([query, [aSteamId(1)]]);
    }
  });

  test('takes digits and @names of nobody as names', async () => {
    for (const [number, nickname] of [
      [70, 'cs 1999 fan'],
      [71, '@nobody linked'],
    ] as const) {
      await insertUser(db, number, { nickname });
    }
    expect(await found('1999')).toEqual([aSteamId(70)]);
    expect(await found('@nobody')).toEqual([aSteamId(71)]);
    // The account of this id is of a player without an account here, who has a penalty.
    await insertPenalties(db, [{ playerSteamId: parseSteamId('[U:1:1999]'), playerName: 'Second' }]);
    expect(await found('1999')).toEqual([parseSteamId('[U:1:1999]')]);
  });

  test('finds nobody by a custom profile address that Steam does not know, or does not tell', async () => {
    expect(await found('https://steamcommunity.com/id/nobody')).toEqual([]);
    steamApi.answer = 'fails';
    expect(await found('https://steamcommunity.com/id/another')).toEqual([]);
    const unresolved = await admin.get('/account/moderation?q=https://steamcommunity.com/id/another');
    expect(unresolved.text).toContain(en.moderation.unresolved);
    steamApi.answer = 'players';
  });

  test('shows texts of members so that they do not reorder the text beside them', async () => {
    await insertUser(db, 81, { discordId: '81', discordUsername: 'a\u202eb' });
    const member = await as(82);
    await member.get('/account');
    await member.post('/account/tokens', { name: 'x\u202eabc' });
    expect((await admin.get('/account/moderation/audit')).text).toContain(
      `<span>${en.moderation.detailLabels.name}: xabc · `,
    );
    for (const path of [`?q=${aSteamId(81)}`, `/users/${aSteamId(81)}`]) {
      expect((await admin.get(`/account/moderation${path}`)).text).toContain('<bdi>a\u202eb</bdi>');
    }
  });

  test('shows users with an invisible nickname by the end of their SteamID', async () => {
    await insertUser(db, 80, { nickname: '\u3164\u200b' });
    const page = await admin.get(`/account/moderation?q=${aSteamId(80)}`);
    expect(page.text).toContain(`<bdi>${en.shell.unknownNickname} 0080</bdi>`);
  });

  test('takes wildcards, quotes and NUL bytes literally', async () => {
    expect(await found('100%_legit')).toEqual([aSteamId(2)]);
    expect(await found('%')).toEqual([aSteamId(2)]);
    expect(await found("'; drop table users; --")).toEqual([]);
    expect(await found('\\')).toEqual([]);
    expect(await found('\u0000')).not.toBeUndefined();
    expect(await found('<img src=x')).toEqual([aSteamId(3)]);
    // Only the whole name of a Discord account.
    expect(await found('@rzeznik')).toEqual([]);
    // Nineteen digits, but more than 63 bits: not an id.
    expect(await found('9999999999999999999')).toEqual([]);
  });

  test('filters users by flag, with their penalties', async () => {
    await insertPenalties(db, [
      { playerSteamId: aSteamId(4), status: 'EXPIRED' },
      { playerSteamId: aSteamId(4) },
    ]);
    const { text } = await admin.get('/account/moderation?flag=is_admin&q=adm');
    expect(rowsOf(text)).toEqual([
      expect.stringMatching(
        new RegExp(
          ` Admin \\d+ ${en.moderation.noDiscord} 2 ${en.penalties.inForce.ban} ${en.account.badges.isAdmin} 0 now$`,
        ),
      ),
    ]);
  });

  test('the list of users has pages, and tolerates invalid page numbers', async () => {
    const first = await admin.get('/account/moderation');
    expect(first.text).toContain(en.shell.page(1, 2));
    expect(first.text).toContain('page=2');
    const second = await admin.get('/account/moderation?page=2');
    expect(second.text).toContain(en.shell.page(2, 2));
    for (const page of ['0', '-1', 'x', '1e9', '']) {
      expect((await admin.get(`/account/moderation?page=${page}`)).text).toContain(en.shell.page(1, 2));
    }
    const past = await admin.get('/account/moderation?page=99');
    expect(past.status).toBe(200);
    expect(past.text).toContain(en.penalties.nothingFound);
    expect(past.text).not.toContain('Page 99');
    expect(past.text).toMatch(/rel="prev" href="[^"]*page=2"/);
    expect((await admin.get('/account/moderation?page=999999999999999')).status).toBe(200);
  });
});

test('a reason for a block that is too long is shown again, with what was entered and why', async () => {
  const path = `/account/moderation/users/${aSteamId(2)}`;
  const reason = `"<b>${'x'.repeat(196)}"`;
  for (const [language, words] of [
    ['en', en.errors['block-reason'](200)],
    ['pl', pl.errors['block-reason'](200)],
  ] as const) {
    const form = await admin.get(path);
    expect(form.text).toContain(`action="${path}/block#block"`);
    const page = await admin.post(`${path}/block`, { reason }, { 'accept-language': language });
    expect(page.status).toBe(400);
    expect(page.text).toContain(words);
    expect(page.text).toContain(`action="${path}/block#block"`);
    expect(page.text).toContain(`value="&quot;&lt;b&gt;${'x'.repeat(196)}&quot;"`);
    expect((await userOf(2)).blockedAt).toBeNull();
  }
  const blocked = await admin.follow(await admin.post(`${path}/block`, { reason: `${'😀'.repeat(200)}  ` }));
  expect(noticesOf(blocked.text)).toEqual([['block', en.notices['user-blocked']]]);
  expect((await userOf(2)).blockReason).toBe('😀'.repeat(200));
  const unblocked = await admin.follow(await admin.post(`${path}/unblock`));
  expect(noticesOf(unblocked.text)).toEqual([['block', en.notices['user-unblocked']]]);
});

describe('the search of the moderation', () => {
  test('finds players without an account by part of a name, whatever its diacritics', async () => {
    expect(card(await search('ZNIWI'), 'players')).toBe(
      `${en.moderation.playersWithoutAccount} ${en.penalties.columns.player} ${en.account.steamId} ${en.moderation.columns.penalties} ${en.moderation.columns.seen} zniwiarz2 ${WITHOUT_ACCOUNT} 2 ${inForce.ban} now`,
    );
    expect(await search('ZNIWI')).toContain(`href="/account/moderation/users/${WITHOUT_ACCOUNT}"`);
  });

  test('finds users by a nickname, a name in a penalty or a Discord name, whatever its diacritics', async () => {
    expect(await found('stefan')).toEqual([aSteamId(504), aSteamId(503)]);
    expect(await found('ŞTEFAN')).toEqual([aSteamId(504), aSteamId(503)]);
    expect(await found('lowca')).toEqual([aSteamId(504)]);
    expect(await found('LO')).toEqual([aSteamId(504)]);
    expect(await found('zoe')).toEqual([aSteamId(503)]);
    expect(await found('\u0301')).toEqual([]);
  });

  test.each([
    ['old nam', 'zniwiarz2 Old name'],
    ['zniwiarz2', 'zniwiarz2'],
    [WITHOUT_ACCOUNT, 'zniwiarz2'],
  ])('finds a player without an account by %s, and says by which name', async (query, words) => {
    const text = await search(query);
    expect(card(text, 'players')).toContain(words);
    expect(text).not.toContain(en.penalties.nothingFound);
  });

  test('says that there is nobody only where neither list has anybody', async () => {
    expect(await search('stefan')).not.toContain(en.penalties.nothingFound);
    expect(await search('nobody at all')).toContain(en.penalties.nothingFound);
  });

  test('finds players without an account beside many users of such a name', async () => {
    for (let number = 600; number < 630; number++) {
      await insertUser(db, number, { nickname: `Zebrowskaa ${number}`, signedInAt: new Date() });
    }
    await insertPenalties(db, [{ playerSteamId: aSteamId(699), playerName: 'Zebrowiec' }]);
    expect(card(await search('zebrow'), 'players')).toContain('Zebrowiec');
  });

  test('shows those with an account once, among the users', async () => {
    expect(card(await search(WITH_ACCOUNT), 'users')).toContain('Żniwiarz');
    expect(card(await search(WITH_ACCOUNT), 'players')).toBe('');
    for (const query of ['', 'nobody at all', aSteamId(599), '%', 'a\0b', '\0']) {
      expect([query, card(await search(query), 'players')]).toEqual([query, '']);
    }
  });
});

describe('the page of a player', () => {
  test('shows penalties, sound, link and tokens of a user', async () => {
    await insertReadySound(db, WITH_ACCOUNT, 'theme.wav');
    const { text } = await admin.get(`/account/moderation/users/${WITH_ACCOUNT}`);
    expect(card(text, 'penalties')).toContain(
      `${inForce.ban} ${permanently('ban')} #${ids[1]} ${columns.reason} Aimbot`,
    );
    expect(card(text, 'sounds')).toContain('theme');
    expect(card(text, 'tokens')).toContain(en.moderation.noTokens);
    expect(text).toContain(en.moderation.noDiscord);
  });

  test('players without an account have a page', async () => {
    const page = await admin.get(`/account/moderation/users/${WITHOUT_ACCOUNT}`);
    expect(page.status).toBe(200);
    expect(textOf(page.text)).toContain(en.moderation.noAccount);
    expect(card(page.text, 'penalties')).toContain(
      `${inForce.ban} ${permanently('ban')} #${ids[2]} ${columns.reason} Wallhack`,
    );
    expect(card(page.text, 'sounds')).toContain(en.roundSound.moderation.none);
    expect([card(page.text, 'tokens'), card(page.text, 'flags')]).toEqual(['', '']);
    const endsAt = new Date('2030-01-02T03:04:05Z');
    await db
      .insert(userFlags)
      .values({ steamId64: WITHOUT_ACCOUNT, flag: 'has_svip', source: 'vipcore', endsAt });
    const { text } = await admin.get(`/account/moderation/users/${WITHOUT_ACCOUNT}`);
    expect(card(text, 'flags')).toMatch(
      new RegExp(
        `${en.account.flagSources.vipcore}, ${en.account.until} .*2030.* ${en.moderation.laterFlags}$`,
      ),
    );
  });

  test('players of whom only a sound is known have a page; an invalid SteamID gives 404', async () => {
    await insertReadySound(db, aSteamId(698));
    for (const [id, status] of [
      [aSteamId(698), 200],
      ['x', 404],
      ['0', 404],
    ] as const) {
      const page = await admin.get(`/account/moderation/users/${id}`);
      expect([id, page.status]).toEqual([id, status]);
      expect(card(page.text, 'sounds')).not.toContain(en.roundSound.moderation.none);
    }
  });
});

async function found(query: string): Promise<string[]> {
  const page = await admin.get(`/account/moderation?${new URLSearchParams({ q: query })}`);
  expect(page.status).toBe(200);
  return [...page.text.matchAll(/href="\/account\/moderation\/users\/(\d+)"/g)].map(([, id]) => id ?? '');
}
