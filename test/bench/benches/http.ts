import { alternate, type Bench, compare, medians, type Row, requireTool } from '../bench.ts';
import { type Child, startChild, toCommand } from '../support/child.ts';
import { startGameServers } from '../support/game-servers.ts';
import { PLAYER, startService } from '../support/service.ts';
import { loadServer, runWrk } from '../support/wrk.ts';

/** Short and many: the machine is faster in some seconds than in others. */
const ROUNDS = 15;
const SECONDS = 1;
const WARM_UP_REQUESTS = 500_000;
const SERVERS_PATH = '/api/v1/servers';

export const http: Bench = {
  name: 'http',
  title: 'responses under load while 20 servers are polled, compared with bare servers',
  run: async ({ say }) => {
    requireTool('wrk');
    using games = await startGameServers(20);
    await using ours = await startService('http', { ...games, env: { ROLES: 'api,poller' } });
    const startBare = (mode: string, argument: string) =>
      startChild(toCommand('bare-server.ts', mode, argument));
    const response = await readResponse(ours.origin + SERVERS_PATH);
    await using bare = await startBare('answer', JSON.stringify(response));
    await using byHand = await startBare('penalties', ours.databaseUrl);
    say(`${WARM_UP_REQUESTS} requests`);
    for (let sent = 0; sent < WARM_UP_REQUESTS; ) {
      sent += (await runWrk(ours.origin + SERVERS_PATH, { seconds: 2 })).requests;
    }
    say('GET /servers');
    const list = await loadInTurn(ours, bare, SERVERS_PATH);
    say('GET /penalties');
    const cold = await loadInTurn(ours, byHand, `/api/v1/penalties?steamid=${PLAYER}`, ours.headers);
    const name = 'bare Bun.serve';
    return [
      compareRates('GET /servers', list, { name, atLeast: 0.75 }),
      compare('GET /servers: p99', list('p99Ms'), { name, atMost: 1.5 }),
      compareProcessor('GET /servers', list, name),
      compareRates('GET /penalties of a player', cold, { name: 'SQL by hand', atLeast: 0.85 }),
      compareProcessor('GET /penalties of a player', cold, 'SQL by hand'),
    ];
  },
};

async function readResponse(url: string): Promise<{ body: string; headers: Record<string, string> }> {
  const response = await fetch(url, { headers: { 'Accept-Encoding': 'identity' } });
  const { date: _, 'content-length': __, ...headers } = Object.fromEntries(response.headers);
  return { body: await response.text(), headers };
}

type Figures = Awaited<ReturnType<typeof loadServer>>;
type MediansOf = (key: keyof Figures) => { ours: number; floor: number };

/** Loads both for a moment, in turn, round after round. */
async function loadInTurn(
  ours: Child,
  floor: Child,
  path: string,
  headers: Record<string, string> = {},
): Promise<MediansOf> {
  for (const server of [ours, floor]) await loadServer(server, path, { seconds: 2, headers });
  const load = (server: Child) => () => loadServer(server, path, { seconds: SECONDS, headers });
  const sides = await alternate(ROUNDS, { ours: load(ours), floor: load(floor) });
  return (key) => medians({ ours: sides.ours.map((f) => f[key]), floor: sides.floor.map((f) => f[key]) });
}

function compareRates(what: string, of: MediansOf, limit: { name: string; atLeast: number }): Row {
  const format = (perSecond: number) => `${Math.round(perSecond)}/s`;
  return compare(`${what}: requests`, of('requestsPerSecond'), { ...limit, format });
}

function compareProcessor(what: string, of: MediansOf, name: string): Row {
  const format = (ms: number) => `${(ms * 1000).toFixed(1)} µs`;
  return compare(`${what}: processor time of a request`, of('processorMs'), { name, format });
}
