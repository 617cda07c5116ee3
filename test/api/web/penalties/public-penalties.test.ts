import { afterAll, describe, expect, test } from 'bun:test';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { aSteamId, insertPenalties, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';
import { startAccountSite } from '../../../support/web/account.ts';
import { openBrowser } from '../../../support/web/browser.ts';
import { textOf } from '../../../support/web/page-text.ts';

const { en } = PAGE_TEXTS;
const { types, permanent, statusOf } = en.penalties;

const { db } = await createTestDatabase();
const steam = startSteamOpenIdProvider();
const open = startAccountSite({ db, steam, settings: { arePenaltiesPublic: true } });
const closed = startAccountSite({ db, steam });
afterAll(async () => {
  await open.stop();
  await closed.stop();
  await steam.stop();
});
open.clock.now = new Date('2026-11-21T12:00:00Z');
const ADMIN = aSteamId(900);
await insertUser(db, 7, { nickname: 'Rzeźnik without penalties' });
await insertPenalties(db, [
  { playerSteamId: aSteamId(1), playerName: 'Rzeźnik', reason: 'Aimbot', adminSteamId: ADMIN },
  { playerSteamId: aSteamId(2), playerName: 'rzeznik2', reason: 'Spam', type: 'gag', status: 'EXPIRED' },
  { playerSteamId: aSteamId(3), playerName: 'Ola', reason: 'Afk', type: 'warn', status: 'UNBANNED' },
  { playerSteamId: '0' as never, playerName: '', reason: 'By address' },
]);

/** The rows of the list, as texts. */
async function listRows(query = '', language = 'en'): Promise<string[]> {
  const { text } = await openBrowser(open.origin, { language }).get(`/penalties${query}`);
  return [...text.matchAll(/<tr>(.*?)<\/tr>/gs)].slice(1).map(([, row = '']) => textOf(row));
}

describe('the public list of penalties', () => {
  test('the public list gives 404 and is in no navigation unless PUBLIC_PENALTIES turns it on', async () => {
    const browser = openBrowser(closed.origin);
    expect((await browser.get('/penalties')).status).toBe(404);
    expect((await browser.get('/')).text).not.toContain('/penalties');
    expect((await openBrowser(open.origin).get('/')).text).toContain('href="/penalties"');
  });

  test('shows everybody’s, newest first, without the SteamIDs of admins', async () => {
    expect(await listRows()).toEqual([
      `${en.penalties.unknownPlayer} ${types.ban} By address ${permanent('ban')} Ala 20 days ago`,
      `Ola ${types.warn} Afk ${statusOf('warn', 'UNBANNED')} Ala 20 days ago`,
      `rzeznik2 ${types.gag} Spam ${statusOf('gag', 'EXPIRED')} Ala 20 days ago`,
      `Rzeźnik ${types.ban} Aimbot ${permanent('ban')} Ala 20 days ago`,
    ]);
    expect((await listRows('', 'pl'))[1]).toBe('Ola Ostrzeżenie Afk zdjęte Ala 20 dni temu');
    expect((await openBrowser(open.origin).get('/penalties')).text).not.toContain(ADMIN);
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
        [`rzeznik2 ${types.gag} Spam ${statusOf('gag', 'EXPIRED')} Ala 20 days ago`],
      ]);
    }
    expect(await listRows('?q=nobody')).toEqual([]);
    expect(await listRows('?q=%00%25')).toEqual([]);
  });

  test('says that custom profile addresses cannot be searched for', async () => {
    const address = encodeURIComponent('steamcommunity.com/id/rzeznik');
    const { text } = await openBrowser(open.origin).get(`/penalties?q=${address}`);
    expect(textOf(text)).toContain(en.penalties.customAddress);
    expect(text).not.toContain(en.penalties.nothingFound);
  });

  test('asks whom the visitor means when several players match', async () => {
    const { text } = await openBrowser(open.origin).get('/penalties?q=rzez&type=ban');
    expect(textOf(text)).toContain(en.penalties.severalPlayers);
    expect(text).toContain(`href="/penalties?q=${aSteamId(1)}&amp;type=ban"`);
    expect(text).not.toContain('without penalties');
  });

  test('calls no mute permanent that counts the time online', async () => {
    const mute = { type: 'mute', durationMinutes: 90, endsAt: null, playerName: 'Online' } as const;
    await insertPenalties(db, [{ ...mute, playerSteamId: aSteamId(70) }]);
    expect(await listRows(`?q=${aSteamId(70)}`)).toEqual([
      `Online ${types.mute} Wallhack ${en.penalties.forOnlineTime(90)} Ala 20 days ago`,
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
    const { text } = await openBrowser(open.origin).get('/penalties?q=OldName');
    expect(textOf(text)).toContain(en.penalties.severalPlayers);
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
    const { text } = await openBrowser(open.origin).get('/penalties?q=kowalski');
    const names = [...text.matchAll(/<bdi>(Kowalski \w+)<\/bdi>/g)].map(([, name]) => name);
    expect(names).toEqual(['Kowalski two', 'Kowalski one']);
  });

  test('shows a player with an invisible name as unknown', async () => {
    await insertPenalties(db, [
      { playerSteamId: '0' as never, playerName: '\u200b\u3164', reason: 'Unnamed' },
    ]);
    expect((await listRows('?type=ban')).find((row) => row.includes('Unnamed'))).toStartWith(
      en.penalties.unknownPlayer,
    );
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
    expect(row).toEndWith(
      `${statusOf('ban', 'UNBANNED')} 1 day ago ${en.penalties.unnamedAdmin} 20 days ago`,
    );
  });

  test('comes 25 at a time, with the filter kept', async () => {
    await insertPenalties(
      db,
      Array.from({ length: 30 }, () => ({ type: 'silence' as const, playerSteamId: aSteamId(50) })),
    );
    const { text } = await openBrowser(open.origin).get('/penalties?type=silence');
    expect(text).toContain('href="/penalties?type=silence&amp;page=2"');
    expect(await listRows('?type=silence&page=2')).toHaveLength(5);
    expect((await openBrowser(open.origin).get('/penalties?page=2000000000')).status).toBe(200);
  });

  test('keeps a repeated filter beside an empty one, and drops most of a long made-up query', async () => {
    const repeated = await openBrowser(open.origin).get('/penalties?type=silence&type=&status=&type=ban');
    expect(repeated.text).toContain('href="/penalties?type=silence&amp;type=ban&amp;page=2"');
    const madeUp = Array.from({ length: 1000 }, (_, number) => `x${number}=1`).join('&');
    const { text } = await openBrowser(open.origin).get(`/penalties?type=silence&${madeUp}`);
    expect(/rel="next" href="([^"]*)"/.exec(text)?.[1]?.length).toBeLessThan(500);
  });
});
