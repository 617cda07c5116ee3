import { expect, test } from 'bun:test';
import { BANNER_SIZES, drawBanner } from '../../../src/charts/banner.tsx';
import type { ServerView } from '../../../src/live/server-view.ts';

const SERVER: ServerView = {
  id: 1,
  slug: 'one',
  name: 'Only Mirage',
  hostname: 'x',
  address: 'play.example.org:27015',
  mode: '',
  region: '',
  map: 'de_cache',
  isOnline: true,
  playersCount: 7,
  maxPlayers: 10,
  pingMs: 5,
  players: [],
  updatedAt: undefined,
  seenAt: undefined,
  fullSince: undefined,
};

test.each(BANNER_SIZES)(
  'a banner of %s names a Workshop map as the pages do, without its path',
  async (size) => {
    const draw = async (map: string) => {
      const now = new Date('2026-11-21T10:00:00Z');
      const server = { ...SERVER, map };
      return Buffer.from(
        await drawBanner({ size, server, history: undefined, now, siteName: 'Site', accent: '#f7b23b' }),
      );
    };
    const plain = await draw('de_cache');
    expect(plain.equals(await draw('workshop/3070284539/de_cache'))).toBe(true);
    expect(plain.equals(await draw('de_nuke'))).toBe(false);
  },
);
