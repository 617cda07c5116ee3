import { startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { countStatuses, type LoadResponse, percentileMs } from '../../support/http/steady-load.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../../support/providers/steam-openid-provider.ts';
import { type Bench, type BenchOptions, compare, formatMs, NotMeasured, type Row } from '../bench.ts';
import { readResidentMb, startChild } from '../support/child.ts';
import { startGameServers } from '../support/game-servers.ts';
import { fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';
import { startVisitors, type Visitors } from '../support/visitors.ts';

const MAX_GROWTH = 1.05;
/** Memory is a mean: it rises until a garbage collection and then falls. */
const STRETCH_MS = 60_000;
const SAMPLE_EVERY_MS = 500;

export const soak: Bench = {
  name: 'soak',
  title: 'everything at once: memory after an hour (--minutes 60), compared with the second minute',
  run: async (options) => {
    if (process.platform !== 'linux') throw new NotMeasured('memory is read from /proc, which is Linux');
    await using postgres = await startTemporaryPostgres('soak');
    using games = await startGameServers(20);
    const discord = await startFakeDiscord({ forgets: true });
    const steam = startSteamOpenIdProvider();
    steam.approvesAtOnce = true;
    try {
      const { token, player } = await fillDatabase(postgres.url, games.addresses);
      const port = findFreePort();
      const service = await startChild(START_COMMAND, {
        ...serviceEnv(postgres.url, postgres.folder),
        PORT: String(port),
        PUBLIC_URL: `http://127.0.0.1:${port}`,
        TRUSTED_PROXIES: '127.0.0.1',
        ROLES: 'api,bot,poller,media,sync',
        STEAM_OPENID_URL: steam.url,
        DISCORD_TOKEN: discord.token,
        DISCORD_API_URL: discord.apiUrl,
      });
      const visitors = await startVisitors(service.origin, { token, player, discord, steam });
      try {
        return await watch(service.pid, visitors, options);
      } finally {
        await visitors.leave();
        await service.stop();
      }
    } finally {
      await Promise.all([discord.stop(), steam.stop()]);
    }
  },
};

async function watch(pid: number, visitors: Visitors, { minutes, say }: BenchOptions): Promise<Row[]> {
  const minutesMb: number[] = [];
  const responses: LoadResponse[] = [];
  for (let minute = 1; minute <= minutes; minute++) {
    const samples: number[] = [];
    const sampling = setInterval(async () => samples.push(await readResidentMb(pid)), SAMPLE_EVERY_MS);
    await Bun.sleep(STRETCH_MS);
    clearInterval(sampling);
    const stretch = await visitors.takeResponses();
    minutesMb.push(samples.reduce((sum, mb) => sum + mb, 0) / samples.length);
    responses.push(...stretch);
    const p99 = formatMs(percentileMs(stretch, 0.99));
    say(`minute ${minute}: ${minutesMb.at(-1)?.toFixed(0)} MB, ${stretch.length} requests, p99 ${p99}`);
  }
  return toRows(minutesMb, responses, visitors.counts());
}

function toRows(
  minutesMb: readonly number[],
  responses: readonly LoadResponse[],
  counts: Record<string, number>,
): Row[] {
  const failed = responses.filter(({ status }) => status === 0 || status >= 400);
  const statuses = Object.entries(countStatuses(responses)).map(([status, count]) => `${count} × ${status}`);
  const beside = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  const failures = Object.entries(Object.groupBy(failed, ({ status, path }) => `${status} of ${path}`)).map(
    ([what, group = []]) => `${group.length} × ${what}: ${group[0]?.text}.`,
  );
  return [
    compare(
      `memory after ${minutesMb.length} minutes`,
      {
        ours: minutesMb.at(-1) ?? Number.NaN,
        floor: minutesMb[1] ?? Number.NaN,
        name: 'in the second minute',
        format: (mb) => `${mb.toFixed(0)} MB`,
      },
      { atMost: MAX_GROWTH },
    ),
    {
      what: 'requests that failed',
      ours: String(failed.length),
      floor: statuses.join(', '),
      ratio: '–',
      target: '0',
      isReached: failed.length === 0 && (counts['lost interactions'] ?? 0) === 0,
      note: [`Beside the requests: ${beside.join(', ')}.`, ...failures].join(' '),
    },
  ];
}
