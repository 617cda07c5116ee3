import { expect, test } from 'bun:test';
import pino from 'pino';
import { createBanners } from '../../../src/charts/banner-cache.ts';
import { Unavailable } from '../../../src/domain/errors.ts';
import { createServerList } from '../../../src/live/server-list.ts';
import { aServerState, insertServer, saveServerPoll } from '../../support/database/builders.ts';
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
    timeZone: 'UTC',
  });
  const poll = async (pingMs: number, map: string) => {
    const state = aServerState({ map, playersCount: 1, pingMs });
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
  // The path of a Workshop map is not drawn.
  await poll(3, 'workshop/3070284539/de_train');
  await waitFor(async () => (await read()) === 'de_train');
  await poll(4, 'de_train');
  expect(drawn).toEqual(['failed', 'de_train']);
  await serverList.stop();
});
