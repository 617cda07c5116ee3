import { describe, expect, test } from 'bun:test';
import { aSteamId } from '../../../support/database/builders.ts';
import { openPenaltyLists } from '../../../support/http/penalty-lists.ts';

const {
  get,
  list,
  player,
  other,
  third,
  expired,
  unbanned,
  lagging,
  mute,
  gag,
  silence,
  warn,
  console_,
  NEWEST_FIRST,
} = await openPenaltyLists();

describe('the filters of all four lists', () => {
  const LISTS = {
    '/penalties': NEWEST_FIRST,
    '/bans': [console_, lagging, unbanned, expired],
    '/mutes': [silence, gag, mute],
    '/warns': [warn],
  };
  const without = (ids: unknown[], wanted: unknown[]) => ids.filter((id) => wanted.includes(id));

  for (const [path, all] of Object.entries(LISTS)) {
    test(`${path} by status, as of now`, async () => {
      for (const [status, ids] of [
        ['ACTIVE', [console_, silence, gag, mute]],
        ['EXPIRED', [warn, lagging, expired]],
        ['UNBANNED', [unbanned]],
      ] as const) {
        const wanted = without(all, [...ids]);
        const { ids: found, meta, data } = await list(`${path}?status=${status}`);
        expect([status, found, meta.total]).toEqual([status, wanted, wanted.length]);
        expect(data.every((record) => record.status === status)).toBe(true);
      }
    });

    test(`${path} by server, 0 being none`, async () => {
      for (const [server, ids] of [
        ['0', [console_, warn]],
        ['1', [silence, mute, lagging, expired]],
        ['2', [unbanned]],
        ['0002', [unbanned]],
        ['2147483647', [gag]],
        ['404', []],
      ] as const) {
        const wanted = without(all, [...ids]);
        const { ids: found, meta } = await list(`${path}?server_id=${server}`);
        expect([server, found, meta.total]).toEqual([server, wanted, wanted.length]);
      }
    });

    test(`${path} by player`, async () => {
      for (const [steamId, ids] of [
        [player, [warn, gag, mute, expired]],
        [other, [lagging, unbanned]],
        [third, [silence]],
        [aSteamId(404), []],
      ] as const) {
        const wanted = without(all, [...ids]);
        const { ids: found, meta } = await list(`${path}?steamid=${steamId}`);
        expect([steamId, found, meta.total]).toEqual([steamId, wanted, wanted.length]);
      }
    });

    test(`${path} by several at once`, async () => {
      const { ids } = await list(`${path}?steamid=${other}&server_id=2&status=unbanned`);
      expect(ids).toEqual(without(all, [unbanned]));
      expect((await list(`${path}?steamid=${other}&server_id=2&status=active`)).ids).toEqual([]);
    });
  }
});

describe('status', () => {
  const forms = {
    ACTIVE: ['ACTIVE', 'active', 'Active', 'aktywny', 'AKTYWNY', 'Aktywny'],
    UNBANNED: ['UNBANNED', 'unbanned', 'uNBANNED', 'odbanowany', 'ODBANOWANY'],
    EXPIRED: [
      'EXPIRED',
      'expired',
      'wygasły',
      'wygasły'.normalize('NFD'),
      'WYGASŁY',
      'WYGASŁY'.normalize('NFD'),
      'wygasly',
      'WYGASLY',
      'Wygasły',
    ],
  };

  for (const [status, spellings] of Object.entries(forms)) {
    test(`${status} in every spelling, percent-encoded or not`, async () => {
      const { text } = await get(`/bans?status=${status}`);
      for (const spelling of spellings) {
        const everyByte = [...Buffer.from(spelling)]
          .map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
          .join('');
        for (const written of [
          spelling,
          encodeURIComponent(spelling),
          encodeURIComponent(spelling).toLowerCase(),
          everyByte,
          everyByte.toUpperCase(),
        ]) {
          expect([written, (await get(`/bans?status=${written}`)).text]).toEqual([written, text]);
        }
      }
    });
  }

  test('anything else is 400 that lists what is allowed', async () => {
    for (const status of [
      'x',
      'ACTIVE%00',
      '%00',
      'ACTIVE,EXPIRED',
      '1',
      'wygas%C5',
      'wygas%ED%A0%80y',
      '__proto__',
      'constructor',
      'toString',
      'ą'.repeat(1000),
      '+',
    ]) {
      const { status: code, body } = await get(`/bans?status=${status}`);
      expect([status, code]).toEqual([status, 400]);
      expect(body).toEqual({
        success: false,
        message: expect.stringMatching(
          /^status ".{0,400}" is not known: use ACTIVE, EXPIRED, UNBANNED \(or aktywny, wygasły, odbanowany\)$/su,
        ),
      });
    }
  });
});

describe('pages', () => {
  test('walk the list without a gap or a repetition', async () => {
    for (const perPage of [1, 3, 7, 8, 100]) {
      const seen: unknown[] = [];
      const lastPage = Math.ceil(8 / perPage);
      for (let page = 1; page <= lastPage; page++) {
        const { ids, meta } = await list(`/penalties?per_page=${perPage}&page=${page}`);
        seen.push(...ids);
        expect(meta).toMatchObject({
          current_page: page,
          per_page: perPage,
          total: 8,
          last_page: lastPage,
        });
      }
      expect(seen).toEqual(NEWEST_FIRST);
    }
  });

  test('past the end are 200 without records, with the page asked for', async () => {
    for (const page of [9, 1000, 2_147_483_648]) {
      const { ids, meta } = await list(`/penalties?per_page=1&page=${page}`);
      expect(ids).toEqual([]);
      expect(meta).toMatchObject({ current_page: page, total: 8, last_page: 8 });
    }
    const player = await list(`/bans?steamid=${other}&page=77`);
    expect([player.ids, player.meta.current_page, player.meta.total]).toEqual([[], 77, 2]);
    for (const page of ['9007199254740993', '100000000000000000000', '9'.repeat(5000)]) {
      for (const filter of ['', `&steamid=${other}`, '&steamid=', '&server_id=0']) {
        const { status, body } = await get(`/penalties?page=${page}${filter}`);
        expect([page.length, filter, status]).toEqual([page.length, filter, 200]);
        expect(body).toMatchObject({ success: true, data: [] });
      }
    }
  });

  test('that are not positive integers mean the first page, of 50 records', async () => {
    for (const bad of ['0', '-1', '1.5', '1e3', '0x10', 'x', '%00', '%20', 'NaN', 'Infinity', '٣', '-0']) {
      const { meta } = await list(`/penalties?page=${bad}&per_page=${bad}`);
      expect([bad, meta.current_page, meta.per_page]).toEqual([bad, 1, 50]);
    }
  });

  test('have at most 100 records', async () => {
    for (const perPage of ['101', '1000', '100000000000000000000', '9'.repeat(5000)]) {
      expect((await list(`/penalties?per_page=${perPage}`)).meta.per_page).toBe(100);
    }
    expect((await list('/penalties?per_page=100')).meta.per_page).toBe(100);
    expect((await list('/penalties?per_page=007')).meta.per_page).toBe(7);
  });

  test('there is at least one, even without records', async () => {
    expect((await list('/bans?server_id=404')).meta).toMatchObject({
      total: 0,
      last_page: 1,
      current_page: 1,
    });
  });
});
