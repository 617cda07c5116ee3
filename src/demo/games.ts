import type { Person } from './people.ts';
import { createRandom, type Random } from './random.ts';
import { countDemoPlayers, DEMO_SERVERS, type DemoServer } from './servers.ts';
import {
  respondNormally,
  type SimulatedGameServer,
  startSimulatedGameServer,
  staySilent,
} from './simulated-game-server.ts';

type DemoGames = {
  /** `host:port` of each running game, by the slug of its server. */
  addresses: ReadonlyMap<string, string>;
  /** Advances the games to `now`: players come and go, scores rise, maps change, one server goes down and comes back. */
  advance: (now: Date) => void;
  stop: () => Promise<void>;
};

type Game = { plan: DemoServer; server: SimulatedGameServer; random: Random; mapEndsAt: number };

/** A map lasts between one and three minutes, so that visitors see it change. */
const MIN_MAP_MS = 60_000;
const MAX_MAP_MS = 180_000;
/** The unsteady server is down for one minute of every four, from the second minute on. */
const UNSTEADY_PERIOD_MS = 240_000;
const DOWN_FROM_MS = 90_000;
const DOWN_UNTIL_MS = 150_000;

/** Starts the simulated games of all demo servers on loopback, with players. */
export async function startDemoGames(
  people: readonly Person[],
  { now, seed }: { now: Date; seed: number },
): Promise<DemoGames> {
  const startedAt = now.getTime();
  const games: Game[] = [];
  for (const [number, plan] of DEMO_SERVERS.entries()) {
    const { hostname, maxPlayers, bots = 0, delayMs } = plan;
    const server = await startSimulatedGameServer({
      game: { hostname, maxPlayers, bots, map: plan.maps[0] ?? 'de_dust2' },
      delayMs,
    });
    const game = { plan, server, random: createRandom(seed + 100 + number), mapEndsAt: startedAt };
    startMap(game, startedAt);
    while (server.game.players.length < countDemoPlayers(plan, now)) join(game, people, startedAt);
    for (const player of server.game.players) {
      player.joinedAt -= game.random.below(40) * 60_000;
      player.score = game.random.below(25);
    }
    games.push(game);
  }
  return {
    addresses: new Map(games.map(({ plan, server }) => [plan.slug, server.address])),
    advance: (at) => {
      for (const game of games) advanceGame(game, people, at, startedAt);
    },
    stop: async () => {
      await Promise.all(games.map(({ server }) => server.stop()));
    },
  };
}

function advanceGame(game: Game, people: readonly Person[], at: Date, startedAt: number): void {
  const { plan, server, random } = game;
  if (plan.isUnsteady) {
    const into = (at.getTime() - startedAt) % UNSTEADY_PERIOD_MS;
    server.respond = into >= DOWN_FROM_MS && into < DOWN_UNTIL_MS ? staySilent : respondNormally;
  }
  if (at.getTime() >= game.mapEndsAt) startMap(game, at.getTime());

  const { players } = server.game;
  const target = countDemoPlayers(plan, at);
  if (players.length < target && random.chance(0.4)) join(game, people, at.getTime());
  if (players.length > target && random.chance(0.4)) leave(game);
  // Players also come and go while their number stays the same.
  if (random.chance(0.03)) leave(game);
  for (const player of players) {
    if (random.chance(0.06)) player.score += 1;
    if (random.chance(0.002)) player.score -= 1;
  }
}

function startMap(game: Game, at: number): void {
  const { plan, server, random } = game;
  const others = plan.maps.filter((map) => map !== server.game.map);
  if (others.length > 0) server.game.map = random.pick(others);
  for (const player of server.game.players) player.score = 0;
  game.mapEndsAt = at + random.between(MIN_MAP_MS, MAX_MAP_MS);
}

function join({ plan, server, random }: Game, people: readonly Person[], at: number): void {
  const { players } = server.game;
  if (players.length >= plan.maxPlayers) return;
  const name = plan.isStock ? '' : random.pick(people).name;
  if (name !== '' && players.some((player) => player.name === name)) return;
  players.push({ name, score: 0, joinedAt: at });
}

function leave({ server, random }: Game): void {
  const { players } = server.game;
  if (players.length > 0) players.splice(random.below(players.length), 1);
}
