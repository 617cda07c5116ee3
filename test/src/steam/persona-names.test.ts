import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { fetchSteamProfile } from '../../../src/steam/persona-names.ts';
import { createSteamApi } from '../../../src/steam/steam-api.ts';
import { startSteamApi } from '../../support/providers/steam-api.ts';

const steamApi = startSteamApi();
afterAll(() => steamApi.stop());

const STEAM_ID = '76561198000000001';
let failures: string[];
const settings = { apiUrl: steamApi.url, apiKey: steamApi.key, timeoutMs: 300, countCall: async () => true };
const steam = createSteamApi(settings);
const fetchProfile = (from = steam) =>
  fetchSteamProfile(from, STEAM_ID, { onFailed: (reason) => failures.push(reason) });
beforeEach(() => {
  failures = [];
  steamApi.answer = 'players';
  steamApi.players = {
    [STEAM_ID]: { personaname: 'Rzeźnik', avatarfull: 'https://avatars.steamstatic.com/x_full.jpg' },
  };
});

describe('the Steam profile', () => {
  test('gives persona name and avatar', async () => {
    expect(await fetchProfile()).toEqual({
      nickname: 'Rzeźnik',
      avatarUrl: 'https://avatars.steamstatic.com/x_full.jpg',
    });
  });

  test('requests no Steam profile without a key', async () => {
    steamApi.requests = 0;
    expect(await fetchProfile(createSteamApi({ ...settings, apiKey: undefined }))).toEqual({});
    expect(steamApi.requests).toBe(0);
  });

  test('signs in without a Steam name when Steam fails, is late, or responds with nonsense', async () => {
    for (const answer of ['fails', 'never', 'html', 'nonsense', 'redirects'] as const) {
      steamApi.answer = answer;
      expect([answer, await fetchProfile()]).toEqual([answer, {}]);
    }
    expect(failures.length).toBeGreaterThanOrEqual(4);
  });

  test('never puts the Steam key into a message', async () => {
    const failing = (url: string) => Promise.reject(new Error(`cannot reach ${url}`));
    await fetchProfile(createSteamApi({ ...settings, fetch: failing }));
    expect(failures).toHaveLength(1);
    expect(failures.join()).not.toContain(steamApi.key);
  });

  test('cleans a Steam profile of control characters, excess length and addresses without https', async () => {
    steamApi.players = {
      [STEAM_ID]: { personaname: ` \u0000a\nb${'💀'.repeat(100)}`, avatarfull: 'javascript:alert(1)' },
    };
    expect(await fetchProfile()).toEqual({ nickname: `ab${'💀'.repeat(62)}` });
    steamApi.players = { [STEAM_ID]: { personaname: '\u0000', avatarfull: 7 } };
    expect(await fetchProfile()).toEqual({});
  });

  test('ignores the Steam profile of another account', async () => {
    steamApi.players = { '76561198000000002': { personaname: 'Somebody else' } };
    steamApi.answersForAnybody = true;
    expect(await fetchProfile()).toEqual({});
    steamApi.answersForAnybody = false;
  });
});
