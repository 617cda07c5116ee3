import { afterAll, expect, test } from 'bun:test';
import { Unavailable } from '../../../src/domain/errors.ts';
import { createSteamApi } from '../../../src/steam/steam-api.ts';
import { createVanityResolver } from '../../../src/steam/vanity-names.ts';
import { aSteamId } from '../../support/database/builders.ts';

const KEY = 'the-key-of-the-community';
let strayRequests = 0;
const elsewhere = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: () => {
    strayRequests += 1;
    return Response.json({ response: { success: 1, steamid: aSteamId(7) } });
  },
});
const steam = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== '/ISteamUser/ResolveVanityURL/v1/' || searchParams.get('key') !== KEY) {
      return new Response('Forbidden', { status: 403 });
    }
    const name = searchParams.get('vanityurl');
    if (name === 'moved') return Response.redirect(`${elsewhere.url.origin}/?key=${KEY}`);
    if (name === 'known') return Response.json({ response: { success: 1, steamid: aSteamId(1) } });
    return Response.json({ response: { success: 42, message: 'No match' } });
  },
});
afterAll(() => Promise.all([steam.stop(true), elsewhere.stop(true)]));

const resolve = createVanityResolver(createSteamApi({ apiUrl: steam.url.origin, apiKey: KEY }));

test('finds the account of a custom profile name, and none if Steam knows none', async () => {
  expect(await resolve('known')).toBe(aSteamId(1));
  expect(await resolve('nobody')).toBeUndefined();
});

test('does not carry the key to where a redirect points', async () => {
  await expect(resolve('moved')).rejects.toThrow(Unavailable);
  expect(strayRequests).toBe(0);
});

test('names the missing setting without a key, and keeps a refused key out of the message', async () => {
  const keyless = createVanityResolver(createSteamApi({ apiUrl: steam.url.origin, apiKey: undefined }));
  await expect(keyless('known')).rejects.toThrow('STEAM_API_KEY is not set');
  const refused = createVanityResolver(createSteamApi({ apiUrl: steam.url.origin, apiKey: 'another-key' }));
  const error = await refused('known').catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(Unavailable);
  expect(String(error)).not.toContain('another-key');
});
