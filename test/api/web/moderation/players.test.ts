import { beforeAll, describe, expect, test } from 'bun:test';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { userFlags } from '../../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import {
  aSteamId,
  insertPenalties,
  insertReadySound,
  insertUser,
} from '../../../support/database/builders.ts';
import { openModeration } from '../../../support/web/moderation.ts';
import { textOf } from '../../../support/web/page-text.ts';

const { en } = PAGE_TEXTS;
const { columns, inForce, permanently } = en.penalties;

const { db, admin } = await openModeration();
const NOW = new Date();
const WITH_ACCOUNT = aSteamId(501);
const WITHOUT_ACCOUNT = aSteamId(502);

beforeAll(async () => {
  await insertUser(db, 501, { nickname: 'Rzeźnik' });
  await insertUser(db, 503, { nickname: 'Ștefan', discordUsername: 'zoë' });
  await insertUser(db, 504, { nickname: 'Ștefan 2' });
  await insertPenalties(db, [
    { playerSteamId: aSteamId(504), playerName: 'Łowca' },
    { playerSteamId: WITH_ACCOUNT, playerName: 'Rzeźnik', reason: 'Aimbot' },
    { playerSteamId: WITHOUT_ACCOUNT, playerName: 'rzeznik2', reason: 'Wallhack', createdAt: NOW },
    { playerSteamId: WITHOUT_ACCOUNT, playerName: 'Old name', type: 'warn', status: 'EXPIRED' },
  ]);
});

function card(text: string, id: string): string {
  return textOf(new RegExp(`<section class="card" id="${id}".*?</section>`, 's').exec(text)?.[0] ?? '');
}

const search = async (query: string) =>
  (await admin.get(`/account/moderation?${new URLSearchParams({ q: query })}`)).text;

describe('the search of the moderation', () => {
  test('finds players without an account by part of a name, whatever its diacritics', async () => {
    expect(card(await search('RZEZN'), 'players')).toBe(
      `${en.moderation.playersWithoutAccount} ${en.penalties.columns.player} ${en.account.steamId} ${en.moderation.columns.penalties} ${en.moderation.columns.seen} rzeznik2 ${WITHOUT_ACCOUNT} 2 ${inForce.ban} now`,
    );
    expect(await search('RZEZN')).toContain(`href="/account/moderation/users/${WITHOUT_ACCOUNT}"`);
  });

  test('finds users by a nickname, a name in a penalty or a Discord name, whatever its diacritics', async () => {
    const listUsers = async (query: string) =>
      [...(await search(query)).matchAll(/href="\/account\/moderation\/users\/(\d+)"/g)].map(([, id]) => id);
    expect(await listUsers('stefan')).toEqual([aSteamId(504), aSteamId(503)]);
    expect(await listUsers('ŞTEFAN')).toEqual([aSteamId(504), aSteamId(503)]);
    expect(await listUsers('lowca')).toEqual([aSteamId(504)]);
    expect(await listUsers('LO')).toEqual([aSteamId(504)]);
    expect(await listUsers('zoe')).toEqual([aSteamId(503)]);
    expect(await listUsers('\u0301')).toEqual([]);
  });

  test.each([
    ['old nam', 'rzeznik2 Old name'],
    ['rzeznik2', 'rzeznik2'],
    [WITHOUT_ACCOUNT, 'rzeznik2'],
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
      await insertUser(db, number, { nickname: `Zebrowskaa ${number}`, signedInAt: NOW });
    }
    await insertPenalties(db, [{ playerSteamId: aSteamId(699), playerName: 'Zebrowiec' }]);
    expect(card(await search('zebrow'), 'players')).toContain('Zebrowiec');
  });

  test('shows those with an account once, among the users', async () => {
    expect(card(await search(WITH_ACCOUNT), 'users')).toContain('Rzeźnik');
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
      `${inForce.ban} ${permanently('ban')} #2 ${columns.reason} Aimbot`,
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
      `${inForce.ban} ${permanently('ban')} #3 ${columns.reason} Wallhack`,
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

  test('removes the sound, and says so there', async () => {
    const path = `/account/moderation/users/${WITH_ACCOUNT}`;
    await db.delete(roundSounds);
    await insertReadySound(db, WITH_ACCOUNT);
    expect((await admin.get(path)).text).toContain(en.roundSound.moderation.removeTitle);
    const removed = await admin.post(`${path}/sound/delete`);
    expect(removed.location).toBe(`${path}#sounds`);
    expect(card((await admin.follow(removed)).text, 'sounds')).toContain(en.notices['sound-removed']);
  });
});
