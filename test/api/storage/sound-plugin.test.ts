import { afterAll, expect, test } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { parseConfig } from '../../../src/runtime/config.ts';
import { SoundPlugin } from '../../support/audio/sound-plugin.ts';
import { aSteamId, insertReadySound } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { createTestFolder } from '../../support/service/program.ts';
import { startTestService } from '../../support/service/service.ts';

const database = await createTestDatabase();
const folder = createTestFolder();
afterAll(folder.remove);
const port = findFreePort();
const url = `http://127.0.0.1:${port}`;
const published = join(folder.path, 'roundsound');
await mkdir(published, { recursive: true });

const SERVERS = 10;
const PLAYERS_A_SERVER = 24;
/** A community in which every third member has a sound. */
const members = Array.from({ length: 600 }, (_, number) => aSteamId(1 + number));
const withSound = members.filter((_, number) => number % 3 === 0);

async function publish(player: (typeof members)[number], content: string): Promise<void> {
  const bytes = Buffer.from(content.padEnd(2000, '.'));
  const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
  await Bun.write(join(published, `${player}.voice.mp3`), bytes);
  const values = { sha256, voiceSha256: sha256, voiceSizeBytes: bytes.length, sizeBytes: bytes.length };
  const changed = await database.db
    .update(roundSounds)
    .set({ ...values, readyAt: new Date() })
    .where(eq(roundSounds.steamId64, player))
    .returning({ id: roundSounds.id });
  if (changed.length === 0) await insertReadySound(database.db, player, 'mp3', values);
}

test('ten full servers stay within the public limit for an hour of play, and every sound is there in time', async () => {
  for (const player of withSound) await publish(player, `first of ${player}`);
  const limit = String(parseConfig({}).rateLimit.publicPerMinute);
  const service = await startTestService({
    databaseUrl: database.url,
    env: { PORT: String(port), PUBLIC_URL: url, STORAGE_DIR: folder.path, RATE_LIMIT_PUBLIC: limit },
  });
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  const member = () => members[random(members.length)] ?? aSteamId(1);
  // All servers run on one machine, as they do in communities, so the limit sees one address.
  const servers = Array.from({ length: SERVERS }, () => ({
    plugin: new SoundPlugin({ apiUrl: `${url}/api/v1`, clockMs: () => service.clock.monotonicMs }),
    /** Who is on the server, and since which second. */
    since: new Map<(typeof members)[number], number>(),
  }));
  let wanted = 0;
  let late = 0;

  for (let second = 0; second < 3600; second++) {
    service.clock.monotonicMs = second * 1000;
    for (const [index, { plugin, since }] of servers.entries()) {
      // Maps change every thirty minutes, on all servers within the same ten seconds.
      if (second % 1800 === index) {
        while (since.size < PLAYERS_A_SERVER) since.set(member(), second);
        await plugin.startMap(since.keys());
      }
      // Somebody leaves and somebody else comes every fifty seconds.
      if (second % 50 === index && since.size > 0) {
        const [leaver] = since.keys();
        if (leaver) since.delete(leaver);
        if (leaver) plugin.leave(leaver);
        const joiner = member();
        since.set(joiner, second);
        plugin.join(joiner);
      }
      await plugin.tick();
      if (second % 90 === 45 && since.size > 0) {
        const on = [...since.keys()];
        const mostValuable = on[random(on.length)] ?? aSteamId(1);
        const isDue = second - (since.get(mostValuable) ?? second) > 60;
        plugin.endRound(mostValuable);
        if (withSound.includes(mostValuable) && isDue) {
          wanted += 1;
          if (!plugin.isPlaying()) late += 1;
        }
      }
      if (second % 90 === 52) plugin.startRound();
    }
    // Once in the hour somebody replaces their sound.
    if (second === 1700)
      for (const player of withSound.slice(0, 40)) await publish(player, `second of ${player}`);
  }

  const total = { asked: 0, unchanged: 0, refused: 0, downloaded: 0 };
  for (const { plugin } of servers) {
    for (const key of ['asked', 'unchanged', 'refused', 'downloaded'] as const)
      total[key] += plugin.requests[key];
    expect(plugin.isPlaying()).toBe(false);
  }
  console.log(`an hour of ${SERVERS} servers: ${JSON.stringify(total)}, ${wanted} sounds played`);
  expect([total.refused, late]).toEqual([0, 0]);
  expect(wanted).toBeGreaterThan(50);
  for (const { plugin } of servers) {
    for (const player of plugin.played) {
      expect(new TextDecoder().decode(plugin.sound(player)?.bytes)).toMatch(
        new RegExp(`^(first|second) of ${player}`),
      );
    }
  }
});

test('a plugin keeps what it holds while the service is away, and fetches what it missed after that', async () => {
  const [first = aSteamId(1), second = aSteamId(4)] = withSound;
  await publish(first, 'held before');
  const frontPort = findFreePort();
  const env = { PUBLIC_URL: `http://127.0.0.1:${frontPort}`, STORAGE_DIR: folder.path };
  const service = await startTestService({ databaseUrl: database.url, env });
  let isAway = false;
  let storageStatus = 200;
  const front = Bun.serve({
    port: frontPort,
    hostname: '127.0.0.1',
    fetch: ({ url: asked, headers }) => {
      const { pathname, search } = new URL(asked);
      if (isAway) return new Response('', { status: 503, headers: { 'Retry-After': '5' } });
      if (pathname.startsWith('/storage') && storageStatus !== 200)
        return new Response('', { status: storageStatus });
      headers.set('Accept-Encoding', 'identity');
      return fetch(service.origin + pathname + search, { headers });
    },
  });
  let nowMs = 0;
  const plugin = new SoundPlugin({ apiUrl: `${front.url.origin}/api/v1`, clockMs: () => nowMs });
  const pass = async (seconds: number) => {
    nowMs += seconds * 1000;
    await plugin.tick();
  };
  try {
    await plugin.startMap([first]);
    expect(plugin.sound(first)?.bytes.length).toBe(2000);

    isAway = true;
    plugin.join(second);
    await pass(60);
    expect(plugin.requests).toMatchObject({ asked: 2, refused: 1 });
    await pass(4);
    expect(plugin.requests.asked).toBe(2);
    plugin.endRound(first);
    expect(plugin.isPlaying()).toBe(true);

    isAway = false;
    storageStatus = 503;
    await pass(1);
    expect(plugin.requests).toMatchObject({ asked: 3, refused: 1, unchanged: 0 });
    expect(plugin.sound(second)).toBeUndefined();
    storageStatus = 200;
    await pass(60);
    expect(plugin.requests).toMatchObject({ asked: 4, unchanged: 1 });
    expect(plugin.sound(second)?.bytes.length).toBe(2000);

    await front.stop(true);
    plugin.leave(second);
    plugin.join(second);
    await pass(60);
    expect(plugin.requests).toMatchObject({ asked: 5, refused: 2 });
    await pass(30);
    expect(plugin.requests.asked).toBe(6);
  } finally {
    await front.stop(true);
  }
});
