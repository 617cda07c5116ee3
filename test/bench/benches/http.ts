import { type Bench, formatRatio, median, type Row, requireTool } from '../bench.ts';
import { type Child, pathOf, startChild } from '../support/child.ts';
import { fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';
import { type LoadFigures, runWrk } from '../support/wrk.ts';

/** Short and many: the machine is faster in some seconds than in others, and servers that follow each other meet the same. */
const ROUNDS = 15;
const SECONDS = 1;
const PATH = '/api/v1/servers';
const WHY_ROUTED =
  "the client's address, the limiter, its headers and the metrics take 2 to 3 µs a request; half of that is the address, " +
  'for which Bun asks the kernel at every request';

export const http: Bench = {
  name: 'http',
  title: 'responses under load, compared with bare servers that send the same bytes',
  run: async ({ say }) => {
    requireTool('wrk');
    await using postgres = await startTemporaryPostgres('http');
    const children: Child[] = [];
    try {
      const { token, player } = await fillDatabase(postgres.url);
      const start = async (command: string[], env?: Record<string, string>) => {
        const child = await startChild(command, env);
        children.push(child);
        return child;
      };
      const ours = await start(START_COMMAND, serviceEnv(postgres.url, postgres.folder));
      const answer = await readResponse(`${ours.origin}${PATH}`);
      const fixed = JSON.stringify(answer);
      const bare = await start([
        process.execPath,
        pathOf('test/bench/support/bare-server.ts'),
        'answer',
        fixed,
      ]);
      const byHand = await start([
        process.execPath,
        pathOf('test/bench/support/bare-server.ts'),
        'penalties',
        postgres.url,
      ]);

      const at = (child: Child, path = PATH) => `${child.origin}${path}`;
      const revalidation = { 'If-None-Match': answer.headers.etag ?? '' };
      say('GET /servers');
      const list = await loadInTurn([at(ours), at(bare)]);
      say('304');
      const unchanged = await loadInTurn([at(ours), at(bare)], revalidation);
      say('GET /penalties');
      const penaltyPath = `/api/v1/penalties?steamid=${player}`;
      const cold = await loadInTurn([at(ours, penaltyPath), at(byHand, penaltyPath)], {
        Authorization: `Bearer ${token}`,
      });
      return [
        throughput('GET /servers', list, {
          floor: 1,
          name: 'bare Bun.serve',
          atLeast: 0.85,
          p99AtMost: 1.5,
          whyShort: WHY_ROUTED,
        }),
        throughput('GET /servers, 304', unchanged, {
          floor: 1,
          name: 'bare Bun.serve',
          atLeast: 0.85,
          whyShort: WHY_ROUTED,
        }),
        throughput('GET /penalties of a player', cold, {
          floor: 1,
          name: 'SQL by hand',
          atLeast: 0.85,
          whyShort:
            'the limiter, token, database time limit and routing take about 40 µs, though the query itself is quicker than by hand',
        }),
      ];
    } finally {
      await Promise.all(children.map((child) => child.stop()));
    }
  },
};

async function readResponse(url: string): Promise<{ body: string; headers: Record<string, string> }> {
  const response = await fetch(url, { headers: { 'Accept-Encoding': 'identity' } });
  const { date: _, 'content-length': __, ...headers } = Object.fromEntries(response.headers);
  return { body: await response.text(), headers };
}

/** Loads each address for a moment, in turn, round after round; the medians of each. */
async function loadInTurn(
  urls: readonly string[],
  headers: Record<string, string> = {},
): Promise<LoadFigures[]> {
  for (const url of urls) await runWrk(url, { seconds: 2, headers });
  const figures = urls.map((): LoadFigures[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, url] of urls.entries())
      figures[index]?.push(await runWrk(url, { seconds: SECONDS, headers }));
  }
  return figures.map((rounds) => ({
    requestsPerSecond: median(rounds.map((round) => round.requestsPerSecond)),
    p99Ms: median(rounds.map((round) => round.p99Ms)),
  }));
}

/** The figure that ours are compared with; `whyShort` is the reason when they do not reach it. */
type Target = { floor: number; name: string; atLeast: number; p99AtMost?: number; whyShort: string };

/** Ours comes first in `figures`. */
function throughput(
  what: string,
  figures: readonly LoadFigures[],
  { floor, name, atLeast, p99AtMost, whyShort }: Target,
): Row {
  const [ours, other] = [figures[0], figures[floor]];
  if (!ours || !other) throw new Error('nothing was measured');
  const ratio = ours.requestsPerSecond / other.requestsPerSecond;
  const p99Ratio = ours.p99Ms / other.p99Ms;
  const isReached = ratio >= atLeast && (p99AtMost === undefined || p99Ratio <= p99AtMost);
  const format = ({ requestsPerSecond, p99Ms }: LoadFigures) =>
    `${Math.round(requestsPerSecond)}/s, p99 ${p99Ms.toFixed(1)} ms`;
  return {
    what,
    ours: format(ours),
    floor: `${name}: ${format(other)}`,
    ratio:
      p99AtMost === undefined ? formatRatio(ratio) : `${formatRatio(ratio)}, p99 ${formatRatio(p99Ratio)}`,
    target: p99AtMost === undefined ? `≥ ${atLeast}×` : `≥ ${atLeast}×, p99 ≤ ${p99AtMost}×`,
    isReached,
    ...(!isReached && { note: whyShort }),
  };
}
