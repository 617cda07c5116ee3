import { afterEach, expect, jest, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import pino from 'pino';
import { listenForChanges } from '../../../src/db/changes.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { openLeaders } from '../../../src/db/leader.ts';
import { serverSamples, serverSnapshots } from '../../../src/db/schema/servers.ts';
import {
  respondNormally,
  startSimulatedGameServer,
  staySilent,
} from '../../../src/demo/simulated-game-server.ts';
import { createServerList } from '../../../src/live/server-list.ts';
import { createPollSchedule } from '../../../src/poll/poll-schedule.ts';
import { createPoller } from '../../../src/poll/poller.ts';
import { removeServer, saveServerChanges, setServerHidden } from '../../../src/queries/servers/servers.ts';
import { insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { aBannedPacket } from '../../support/game-server/a2s.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const { db } = database;

const stops: (() => Promise<void>)[] = [];

afterEach(async () => {
  jest.useRealTimers();
  for (const stop of stops.splice(0).reverse()) await stop();
  await database.connection`truncate servers cascade`;
});

async function aGameServer(options: Parameters<typeof startSimulatedGameServer>[0] = {}) {
  const game = await startSimulatedGameServer(options);
  stops.push(game.stop);
  return game;
}

/** A game server that is polled. */
async function aListedServer(
  options: Parameters<typeof aGameServer>[0] = {},
  { isHidden = false }: { isHidden?: boolean } = {},
) {
  const game = await aGameServer(options);
  const { id, slug } = await insertServer(db, { address: game.address, isHidden });
  return { game, id, slug };
}

type Line = { level: number; msg: string; server?: string; reason?: string };

async function startPoller({ url = database.url, intervalSeconds = 0.1 } = {}) {
  const lines: Line[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const own = openDatabase(url, { max: 4 });
  const changes = await listenForChanges(own.connection, log);
  const servers = await createServerList(own.db, log);
  changes.onChange('servers', servers.invalidate);
  const poller = createPoller({
    db: own.db,
    servers,
    // Its clock runs ten times as fast, so that an outage is over soon.
    leaders: openLeaders(url, { log, everyMs: 20, clockMs: () => performance.now() * 10 }),
    log,
    intervalSeconds,
  });
  stops.push(async () => {
    await poller.stop();
    servers.stop();
    await changes.stop();
    await own.close({ timeoutSeconds: 1 });
  });
  poller.start();
  const messagesOf = (slug: string) => lines.filter(({ server }) => server === slug).map(({ msg }) => msg);
  return { poller, lines, messagesOf };
}

async function snapshotOf(serverId: number) {
  const [row] = await db.select().from(serverSnapshots).where(eq(serverSnapshots.serverId, serverId));
  return row;
}

type Snapshot = typeof serverSnapshots.$inferSelect;

/** Waits until a server's snapshot is like that. */
function waitForSnapshot(serverId: number, isExpected: (snapshot: Snapshot) => boolean): Promise<Snapshot> {
  return waitFor(async () => {
    const row = await snapshotOf(serverId);
    return row !== undefined && isExpected(row) && row;
  });
}

test('saves what a server reports, and a sample of each poll', async () => {
  const players = [{ name: 'Ala', score: 7, joinedAt: 0 }];
  const { game, id } = await aListedServer({
    game: { hostname: 'Arena', map: 'am_aim', maxPlayers: 10, players },
  });
  await startPoller();
  expect(await waitFor(() => snapshotOf(id))).toEqual({
    serverId: id,
    isOnline: true,
    hostname: 'Arena',
    map: 'am_aim',
    playersCount: 1,
    maxPlayers: 10,
    pingMs: expect.any(Number),
    players: [{ name: 'Ala', score: 7 }],
    missedPolls: 0,
    polledAt: expect.any(Date),
    seenAt: expect.any(Date),
    fullSince: null,
  });
  game.game.map = 'de_train';
  game.game.players = [];
  await waitForSnapshot(id, ({ map }) => map === 'de_train');
  const samples = await waitFor(async () => {
    const rows = await db.select().from(serverSamples).where(eq(serverSamples.serverId, id));
    return rows.length >= 2 && rows;
  });
  expect(samples[0]).toMatchObject({ playersAverage: 1, playersMaximum: 1, maxPlayers: 10, onlineShare: 1 });
});

test('a server is offline after two misses in a row, not one, and comes back; each is logged once', async () => {
  const players = [{ name: 'Ala', score: 1, joinedAt: 0 }];
  const { game, id, slug } = await aListedServer({ game: { hostname: 'Dust', players } });
  const { messagesOf, lines } = await startPoller();
  await waitForSnapshot(id, ({ isOnline }) => isOnline);
  game.respond = () => [Buffer.from('garbage')];
  const once = await waitForSnapshot(id, ({ missedPolls }) => missedPolls === 1);
  expect(once).toMatchObject({ isOnline: true, playersCount: 1, players: [{ name: 'Ala', score: 1 }] });
  const twice = await waitForSnapshot(id, ({ missedPolls }) => missedPolls === 2);
  expect(twice).toMatchObject({
    isOnline: false,
    hostname: 'Dust',
    map: 'de_mirage',
    maxPlayers: 24,
    playersCount: 0,
    pingMs: 0,
    players: [],
  });
  await waitForSnapshot(id, ({ missedPolls }) => missedPolls >= 3);
  game.respond = respondNormally;
  await waitForSnapshot(id, ({ isOnline }) => isOnline);
  await waitFor(() => messagesOf(slug).length >= 3);
  expect(messagesOf(slug)).toEqual(['server is online', 'server is offline', 'server is online']);
  expect(lines.find(({ msg }) => msg === 'server is offline')?.reason).toBe('malformed');
});

test('a server that banned our address is logged as such, once', async () => {
  const { id, slug } = await aListedServer({ respond: () => [aBannedPacket()] });
  const { messagesOf } = await startPoller();
  await waitForSnapshot(id, ({ missedPolls }) => missedPolls >= 2);
  expect(messagesOf(slug)).toEqual([
    'server banned our address: it responds "Banned by server" to every request',
    'server is offline',
  ]);
});

test('finds added, shown, hidden and removed servers', async () => {
  const hidden = await aListedServer({}, { isHidden: true });
  const { poller } = await startPoller();
  const added = await aListedServer();
  await waitFor(() => snapshotOf(added.id));
  expect(await snapshotOf(hidden.id)).toBeUndefined();
  expect(hidden.game.requests.info).toBe(0);
  await setServerHidden(db, hidden.slug, { isHidden: false, actor: 'operator' });
  await waitFor(() => snapshotOf(hidden.id));
  await removeServer(db, added.slug, { actor: 'operator' });
  await waitFor(() => poller.health().servers === 1);
  await setServerHidden(db, hidden.slug, { isHidden: true, actor: 'operator' });
  await waitFor(() => poller.health().servers === 0);
});

test('only one of two processes polls, also when servers change', async () => {
  const { poller } = await startPoller();
  await waitFor(() => poller.health().isPolling);
  const standby = await startPoller();
  const { game, id } = await aListedServer();
  await waitFor(() => snapshotOf(id));
  // Each poll is a change that the other process hears of.
  await waitFor(() => game.requests.info > 5);
  expect(standby.poller.health().servers).toBe(0);
});

test('a late response of the old address of a server that moved is not saved', async () => {
  const { game: old, id, slug } = await aListedServer({ game: { map: 'de_old' }, delayMs: 700 });
  const current = await aGameServer({ game: { map: 'de_new' } });
  const { poller } = await startPoller({ intervalSeconds: 60 });
  await waitFor(() => old.requests.info > 0);
  await saveServerChanges(db, slug, { changes: { address: current.address }, actor: 'operator' });
  await waitFor(async () => (await snapshotOf(id)) && poller.health().running === 0);
  expect(await snapshotOf(id)).toMatchObject({ map: 'de_new', missedPolls: 0 });
});

test('a silent server delays no other, and is never asked twice at a time', async () => {
  for (let silent = 0; silent < 20; silent++) await aListedServer({ respond: staySilent });
  const { game: quick, id } = await aListedServer();
  const { poller } = await startPoller();
  await waitFor(() => snapshotOf(id));
  // Long after the silent servers were first polled, none is ever polled twice at the same time.
  await waitFor(
    () => {
      expect(poller.health().running).toBeLessThanOrEqual(21);
      return quick.requests.player >= 4;
    },
    { everyMs: 20 },
  );
});

test.each(['cut', 'freeze'] as const)(
  'survives an outage of the database (%s), and counts no miss for it',
  async (how) => {
    const proxy = await startDatabaseProxy(database.url);
    const { id } = await aListedServer();
    const { poller, lines } = await startPoller({ url: proxy.url });
    await waitFor(() => snapshotOf(id));
    proxy[how]();
    await waitFor(() => !poller.health().isPolling);
    expect(await snapshotOf(id)).toMatchObject({ isOnline: true, missedPolls: 0 });
    // Each failure is logged once.
    const warnings = lines.filter(({ level }) => level >= 40).map(({ msg }) => msg);
    expect(warnings).toEqual([...new Set(warnings)]);
    proxy.restore();
    const restoredAt = new Date();
    const after = await waitForSnapshot(id, ({ polledAt }) => polledAt > restoredAt);
    expect(after).toMatchObject({ isOnline: true, missedPolls: 0 });
  },
);

test('stops, whatever is under way', async () => {
  for (let silent = 0; silent < 10; silent++) await aListedServer({ respond: staySilent });
  const { poller } = await startPoller({ intervalSeconds: 15 });
  await waitFor(() => poller.health().running === 10);
  await poller.stop();
  await waitFor(() => poller.health().running === 0);
  expect(await db.select().from(serverSnapshots)).toEqual([]);
});

test('downsamples samples older than a day', async () => {
  const server = await insertServer(db, { isHidden: true });
  const twoDaysAgo = Math.floor((Date.now() - 2 * 86_400_000) / 300_000) * 300_000;
  await db.insert(serverSamples).values(
    [4, 8].map((players, number) => ({
      serverId: server.id,
      sampledAt: new Date(twoDaysAgo + number * 15_000),
      playersAverage: players,
      playersMaximum: players,
      maxPlayers: 10,
      onlineShare: 1,
    })),
  );
  await startPoller();
  const rows = await waitFor(async () => {
    const samples = await db.select().from(serverSamples).where(eq(serverSamples.serverId, server.id));
    return samples.length === 1 && samples;
  });
  expect(rows).toEqual([
    expect.objectContaining({
      periodSeconds: 300,
      playersAverage: 6,
      playersMaximum: 8,
      sampledAt: new Date(twoDaysAgo),
    }),
  ]);
});

/** A schedule of servers with the numbers from 1 to `count`, with a clock that `pass` moves; the first never responds. */
function aSchedule(count: number) {
  jest.useFakeTimers();
  const polled: number[] = [];
  const schedule = createPollSchedule({
    intervalMs: 15_000,
    maxRunning: 1000,
    poll: ({ id }) => {
      polled.push(id);
      return id === 1 ? new Promise(() => {}) : Promise.resolve();
    },
  });
  stops.push(async () => void schedule.stop());
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  return {
    ids,
    begin: () => schedule.setTargets(ids.map((id) => ({ id, slug: '', address: '' }))),
    /** @returns which servers are polled meanwhile. */
    pass: async (ms: number) => {
      jest.advanceTimersByTime(ms);
      for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
      return polled.splice(0).sort((a, b) => a - b);
    },
  };
}

test('polls of many servers are spread evenly over an interval, and none is polled twice at once', async () => {
  const { ids, begin, pass } = aSchedule(100);
  begin();
  expect(await pass(0)).toEqual(ids);
  expect(await pass(15_000)).toEqual(ids.filter((id) => id % 4 === 3 || id % 4 === 0));
  for (let interval = 0; interval < 2; interval++) {
    const quarters = [await pass(3750), await pass(3750), await pass(3750), await pass(3750)];
    expect(quarters.map(({ length }) => length)).toEqual([24, 25, 25, 25]);
    expect(quarters.flat().sort((a, b) => a - b)).toEqual(ids.slice(1));
  }
});

test('a server that is added just before others are polled is polled again after half an interval at the earliest', async () => {
  const { ids, begin, pass } = aSchedule(4);
  await pass(3700);
  begin();
  expect(await pass(0)).toEqual(ids);
  expect(await pass(7400)).toEqual([]);
});
