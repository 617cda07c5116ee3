import { serverSamples } from '../../../src/db/schema/servers.ts';
import { insertServer } from '../database/builders.ts';
import type { TestBot } from './bot.ts';

/**
 * Four servers, in memory too: `mirage-24-7` with 31 of 32 players, a hostile name and a day of history; `retake` with
 * one player whose name is not told; `arena` offline since 2026-11-20T10:00:00Z; `fresh` never polled.
 * @returns their ids.
 */
export async function insertSampleServers({ db, poll, refreshServers }: TestBot) {
  const mirage = await insertServer(db, {
    slug: 'mirage-24-7',
    name: 'Mirage *24/7*',
    address: '203.0.113.5:27015',
    mode: 'Deathmatch',
    region: 'PL',
  });
  const retake = await insertServer(db, { slug: 'retake', name: 'Retake', mode: 'Retake', region: 'EU' });
  const arena = await insertServer(db, { slug: 'arena', name: 'Łódź Arena' });
  const fresh = await insertServer(db, { slug: 'fresh', name: 'Fresh' });
  const players = Array.from({ length: 30 }, (_, number) => ({
    name:
      number === 0
        ? '@everyone [free](https://evil.example) **knives**'
        : `Player number ${number} of the day`,
    score: 100 - number,
  }));
  await poll(mirage.id, {
    hostname: 'CS2 | Mirage',
    map: 'workshop/3070284539/de_mirage',
    playersCount: 31,
    pingMs: 23,
    players,
  });
  await poll(retake.id, {
    map: 'workshop/3070284540/de_inferno',
    playersCount: 1,
    maxPlayers: 10,
    players: [],
  });
  await poll(
    arena.id,
    { map: 'am_ramps', playersCount: 9, players: [{ name: 'Stale', score: 3 }] },
    new Date('2026-11-20T10:00:00Z'),
  );
  await poll(arena.id, undefined, new Date('2026-11-20T10:00:15Z'));
  await poll(arena.id, undefined, new Date('2026-11-20T10:00:30Z'));
  const now = Math.floor(Date.now() / 300_000) * 300_000;
  await db.insert(serverSamples).values(
    Array.from({ length: 280 }, (_, step) => ({
      serverId: mirage.id,
      sampledAt: new Date(now - (step + 2) * 300_000),
      periodSeconds: 300,
      playersAverage: 12 + Math.sin(step / 20) * 10,
      playersMaximum: 24,
      maxPlayers: 32,
      onlineShare: step > 60 && step < 80 ? 0 : 1,
    })),
  );
  await refreshServers();
  return { mirage: mirage.id, retake: retake.id, arena: arena.id, fresh: fresh.id };
}
