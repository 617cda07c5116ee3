import { beforeEach, describe, expect, test } from 'bun:test';
import { Unavailable } from '../../../src/domain/errors.ts';
import { fetchSteamProfile } from '../../../src/steam/persona-names.ts';
import { createSteamApi } from '../../../src/steam/steam-api.ts';
import { createVanityNames } from '../../../src/steam/vanity-names.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { startSteamApi } from '../../support/providers/steam-api.ts';

const steam = startSteamApi();
beforeEach(() => {
  steam.answer = 'players';
});

const settings = { apiUrl: steam.url, apiKey: steam.key, timeoutMs: 300, countCall: async () => true };
type Overrides = Partial<Parameters<typeof createSteamApi>[0]>;
const newApi = (overrides: Overrides = {}) => createSteamApi({ ...settings, ...overrides });

describe('the Steam profile', () => {
  const STEAM_ID = aSteamId(1);
  let failures: string[];
  const fetchProfile = (overrides: Overrides = {}) =>
    fetchSteamProfile(newApi(overrides), STEAM_ID, { onFailed: (reason) => failures.push(reason) });
  beforeEach(() => {
    failures = [];
    steam.players = {
      [STEAM_ID]: { personaname: 'Rzeźnik', avatarfull: 'https://avatars.steamstatic.com/x_full.jpg' },
    };
  });

  test('gives persona name and avatar', async () => {
    expect(await fetchProfile()).toEqual({
      nickname: 'Rzeźnik',
      avatarUrl: 'https://avatars.steamstatic.com/x_full.jpg',
    });
  });

  test('requests no Steam profile without a key', async () => {
    steam.requests = 0;
    expect(await fetchProfile({ apiKey: undefined })).toEqual({});
    expect(steam.requests).toBe(0);
  });

  test('signs in without a Steam name when Steam fails, is late, or responds with nonsense', async () => {
    for (const answer of ['fails', 'never', 'html', 'nonsense', 'redirects'] as const) {
      steam.answer = answer;
      expect([answer, await fetchProfile()]).toEqual([answer, {}]);
    }
    expect(failures.length).toBeGreaterThanOrEqual(4);
  });

  test('never puts the Steam key into a message', async () => {
    const failing = (url: string) => Promise.reject(new Error(`cannot reach ${url}`));
    await fetchProfile({ fetch: failing });
    expect(failures).toHaveLength(1);
    expect(failures.join()).not.toContain(steam.key);
  });

  test('cleans a Steam profile of control characters, excess length and addresses without https', async () => {
    steam.players = {
      [STEAM_ID]: { personaname: ` \u0000a\nb${'💀'.repeat(100)}`, avatarfull: 'javascript:alert(1)' },
    };
    expect(await fetchProfile()).toEqual({ nickname: `ab${'💀'.repeat(62)}` });
    steam.players = { [STEAM_ID]: { personaname: '\u0000', avatarfull: 7 } };
    expect(await fetchProfile()).toEqual({});
  });

  test('ignores the Steam profile of another account', async () => {
    steam.players = { [aSteamId(2)]: { personaname: 'Somebody else' } };
    steam.answersForAnybody = true;
    expect(await fetchProfile()).toEqual({});
    steam.answersForAnybody = false;
  });
});

describe('custom profile names', () => {
  const newNames = (overrides: Overrides = {}) => createVanityNames(newApi(overrides));
  beforeEach(() => {
    steam.vanityNames.known = aSteamId(1);
    steam.players = {
      [aSteamId(1)]: { profileurl: 'https://steamcommunity.com/id/Known/' },
      [aSteamId(2)]: { profileurl: `https://steamcommunity.com/profiles/${aSteamId(2)}/` },
    };
  });

  test('finds the account of a custom profile name, and none if Steam knows none', async () => {
    const names = newNames();
    expect(await names.resolve('Known')).toBe(aSteamId(1));
    expect(await names.resolve('nobody')).toBeUndefined();
  });

  test('tells whether a custom profile name is that of an account', async () => {
    const names = newNames();
    expect(await names.isNameOf('kNOWN', aSteamId(1))).toBe(true);
    expect(await names.isNameOf('other', aSteamId(1))).toBe(false);
    expect(await names.isNameOf('known', aSteamId(2))).toBe(false);
  });

  test('asks Steam once an hour, also about names that nobody has, and again after a failure', async () => {
    let nowMs = 1;
    const names = createVanityNames(newApi(), { clockMs: () => nowMs });
    const askAll = async () => {
      const before = steam.requests;
      await names.resolve('known');
      await names.resolve('nobody');
      await names.isNameOf('known', aSteamId(1));
      await names.isNameOf('known', aSteamId(2));
      return steam.requests - before;
    };
    steam.answer = 'fails';
    await expect(names.resolve('known')).rejects.toThrow(Unavailable);
    steam.answer = 'players';
    expect(await askAll()).toBe(4);
    nowMs += 3_600_000 - 1;
    expect(await askAll()).toBe(0);
    nowMs += 2;
    expect(await askAll()).toBe(4);
  });

  test('asks nothing once the calls of the day are used up', async () => {
    const before = steam.requests;
    const names = newNames({ countCall: async () => false });
    await expect(names.resolve('known')).rejects.toThrow(Unavailable);
    expect(steam.requests).toBe(before);
  });

  test('never sends the Steam key to where a redirect points', async () => {
    steam.answer = 'redirects';
    await expect(newNames().resolve('moved')).rejects.toThrow(Unavailable);
  });

  test('names the missing setting without a key, and keeps a refused key out of the message', async () => {
    await expect(newNames({ apiKey: undefined }).resolve('known')).rejects.toThrow(
      'STEAM_API_KEY is not set',
    );
    const error = await newNames({ apiKey: 'another-key' })
      .resolve('known')
      .catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(Unavailable);
    expect(String(error)).not.toContain('another-key');
  });
});
