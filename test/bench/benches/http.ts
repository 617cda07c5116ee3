import { type Bench, compare, median, type Row, requireTool } from '../bench.ts';
import { type Child, pathOf, readProcessorMs, startChild } from '../support/child.ts';
import { startGameServers } from '../support/game-servers.ts';
import { fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';
import { runWrk } from '../support/wrk.ts';

/** Short and many: the machine is faster in some seconds than in others, and servers that follow each other meet the same. */
const ROUNDS = 15;
const SECONDS = 1;
const WARM_UP_REQUESTS = 500_000;
const SERVERS_PATH = '/api/v1/servers';

export const http: Bench = {
  name: 'http',
  title: 'responses under load while 20 servers are polled, compared with bare servers',
  run: async ({ say }) => {
    requireTool('wrk');
    await using postgres = await startTemporaryPostgres('http');
    using games = await startGameServers(20);
    const { token, player } = await fillDatabase(postgres.url, games.addresses);
    const startBare = (mode: string, argument: string) =>
      startChild([process.execPath, pathOf('test/bench/support/bare-server.ts'), mode, argument]);
    await using ours = await startChild(START_COMMAND, {
      ...serviceEnv(postgres.url, postgres.folder),
      ROLES: 'api,poller',
    });
    await using bare = await startBare(
      'answer',
      JSON.stringify(await readResponse(ours.origin + SERVERS_PATH)),
    );
    await using byHand = await startBare('penalties', postgres.url);
    say(`${WARM_UP_REQUESTS} requests`);
    for (let sent = 0; sent < WARM_UP_REQUESTS; ) {
      sent += (await runWrk(ours.origin + SERVERS_PATH, { seconds: 2 })).requests;
    }
    say('GET /servers');
    const list = await loadInTurn(ours, bare, SERVERS_PATH);
    say('GET /penalties');
    const headers = { Authorization: `Bearer ${token}` };
    const cold = await loadInTurn(ours, byHand, `/api/v1/penalties?steamid=${player}`, headers);
    return [
      ...toRows('GET /servers', list, { name: 'bare Bun.serve', atLeast: 0.75, p99AtMost: 1.5 }),
      ...toRows('GET /penalties of a player', cold, { name: 'SQL by hand', atLeast: 0.85 }),
    ];
  },
};

async function readResponse(url: string): Promise<{ body: string; headers: Record<string, string> }> {
  const response = await fetch(url, { headers: { 'Accept-Encoding': 'identity' } });
  const { date: _, 'content-length': __, ...headers } = Object.fromEntries(response.headers);
  return { body: await response.text(), headers };
}

type Figures = { perSecond: number; p99Ms: number; processorUs: number };

/** Loads both for a moment, in turn, round after round. @returns the medians of each. */
async function loadInTurn(ours: Child, floor: Child, path: string, headers: Record<string, string> = {}) {
  const load = async ({ origin, pid }: Child, seconds = SECONDS): Promise<Figures> => {
    const before = await readProcessorMs(pid);
    const { requests, requestsPerSecond, p99Ms } = await runWrk(origin + path, { seconds, headers });
    const processorUs = (((await readProcessorMs(pid)) - before) * 1000) / requests;
    return { perSecond: requestsPerSecond, p99Ms, processorUs };
  };
  for (const child of [ours, floor]) await load(child, 2);
  const rounds: { ours: Figures; floor: Figures }[] = [];
  for (let round = 0; round < ROUNDS; round++)
    rounds.push({ ours: await load(ours), floor: await load(floor) });
  const medianOf = (side: 'ours' | 'floor', key: keyof Figures) =>
    median(rounds.map((round) => round[side][key]));
  return (key: keyof Figures) => ({ ours: medianOf('ours', key), floor: medianOf('floor', key) });
}

function toRows(
  what: string,
  of: Awaited<ReturnType<typeof loadInTurn>>,
  { name, atLeast, p99AtMost }: { name: string; atLeast: number; p99AtMost?: number },
): Row[] {
  return [
    compare(
      `${what}: requests`,
      { ...of('perSecond'), name, format: (perSecond) => `${Math.round(perSecond)}/s` },
      { atLeast },
    ),
    ...(p99AtMost === undefined
      ? []
      : [compare(`${what}: p99`, { ...of('p99Ms'), name }, { atMost: p99AtMost })]),
    compare(`${what}: processor time of a request`, {
      ...of('processorUs'),
      name,
      format: (us) => `${us.toFixed(1)} µs`,
    }),
  ];
}
