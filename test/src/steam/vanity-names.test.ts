import { afterAll, expect, test } from 'bun:test';
import { Unavailable } from '../../../src/domain/errors.ts';
import { createSteamApi } from '../../../src/steam/steam-api.ts';
import { createVanityNames } from '../../../src/steam/vanity-names.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { startSteamApi } from '../../support/providers/steam-api.ts';

const steam = startSteamApi();
afterAll(() => steam.stop());
steam.vanityNames.known = aSteamId(1);
steam.players = {
  [aSteamId(1)]: { profileurl: 'https://steamcommunity.com/id/Known/' },
  [aSteamId(2)]: { profileurl: `https://steamcommunity.com/profiles/${aSteamId(2)}/` },
};
const countCall = async () => true;
const settings = { apiUrl: steam.url, apiKey: steam.key, countCall };
const newNames = (overrides: Partial<typeof settings> = {}) =>
  createVanityNames(createSteamApi({ ...settings, ...overrides }));

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
  const names = createVanityNames(createSteamApi(settings), { clockMs: () => nowMs });
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
  steam.answer = 'players';
});

test('names the missing setting without a key, and keeps a refused key out of the message', async () => {
  const keyless = createVanityNames(createSteamApi({ ...settings, apiKey: undefined }));
  await expect(keyless.resolve('known')).rejects.toThrow('STEAM_API_KEY is not set');
  const error = await newNames({ apiKey: 'another-key' })
    .resolve('known')
    .catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(Unavailable);
  expect(String(error)).not.toContain('another-key');
});
