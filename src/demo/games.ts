import { PEOPLE, personAt } from './people.ts';
import { below, chance, pick } from './random.ts';
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

type Game = { plan: DemoServer; server: SimulatedGameServer; mapEndsAt: number };

/** A map lasts between one and three minutes, so that visitors see it change. */
const MIN_MAP_MS = 60_000;
const MAX_MAP_MS = 180_000;
/** The unsteady server is down for one minute of every four, from the second minute on. */
const UNSTEADY_PERIOD_MS = 240_000;
const DOWN_FROM_MS = 90_000;
const DOWN_UNTIL_MS = 150_000;

/** Starts the simulated games of all demo servers on loopback, with players. */
export async function startDemoGames(now: Date): Promise<DemoGames> {
  const startedAt = now.getTime();
  const games = await Promise.all(
    DEMO_SERVERS.map(async (plan): Promise<Game> => {
      const { hostname, maxPlayers, bots = 0, delayMs } = plan;
      const server = await startSimulatedGameServer({ game: { hostname, maxPlayers, bots }, delayMs });
      const game = { plan, server, mapEndsAt: 0 };
      while (server.game.players.length < countDemoPlayers(plan, now)) {
        join(game, startedAt - below(40) * 60_000);
      }
      startMap(game, startedAt);
      for (const player of server.game.players) player.score = below(25);
      return game;
    }),
  );
  return {
    addresses: new Map(games.map(({ plan, server }) => [plan.slug, server.address])),
    advance: (at) => {
      for (const game of games) advanceGame(game, at, startedAt);
    },
    stop: async () => {
      await Promise.all(games.map(({ server }) => server.stop()));
    },
  };
}

function advanceGame(game: Game, at: Date, startedAt: number): void {
  const { plan, server } = game;
  if (plan.isUnsteady) {
    const into = (at.getTime() - startedAt) % UNSTEADY_PERIOD_MS;
    server.respond = into >= DOWN_FROM_MS && into < DOWN_UNTIL_MS ? staySilent : respondNormally;
  }
  if (at.getTime() >= game.mapEndsAt) startMap(game, at.getTime());

  const { players } = server.game;
  const target = countDemoPlayers(plan, at);
  if (players.length < target && chance(0.4)) join(game, at.getTime());
  // Players also come and go while their number stays the same.
  if (chance(players.length > target ? 0.4 : 0.15)) players.splice(below(players.length), 1);
  for (const player of players) if (chance(0.06)) player.score += 1;
}

function startMap(game: Game, at: number): void {
  const { plan, server } = game;
  server.game.map = pick(plan.maps.filter((map) => map !== server.game.map));
  for (const player of server.game.players) player.score = 0;
  game.mapEndsAt = at + MIN_MAP_MS + below(MAX_MAP_MS - MIN_MAP_MS);
}

function join({ plan, server }: Game, joinedAt: number): void {
  const { players } = server.game;
  const name = plan.isStock ? '' : personAt(below(PEOPLE)).name;
  if (name === '' || players.every((player) => player.name !== name)) {
    players.push({ name, score: 0, joinedAt });
  }
}
