import type { Db } from '../../../src/db/client.ts';
import { type ServerPlayer, serverMapPeriods, serverSamples } from '../../../src/db/schema/servers.ts';
import { saveServerPolls } from '../../../src/queries/servers/polls.ts';
import { aServerState, insertServer } from './builders.ts';

const STEP_MS = 300_000;
const DAY_MS = 86_400_000;

type Seed = Parameters<typeof insertServer>[1] & {
  now: Date;
  days?: number;
  maxPlayers?: number;
  players?: ServerPlayer[];
  playersCount?: number;
  map?: string;
  isOnline?: boolean;
};

/** A server with a past: a wave of players each day, an outage on the fourth day back, and maps that took turns. */
export async function insertServerWithHistory(
  db: Db,
  {
    now,
    days = 30,
    maxPlayers = 24,
    players = [],
    playersCount = players.length,
    map = 'de_mirage',
    isOnline = true,
    ...values
  }: Seed,
) {
  const server = await insertServer(db, values);
  const until = Math.floor(now.getTime() / STEP_MS) * STEP_MS;
  const rows: (typeof serverSamples.$inferInsert)[] = [];
  for (let at = until - days * DAY_MS; at < until; at += STEP_MS) {
    const hour = (at % DAY_MS) / 3_600_000;
    const wave = (1 + Math.cos(((hour - 19) / 12) * Math.PI)) / 2;
    const isOut = at > until - 4 * DAY_MS && at < until - 4 * DAY_MS + 5 * 3_600_000;
    const count = isOut ? 0 : wave * maxPlayers * 0.85;
    rows.push({
      serverId: server.id,
      sampledAt: new Date(at),
      periodSeconds: 300,
      playersAverage: count,
      playersMaximum: Math.round(count),
      maxPlayers,
      onlineShare: isOut ? 0 : 1,
    });
  }
  for (let start = 0; start < rows.length; start += 5000) {
    await db.insert(serverSamples).values(rows.slice(start, start + 5000));
  }
  const maps = ['de_mirage', 'de_inferno', 'de_nuke', 'workshop/3070284539/de_cache'];
  await db.insert(serverMapPeriods).values(
    Array.from({ length: 60 }, (_, index) => ({
      serverId: server.id,
      map: maps[(index * index) % maps.length] ?? '',
      startedAt: new Date(until - (index + 1) * 3_600_000),
      endedAt: new Date(until - (index + 1) * 3_600_000 + 2_700_000),
    })),
  );
  const state = aServerState({
    hostname: `${server.name} | 128 tick`,
    map,
    playersCount,
    maxPlayers,
    pingMs: 12,
    players,
  });
  const polledAt = new Date(now.getTime() - 5000);
  await saveServerPolls(db, [{ serverId: server.id, state, polledAt }]);
  if (!isOnline) {
    for (const seconds of [4, 3]) {
      const missedAt = new Date(now.getTime() - seconds * 1000);
      await saveServerPolls(db, [{ serverId: server.id, state: undefined, polledAt: missedAt }]);
    }
  }
  return server;
}
