import { startSimulatedGameServer } from '../../../src/demo/simulated-game-server.ts';

/** `bun test/bench/support/game-servers.ts COUNT`: that many game servers with twelve players each, until the process is ended. */
const count = Number(process.argv[2]);
const servers = await Promise.all(
  Array.from({ length: count }, (_, number) =>
    startSimulatedGameServer({
      game: {
        hostname: `Bench server ${number}`,
        players: Array.from({ length: 12 }, (_, player) => ({
          name: `Player ${player} of ${number}`,
          score: player,
          joinedAt: Date.now(),
        })),
      },
    }),
  ),
);
console.log(JSON.stringify(servers.map(({ address }) => address)));
