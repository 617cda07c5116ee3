import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { en } from '../../../../api/web/locales/en.ts';
import { pl } from '../../../../api/web/locales/pl.ts';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { UNKNOWN_STEAM_ID } from '../../../../src/domain/steam-id.ts';
import {
  aSteamId,
  erase,
  insertPenalties,
  insertServer,
  insertUser,
} from '../../../support/database/builders.ts';
import { type Browser, openBrowser } from '../../../support/web/browser.ts';
import { cardOf, rowsOf, textOf } from '../../../support/web/page-text.ts';
import { openUserSite } from '../../../support/web/user-site.ts';

const t = en.penalties;
const { columns } = t;
const { columns: polishColumns } = pl.penalties;

const { db, site, startSite, player, signedIn } = await openUserSite({
  settings: { arePenaltiesPublic: true },
});
const NOW = new Date('2026-11-21T12:00:00Z');

let browser: Browser;
beforeEach(async () => {
  browser = await signedIn();
  site.clock.now = NOW;
});

/** The text of the card of penalties. */
async function readCard(path = '/account', language = 'en'): Promise<string> {
  const { text } = await browser.get(path, { 'accept-language': language });
  return textOf(cardOf(text, 'penalties'));
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
    await erase(db, admin, { withPenalties: true });
    const english = await readCard();
    expect(english).toContain(`${columns.admin} ${t.formerAdmin} ${columns.server}`);
    expect(english).toContain(`${t.justNow} ${t.by(t.lifters.formerAdmin)}`);
    const polish = await readCard('/account', 'pl');
    expect(polish).toContain(`${polishColumns.admin} ${pl.penalties.formerAdmin} ${polishColumns.server}`);
    expect(polish).toContain(`${pl.penalties.justNow} ${pl.penalties.by(pl.penalties.lifters.formerAdmin)}`);
    expect(polish).toContain(`${polishColumns.admin} Former admin ${polishColumns.server}`);
  });

  test('name the console that lifted one in the language of the page', async () => {
    const lifted = { playerSteamId: player.steamId, status: 'UNBANNED', liftedAt: NOW } as const;
    await insertPenalties(db, [{ ...lifted, liftedByName: 'CONSOLE', liftedBySteamId: UNKNOWN_STEAM_ID }]);
    expect(await readCard()).toContain(`${t.justNow} ${t.by(t.lifters.console)}`);
    expect(await readCard('/account', 'pl')).toContain(
      `${pl.penalties.justNow} ${pl.penalties.by(pl.penalties.lifters.console)}`,
    );
  });

  test('a player without penalties reads that they have none', async () => {
    expect(await readCard()).toBe(`${t.own} ${t.clean}`);
  });

  test('penalties start with the one that counts most, then others in force: until when, why, by whom and where', async () => {
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
      `${t.own} ${t.count(2)} ` +
        `${t.inForce.ban} ${t.until('ban')} 27 Nov 2026, 12:00 UTC ( in 6 days ) ${columns.reason} Wallhack ${columns.admin} Ala ` +
        `${columns.server} Only Mirage #1 ${columns.duration} 7 days ${columns.issued} 1 day ago ` +
        `${t.inForce.gag} ${t.permanently('gag')} ${columns.reason} ${t.noReason} ` +
        `${columns.admin} ${t.console} ${columns.server} ${t.noServer} ${columns.issued} now`,
    );
    expect(await readCard('/account', 'pl')).toBe(
      'Twoje kary 2 kary ' +
        `Ban do 27 listopada 2026 12:00 UTC ( za 6 dni ) Powód Wallhack Admin Ala Serwer Only Mirage #1 ${pl.penalties.columns.duration} 7 dni Nałożono dzień temu ` +
        `${pl.penalties.inForce.gag} na stałe Powód ${pl.penalties.noReason} Admin Konsola Serwer Bez serwera Nałożono teraz`,
    );
  });

  test('name a server that is gone by its number, not as no server', async () => {
    await insertPenalties(db, [{ playerSteamId: player.steamId, serverId: 9001, createdAt: NOW }]);
    expect(await readCard()).toContain(`${columns.server} #9001 ${columns.issued} now`);
    expect(await readCard()).not.toContain(t.noServer);
  });

  test('penalties end with what has ended, expired by the clock or lifted', async () => {
    const ended = { playerSteamId: player.steamId, serverId: 0, createdAt: new Date('2026-11-01T12:00:00Z') };
    const hour = { endsAt: new Date('2026-11-21T11:00:00Z'), durationMinutes: 60 };
    await insertPenalties(db, [
      { ...ended, ...hour, reason: 'Spam', type: 'mute' },
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
      `${t.own} ${t.count(2)} ${t.noneActive} ${t.ended} ` +
        `${columns.type} ${columns.reason} ${columns.admin} ${columns.server} ${columns.issued} ${columns.end} ` +
        `${t.types.mute} 1 hour Spam Ala ${t.noServer} 20 days ago ${t.statusOf('mute', 'EXPIRED')} 1 hour ago ` +
        `${t.types.ban} ${t.permanent('ban')} Wallhack Ala ${t.noServer} 30 days ago ` +
        `${t.statusOf('ban', 'UNBANNED')} 10 days ago ${t.by('Ola')}${t.liftedBecause('a mistake')}`,
    );
  });

  test('penalties that count the time online are not called permanent', async () => {
    const mute = { type: 'mute', durationMinutes: 60, endsAt: null, reason: 'Spam' } as const;
    await insertPenalties(db, [{ ...mute, playerSteamId: player.steamId, createdAt: NOW }]);
    expect(await readCard()).toContain(`${t.inForce.mute} ${t.forOnlineTime(60)} ${columns.reason} Spam`);
    expect(await readCard('/account', 'pl')).toContain(
      `${pl.penalties.inForce.mute} ${pl.penalties.forOnlineTime(60)} ${polishColumns.reason} Spam`,
    );
  });

  test('penalties that are over early, as lifted warnings of CS2-SimpleAdmin, do not expire in the future', async () => {
    const warning = { type: 'warn', status: 'EXPIRED', durationMinutes: 10_080, reason: 'Rude' } as const;
    const times = { createdAt: new Date('2026-11-20T12:00:00Z'), endsAt: new Date('2026-11-27T12:00:00Z') };
    await insertPenalties(db, [{ ...warning, ...times, playerSteamId: player.steamId, serverId: 0 }]);
    expect(await readCard()).toEndWith(
      `${t.types.warn} 7 days Rude Ala ${t.noServer} 1 day ago ${t.statusOf('warn', 'EXPIRED')}`,
    );
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

const appeals = startSite({ settings: { appealUrl: 'https://forum.example.org/?a=1&b="' } });

test('APPEAL_URL, and nothing else, adds a link beside active penalties', async () => {
  const appellant = await signedIn(undefined, { at: appeals });
  expect((await appellant.get('/account')).text).not.toContain('forum.example.org');
  await insertPenalties(db, [{ playerSteamId: player.steamId }]);
  expect((await appellant.get('/account')).text).toContain(
    'href="https://forum.example.org/?a=1&amp;b=&quot;"',
  );
  expect(await readCard()).not.toContain(t.appeal);
});

describe('the public list of penalties', () => {
  const ADMIN = aSteamId(900);
  /** The rows of the list, as texts. */
  async function listRows(query = '', language = 'en'): Promise<string[]> {
    const { text } = await openBrowser(site.origin, { language }).get(`/penalties${query}`);
    return rowsOf(text);
  }

  beforeAll(async () => {
    await db.delete(penalties);
    await insertUser(db, 807, { nickname: 'Rzeźnik without penalties' });
    await insertPenalties(db, [
      { playerSteamId: aSteamId(1), playerName: 'Rzeźnik', reason: 'Aimbot', adminSteamId: ADMIN },
      { playerSteamId: aSteamId(2), playerName: 'rzeznik2', reason: 'Spam', type: 'gag', status: 'EXPIRED' },
      { playerSteamId: aSteamId(3), playerName: 'Ola', reason: 'Afk', type: 'warn', status: 'UNBANNED' },
      { playerSteamId: '0' as never, playerName: '', reason: 'By address' },
    ]);
  });

  test('the public list gives 404 and is in no navigation unless PUBLIC_PENALTIES turns it on', async () => {
    const browser = openBrowser(startSite({ settings: { arePenaltiesPublic: false } }).origin);
    expect((await browser.get('/penalties')).status).toBe(404);
    expect((await browser.get('/')).text).not.toContain('/penalties');
    expect((await openBrowser(site.origin).get('/')).text).toContain('href="/penalties"');
  });

  test('shows everybody’s, newest first, without the SteamIDs of admins', async () => {
    expect(await listRows()).toEqual([
      `${t.unknownPlayer} ${t.types.ban} By address ${t.permanent('ban')} Ala 20 days ago`,
      `Ola ${t.types.warn} Afk ${t.statusOf('warn', 'UNBANNED')} Ala 20 days ago`,
      `rzeznik2 ${t.types.gag} Spam ${t.statusOf('gag', 'EXPIRED')} Ala 20 days ago`,
      `Rzeźnik ${t.types.ban} Aimbot ${t.permanent('ban')} Ala 20 days ago`,
    ]);
    expect((await listRows('', 'pl'))[1]).toBe('Ola Ostrzeżenie Afk zdjęte Ala 20 dni temu');
    expect((await openBrowser(site.origin).get('/penalties')).text).not.toContain(ADMIN);
  });

  test('filters the public list by type and status, and ignores unknown values', async () => {
    expect(await listRows('?type=gag')).toHaveLength(1);
    expect(await listRows('?status=ACTIVE')).toHaveLength(2);
    expect(await listRows('?status=ACTIVE&type=warn')).toHaveLength(0);
    expect(await listRows('?type=x&status=y&page=z')).toHaveLength(4);
  });

  test('searches the public list by name, SteamID and profile address', async () => {
    const address = encodeURIComponent(`https://steamcommunity.com/profiles/${aSteamId(2)}`);
    for (const query of ['rzeznik2', aSteamId(2), address]) {
      expect([query, await listRows(`?q=${query}`)]).toEqual([
        query,
        [`rzeznik2 ${t.types.gag} Spam ${t.statusOf('gag', 'EXPIRED')} Ala 20 days ago`],
      ]);
    }
    expect(await listRows('?q=nobody')).toEqual([]);
    expect(await listRows('?q=%00%25')).toEqual([]);
  });

  test('says that custom profile addresses cannot be searched for', async () => {
    const address = encodeURIComponent('steamcommunity.com/id/rzeznik');
    const { text } = await openBrowser(site.origin).get(`/penalties?q=${address}`);
    expect(textOf(text)).toContain(t.customAddress);
    expect(text).not.toContain(t.nothingFound);
  });

  test('asks whom the visitor means when several players match', async () => {
    const { text } = await openBrowser(site.origin).get('/penalties?q=rzez&type=ban');
    expect(textOf(text)).toContain(t.severalPlayers);
    expect(text).toContain(`href="/penalties?q=${aSteamId(1)}&amp;type=ban"`);
    expect(text).not.toContain('without penalties');
  });

  test('calls no mute permanent that counts the time online', async () => {
    const mute = { type: 'mute', durationMinutes: 90, endsAt: null, playerName: 'Online' } as const;
    await insertPenalties(db, [{ ...mute, playerSteamId: aSteamId(70) }]);
    expect(await listRows(`?q=${aSteamId(70)}`)).toEqual([
      `Online ${t.types.mute} Wallhack ${t.forOnlineTime(90)} Ala 20 days ago`,
    ]);
  });

  test('finds and shows players by names in penalties, not by nicknames of accounts', async () => {
    await insertPenalties(db, [
      { playerSteamId: aSteamId(60), playerName: 'OldName one' },
      { playerSteamId: aSteamId(61), playerName: 'OldName two' },
    ]);
    await insertUser(db, 60, { nickname: 'PrivateNick OldName' });
    // More than a search shows, so that these would fill it.
    for (let number = 100; number < 130; number++) {
      await insertUser(db, number, { nickname: `OldName ${number}`, signedInAt: new Date() });
    }
    const { text } = await openBrowser(site.origin).get('/penalties?q=OldName');
    expect(textOf(text)).toContain(t.severalPlayers);
    for (const name of ['OldName one', 'OldName two']) expect(text).toContain(name);
    expect(text).not.toContain('PrivateNick');
    expect(await listRows('?q=PrivateNick')).toEqual([]);
    expect(await listRows('?q=OldName+two')).toHaveLength(1);
  });

  test('orders players of a search by their penalties, not by their last sign-in', async () => {
    await insertPenalties(db, [
      { playerSteamId: aSteamId(62), playerName: 'Kowalski one', createdAt: new Date('2026-11-01') },
      { playerSteamId: aSteamId(63), playerName: 'Kowalski two', createdAt: new Date('2026-11-09') },
    ]);
    await insertUser(db, 62, { nickname: 'Nobody', signedInAt: new Date() });
    const { text } = await openBrowser(site.origin).get('/penalties?q=kowalski');
    const names = [...text.matchAll(/<bdi>(Kowalski \w+)<\/bdi>/g)].map(([, name]) => name);
    expect(names).toEqual(['Kowalski two', 'Kowalski one']);
  });

  test('shows a player with an invisible name as unknown', async () => {
    await insertPenalties(db, [
      { playerSteamId: '0' as never, playerName: '\u200b\u3164', reason: 'Unnamed' },
    ]);
    expect((await listRows('?type=ban')).find((row) => row.includes('Unnamed'))).toStartWith(t.unknownPlayer);
  });

  test('shows neither who lifted a penalty nor why, and no SteamID for an admin without a name', async () => {
    await insertPenalties(db, [
      {
        playerName: 'Lifted',
        playerSteamId: aSteamId(64),
        adminName: '',
        adminSteamId: ADMIN,
        status: 'UNBANNED',
        liftedAt: new Date('2026-11-20T12:00:00Z'),
        liftedByName: 'Basia',
        liftReason: 'internal note',
      },
    ]);
    const [row] = await listRows('?q=Lifted');
    expect(row).toEndWith(`${t.statusOf('ban', 'UNBANNED')} 1 day ago ${t.unnamedAdmin} 20 days ago`);
  });

  test('comes 25 at a time, with the filter kept', async () => {
    await insertPenalties(
      db,
      Array.from({ length: 155 }, () => ({ type: 'silence' as const, playerSteamId: aSteamId(50) })),
    );
    const { text } = await openBrowser(site.origin).get('/penalties?type=silence');
    expect(text).toContain('href="/penalties?type=silence&amp;page=2"');
    expect(await listRows('?type=silence&page=7')).toHaveLength(5);
    const numbersOn = async (page: number) => {
      const { text } = await openBrowser(site.origin).get(`/penalties?type=silence&page=${page}`);
      return textOf(/<ul class="page-numbers">.*?<\/ul>/s.exec(text)?.[0] ?? '');
    };
    expect([await numbersOn(1), await numbersOn(4)]).toEqual(['1 2 … 7', '1 2 3 4 5 6 7']);
    expect((await openBrowser(site.origin).get('/penalties?page=2000000000')).status).toBe(200);
  });

  test('keeps a repeated filter beside an empty one, and drops most of a long made-up query', async () => {
    const repeated = await openBrowser(site.origin).get('/penalties?type=silence&type=&status=&type=ban');
    expect(repeated.text).toContain('href="/penalties?type=silence&amp;type=ban&amp;page=2"');
    const madeUp = Array.from({ length: 1000 }, (_, number) => `x${number}=1`).join('&');
    const { text } = await openBrowser(site.origin).get(`/penalties?type=silence&${madeUp}`);
    expect(/rel="next" href="([^"]*)"/.exec(text)?.[1]?.length).toBeLessThan(500);
  });
});
