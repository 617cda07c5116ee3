import { expect, test } from 'bun:test';
import pino from 'pino';
import { BANNER_SIZES, drawBanner } from '../../../src/charts/banner.tsx';
import { createBanners } from '../../../src/charts/banners.ts';
import { Unavailable } from '../../../src/domain/errors.ts';
import { createServerList } from '../../../src/live/server-list.ts';
import type { ServerView } from '../../../src/live/server-view.ts';
import { insertServer, saveServerPoll } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { waitFor } from '../../support/wait.ts';

const { db } = await createTestDatabase();
const log = pino({ level: 'silent' });

test('a banner that cannot be drawn is unavailable at first, later the old one until the next poll', async () => {
  const { id } = await insertServer(db, { slug: 'one' });
  const serverList = await createServerList(db, log);
  const drawn: string[] = [];
  let isBroken = false;
  const findBanner = createBanners({
    serverList,
    readHistory: async () => ({ points: [], stepSeconds: 300, readAt: new Date() }),
    draw: async ({ server }) => {
      drawn.push(isBroken ? 'failed' : server.map);
      if (isBroken) throw new Error('the library failed');
      return new TextEncoder().encode(server.map);
    },
    now: () => new Date('2026-11-21T10:00:00Z'),
    log,
    siteName: 'Site',
    accent: '#f7b23b',
  });
  const poll = async (pingMs: number, map: string) => {
    const state = { hostname: 'x', map, playersCount: 1, maxPlayers: 10, pingMs, players: [] };
    await saveServerPoll(db, id, { state, polledAt: new Date() });
    serverList.invalidate();
    await waitFor(() => serverList.findBySlug('one')?.snapshot?.pingMs === pingMs);
  };
  const read = async () => new TextDecoder().decode((await findBanner('one', '560x95'))?.bytes);

  await poll(1, 'de_nuke');
  isBroken = true;
  expect(read()).rejects.toThrow(Unavailable);
  await waitFor(() => drawn.includes('failed'));
  isBroken = false;
  expect(await read()).toBe('de_nuke');
  drawn.length = 0;
  isBroken = true;
  await poll(2, 'de_train');
  await waitFor(() => drawn.includes('failed'));
  expect(await read()).toBe('de_nuke');
  isBroken = false;
  await poll(3, 'de_train');
  await waitFor(async () => (await read()) === 'de_train');
  await poll(4, 'de_train');
  expect(drawn).toEqual(['failed', 'de_train']);
  await serverList.stop();
});

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
