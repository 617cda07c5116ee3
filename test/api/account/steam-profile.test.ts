import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { fetchSteamProfile, type SteamProfiles } from '../../../api/account/steam-profile.ts';
import { startSteamApi } from '../../support/steam-api.ts';

const steamApi = startSteamApi();
afterAll(() => steamApi.stop());

const STEAM_ID = '76561198000000001';
let failures: string[];
let steam: SteamProfiles;
beforeEach(() => {
  failures = [];
  steamApi.answer = 'players';
  steamApi.players = {
    [STEAM_ID]: { personaname: 'Rzeźnik', avatarfull: 'https://avatars.steamstatic.com/x_full.jpg' },
  };
  steam = {
    apiUrl: steamApi.url,
    apiKey: steamApi.key,
    fetch,
    timeoutMs: 300,
    onFailed: (reason) => failures.push(reason),
  };
});

describe('the Steam profile', () => {
  test('gives persona name and avatar', async () => {
    expect(await fetchSteamProfile(steam, STEAM_ID)).toEqual({
      nickname: 'Rzeźnik',
      avatarUrl: 'https://avatars.steamstatic.com/x_full.jpg',
    });
  });

  test('is not asked for without a key', async () => {
    steamApi.requests = 0;
    expect(await fetchSteamProfile({ ...steam, apiKey: undefined }, STEAM_ID)).toEqual({});
    expect(steamApi.requests).toBe(0);
  });

  test('is nothing, and no failure of the sign-in, when Steam fails, is late, or answers nonsense', async () => {
    for (const answer of ['fails', 'never', 'html', 'nonsense', 'redirects'] as const) {
      steamApi.answer = answer;
      expect([answer, await fetchSteamProfile(steam, STEAM_ID)]).toEqual([answer, {}]);
    }
    expect(failures.length).toBeGreaterThanOrEqual(4);
  });

  test('never puts the key into a message', async () => {
    await fetchSteamProfile(
      { ...steam, fetch: (url) => Promise.reject(new Error(`cannot reach ${url}`)) },
      STEAM_ID,
    );
    expect(failures).toHaveLength(1);
    expect(failures.join()).not.toContain(steamApi.key);
  });

  test('is cleaned: control characters, length, and addresses that are not https', async () => {
    steamApi.players = {
      [STEAM_ID]: { personaname: ` \u0000a\nb${'💀'.repeat(100)}`, avatarfull: 'javascript:alert(1)' },
    };
    expect(await fetchSteamProfile(steam, STEAM_ID)).toEqual({ nickname: `ab${'💀'.repeat(62)}` });
    steamApi.players = { [STEAM_ID]: { personaname: '\u0000', avatarfull: 7 } };
    expect(await fetchSteamProfile(steam, STEAM_ID)).toEqual({});
  });

  test('of another account is not taken', async () => {
    steamApi.players = { '76561198000000002': { personaname: 'Somebody else' } };
    steamApi.answersForAnybody = true;
    expect(await fetchSteamProfile(steam, STEAM_ID)).toEqual({});
    steamApi.answersForAnybody = false;
  });
});
