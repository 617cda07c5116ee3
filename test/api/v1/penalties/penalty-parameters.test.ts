import { describe, expect, test } from 'bun:test';
import { openPenaltyLists } from '../../../support/http/penalty-lists.ts';

const { get, list, player, unbanned, warn, console_, NEWEST_FIRST } = await openPenaltyLists();

describe('parameters', () => {
  test('an unknown type is 400 that lists what is allowed', async () => {
    for (const type of ['kick', 'bans', 'ban%20', '0', '%00', 'ban,mute', '__proto__', 'x'.repeat(5000)]) {
      const { status, body } = await get(`/penalties?type=${type}`);
      expect([type, status]).toEqual([type, 400]);
      expect(body).toEqual({
        success: false,
        message: expect.stringContaining('is not known: use ban, mute, gag, silence, warn'),
      });
    }
  });

  test('a server_id that is not a non-negative 32-bit integer is 400', async () => {
    for (const id of [
      '-1',
      '2147483648',
      '4294967296',
      '9007199254740993',
      '100000000000000000000',
      '1e3',
      '0x10',
      '1.0',
      '%2B1',
      '%201',
      'NaN',
      '١',
      '1%00',
      '%00',
      '7'.repeat(5000),
    ]) {
      const { status, body } = await get(`/bans?server_id=${id}`);
      expect([id, status]).toEqual([id, 400]);
      expect(body).toEqual({
        success: false,
        message: expect.stringMatching(
          /^server_id ".*" isn't valid: use a whole number from 0 to 2147483647$/s,
        ),
      });
    }
  });

  test('a value that is not a SteamID is 400 that says so and names the parameter', async () => {
    for (const name of ['steamid', 'admin_steamid']) {
      for (const id of [
        '0',
        '1',
        'BOT',
        'STEAM_ID_PENDING',
        'STEAM_0:2:1',
        'STEAM_2:0:1',
        'U:2:1',
        '[G:1:1]',
        '76561197960265728',
        '76561202255233024',
        '765611980000000011',
        '7656119800000000',
        '-76561198000000001',
        '7.6561198000000001e16',
        '0x110000100000001',
        `${player}%00`,
        `${player}%20`,
        `%20${player}`,
        `+${player}`,
        `${player}%0a`,
        'STEAM_0:1:19867136%20',
        '[U:1:39734273]%0d%0a',
        '%00',
        '%ED%A0%80',
        '9'.repeat(5000),
      ]) {
        const { status, body } = await get(`/penalties?${name}=${id}`);
        expect([name, id, status]).toEqual([name, id, 400]);
        expect(body).toEqual({
          success: false,
          message: expect.stringMatching(
            new RegExp(
              `^${name} ".*" is not a SteamID: use a SteamID64 \\(76561198000000001\\), STEAM_X:Y:Z or \\[U:1:N\\]$`,
              's',
            ),
          ),
        });
      }
    }
  });

  test('an empty one counts as absent', async () => {
    const { ids, meta } = await list(
      '/penalties?type=&status=&server_id=&steamid=&admin_steamid=&page=&per_page=',
    );
    expect(ids).toEqual(NEWEST_FIRST);
    expect(meta).toMatchObject({ current_page: 1, per_page: 50 });
    expect((await list('/penalties?type&status&page')).ids).toEqual(NEWEST_FIRST);
  });

  test('of a repeated one the last counts; if that is empty, it counts as absent', async () => {
    expect((await list('/penalties?type=kick&type=warn')).ids).toEqual([warn]);
    expect((await list('/penalties?type=warn&type=')).ids).toEqual(NEWEST_FIRST);
    expect((await get('/penalties?type=warn&type=kick')).status).toBe(400);
    expect((await list('/bans?page=7&page=1&per_page=2&per_page=1')).ids).toEqual([console_]);
    expect((await list('/bans?server_id=x&server_id=2')).ids).toEqual([unbanned]);
  });

  test('malformed percent signs and unknown names harm nobody', async () => {
    for (const query of ['%', '%E0%A4%A', 'x=%', '%=%', '&&&=', 'page[]=2', '__proto__=1', 'filter=%00']) {
      expect((await list(`/penalties?${query}`)).ids).toEqual(NEWEST_FIRST);
    }
  });

  test('percent-encoded names are decoded', async () => {
    expect((await list('/penalties?t%79pe=warn')).ids).toEqual([warn]);
  });
});
