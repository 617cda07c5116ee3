import { startSimulatedGameServer } from '../../../src/demo/simulated-game-server.ts';

/** Simulates game servers with twelve players each in a separate process. */
export async function startGameServers(count: number): Promise<Disposable & { addresses: string[] }> {
  const child = Bun.spawn([process.execPath, import.meta.path, String(count)], { stdout: 'pipe' });
  let text = '';
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.includes('\n')) break;
  }
  return { addresses: JSON.parse(text), [Symbol.dispose]: () => child.kill() };
}

if (import.meta.main) {
  const players = Array.from({ length: 12 }, (_, number) => ({
    name: `Player ${number}`,
    score: number,
    joinedAt: Date.now(),
  }));
  const servers = await Promise.all(
    Array.from({ length: Number(process.argv[2]) }, (_, number) =>
      startSimulatedGameServer({ game: { hostname: `Bench server ${number}`, players } }),
    ),
  );
  console.log(JSON.stringify(servers.map(({ address }) => address)));
}
