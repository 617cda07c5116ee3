import { beforeEach, describe, expect, test } from 'bun:test';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { UNKNOWN_STEAM_ID } from '../../../../src/domain/steam-id.ts';
import { erasePerson } from '../../../../src/queries/personal-data/erasure.ts';
import { aSteamId, insertPenalties, insertServer } from '../../../support/database/builders.ts';
import { type Browser, openBrowser, signIn } from '../../../support/web/browser.ts';
import { openMemberSite } from '../../../support/web/member-site.ts';
import { textOf } from '../../../support/web/page-text.ts';

const { en, pl } = PAGE_TEXTS;

const { db, site, startSite, player, signedIn } = await openMemberSite();
const NOW = new Date('2026-11-21T12:00:00Z');

let browser: Browser;
beforeEach(async () => {
  browser = await signedIn();
  site.clock.now = NOW;
});

/** The text of the card of penalties. */
async function readCard(path = '/account', language = 'en'): Promise<string> {
  const page = await browser.get(path, { 'accept-language': language });
  const card = /<section class="card" id="penalties".*?<\/section>/s.exec(page.text)?.[0] ?? '';
  return textOf(card);
}

describe('the member’s own penalties', () => {
  test('penalties stand before every other card', async () => {
    const { text } = await browser.get('/account');
    const ids = [...text.matchAll(/<section class="card" id="([\w-]+)"/g)].map(([, id]) => id);
    expect(ids.slice(0, 4)).toEqual(['penalties', 'sound', 'discord', 'tokens']);
  });

  test('name an erased admin in the language of the page', async () => {
    const admin = aSteamId(801);
    await insertPenalties(db, [
      { playerSteamId: player.steamId, adminName: 'Rzeznik', adminSteamId: admin },
      {
        playerSteamId: player.steamId,
        status: 'UNBANNED',
        liftedAt: NOW,
        liftedByName: 'Rzeznik',
        liftedBySteamId: admin,
      },
      // Somebody may really call themselves that.
      { playerSteamId: player.steamId, type: 'warn', adminName: 'Former admin', adminSteamId: aSteamId(802) },
    ]);
    const removeSounds = async () => {};
    await erasePerson(db, admin, { withPenalties: true, actor: 'operator', removeSounds });
    const english = await readCard();
    expect(english).toContain(`Admin ${en.penalties.formerAdmin} Server`);
    expect(english).toContain(`Lifted now by ${en.penalties.formerAdmin}`);
    const polish = await readCard('/account', 'pl');
    expect(polish).toContain('Admin Były admin Serwer');
    expect(polish).toContain('zdjęty teraz przez Były admin');
    expect(polish).toContain(`Admin ${en.penalties.formerAdmin} Serwer`);
  });

  test('name the console that lifted one in the language of the page', async () => {
    const lifted = { playerSteamId: player.steamId, status: 'UNBANNED', liftedAt: NOW } as const;
    await insertPenalties(db, [{ ...lifted, liftedByName: 'CONSOLE', liftedBySteamId: UNKNOWN_STEAM_ID }]);
    expect(await readCard()).toContain('Lifted now by Console');
    expect(await readCard('/account', 'pl')).toContain('zdjęty teraz przez Konsola');
  });

  test('a player without penalties reads that they have none', async () => {
    expect(await readCard()).toBe(`${en.penalties.own} ${en.penalties.clean}`);
  });

  test('penalties start with those in force: until when, why, by whom and where', async () => {
    const server = await insertServer(db, { name: 'Only Mirage #1' });
    const active = {
      playerSteamId: player.steamId,
      serverId: server.id,
      createdAt: new Date('2026-11-20T12:00:00Z'),
    };
    await insertPenalties(db, [
      { ...active, endsAt: new Date('2026-11-27T12:00:00Z'), durationMinutes: 10_080 },
      {
        ...active,
        type: 'gag',
        reason: '',
        adminName: '',
        adminSteamId: UNKNOWN_STEAM_ID,
        serverId: 0,
        createdAt: NOW,
      },
      { playerSteamId: aSteamId(800), reason: 'of somebody else' },
    ]);
    expect(await readCard()).toBe(
      `${en.penalties.own} 2 penalties ` +
        `Chat muted permanently Reason ${en.penalties.noReason} Admin Console Server No server Issued now ` +
        'Banned until 27 Nov 2026, 12:00 UTC ( in 6 days ) Reason Wallhack Admin Ala Server Only Mirage #1 Duration 7 days Issued 1 day ago',
    );
    expect(await readCard('/account', 'pl')).toBe(
      'Twoje kary 2 kary ' +
        `${pl.penalties.inForce.gag} na stałe Powód ${pl.penalties.noReason} Admin Konsola Serwer Bez serwera Nałożono teraz ` +
        `Ban do 27 listopada 2026 12:00 UTC ( za 6 dni ) Powód Wallhack Admin Ala Serwer Only Mirage #1 ${pl.penalties.columns.duration} 7 dni Nałożono dzień temu`,
    );
  });

  test('name a server that is gone by its number, not as no server', async () => {
    await insertPenalties(db, [{ playerSteamId: player.steamId, serverId: 9001, createdAt: NOW }]);
    expect(await readCard()).toContain('Server #9001 Issued now');
    expect(await readCard()).not.toContain(en.penalties.noServer);
  });

  test('penalties end with what has ended, expired by the clock or lifted', async () => {
    const ended = { playerSteamId: player.steamId, serverId: 0, createdAt: new Date('2026-11-01T12:00:00Z') };
    await insertPenalties(db, [
      {
        ...ended,
        endsAt: new Date('2026-11-21T11:00:00Z'),
        durationMinutes: 60,
        reason: 'Spam',
        type: 'mute',
      },
      {
        ...ended,
        createdAt: new Date('2026-10-22T12:00:00Z'),
        status: 'UNBANNED',
        liftedAt: new Date('2026-11-11T12:00:00Z'),
        liftedByName: 'Ola',
        liftReason: 'a mistake',
      },
    ]);
    expect(await readCard()).toBe(
      `${en.penalties.own} 2 penalties ${en.penalties.noneActive} ${en.penalties.ended} ` +
        'Penalty Reason Admin Server Issued Ended ' +
        'Mute 1 hour Spam Ala No server 20 days ago Expired 1 hour ago ' +
        'Ban permanent Wallhack Ala No server 30 days ago Lifted 10 days ago by Ola (“a mistake”)',
    );
  });

  test('penalties that count the time online are not called permanent', async () => {
    const mute = { type: 'mute', durationMinutes: 60, endsAt: null, reason: 'Spam' } as const;
    await insertPenalties(db, [{ ...mute, playerSteamId: player.steamId, createdAt: NOW }]);
    expect(await readCard()).toContain('Voice muted for 1 hour of playing time Reason Spam');
    expect(await readCard('/account', 'pl')).toContain(
      `${pl.penalties.inForce.mute} na 1 godzinę gry Powód Spam`,
    );
  });

  test('penalties that are over early, as lifted warnings of CS2-SimpleAdmin, do not expire in the future', async () => {
    const warning = { type: 'warn', status: 'EXPIRED', durationMinutes: 10_080, reason: 'Rude' } as const;
    const times = { createdAt: new Date('2026-11-20T12:00:00Z'), endsAt: new Date('2026-11-27T12:00:00Z') };
    await insertPenalties(db, [{ ...warning, ...times, playerSteamId: player.steamId, serverId: 0 }]);
    expect(await readCard()).toEndWith('Warning 7 days Rude Ala No server 1 day ago Expired');
  });

  test('penalties come ten at a time', async () => {
    await insertPenalties(
      db,
      Array.from({ length: 23 }, (_, index) => ({
        playerSteamId: player.steamId,
        status: 'EXPIRED' as const,
        endsAt: new Date('2026-11-02T12:00:00Z'),
        durationMinutes: 60,
        createdAt: new Date(Date.UTC(2026, 10, 1, 0, 0, index)),
        reason: `reason ${index}.`,
      })),
    );
    const reasons = (text: string) =>
      [...text.matchAll(/reason (\d+)\./g)].map(([, number]) => Number(number));
    expect(reasons(await readCard())).toEqual([22, 21, 20, 19, 18, 17, 16, 15, 14, 13]);
    expect(reasons(await readCard('/account?record=3'))).toEqual([2, 1, 0]);
    expect(reasons(await readCard('/account?record=9999'))).toEqual([2, 1, 0]);
    expect(reasons(await readCard('/account?record=0x2'))[0]).toBe(22);
    expect((await browser.get('/account')).text).toContain('href="/account?record=2#penalties"');
  });
});

describe('APPEAL_URL', () => {
  const appeals = startSite({ appealUrl: 'https://forum.example.org/?a=1&b="' });

  test('APPEAL_URL adds a link beside active penalties', async () => {
    const appellant = openBrowser(appeals.origin);
    await signIn(appellant);
    expect((await appellant.get('/account')).text).not.toContain('forum.example.org');
    await insertPenalties(db, [{ playerSteamId: player.steamId }]);
    expect((await appellant.get('/account')).text).toContain(
      'href="https://forum.example.org/?a=1&amp;b=&quot;"',
    );
  });

  test('penalties have no link to appeals without APPEAL_URL', async () => {
    await insertPenalties(db, [{ playerSteamId: player.steamId }]);
    expect(await readCard()).not.toContain(en.penalties.appeal);
  });
});
