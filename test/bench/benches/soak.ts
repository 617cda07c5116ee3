import { readdir } from 'node:fs/promises';
import { openDatabase } from '../../../src/db/database.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { findDrawingProcesses } from '../../support/drawing/drawing-processes.ts';
import { countStatuses, type LoadResponse, percentileMs } from '../../support/http/steady-load.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../../support/providers/steam-openid-provider.ts';
import { type Bench, type BenchOptions, formatMs, NotMeasured, type Row } from '../bench.ts';
import { pathOf, readResidentMb, startChild } from '../support/child.ts';
import { fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';
import { startVisitors, type Visitors } from '../support/visitors.ts';

/** The table has this many lines, however long it runs: of an hour, one each five minutes. */
const STRETCHES = 12;
const GAME_SERVERS = 20;
/** A shorter run ends before the heap has its size. */
const MIN_MINUTES_FOR_MEMORY = 10;
const MEMORY = { maxMb: 150, growth: 0.05 };
/** Connections come and go; a leak of one descriptor per upload or interaction would be many more than this. */
const DESCRIPTOR_MARGIN = 40;

export const soak: Bench = {
  name: 'soak',
  title: 'everything at once, for as long as --minutes says',
  run: async (options) => {
    if (process.platform !== 'linux') throw new NotMeasured('memory is read from /proc, which is Linux');
    await using postgres = await startTemporaryPostgres('soak');
    const discord = await startFakeDiscord({ forgets: true });
    const steam = startSteamOpenIdProvider();
    steam.approvesAtOnce = true;
    const gameServers = Bun.spawn(
      [process.execPath, pathOf('test/bench/support/game-servers.ts'), String(GAME_SERVERS)],
      { stdout: 'pipe' },
    );
    try {
      const { token, player } = await fillDatabase(postgres.url);
      await moveServers(postgres.url, await readAddresses(gameServers.stdout));
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
      gameServers.kill();
      await Promise.all([discord.stop(), steam.stop()]);
    }
  },
};

/** Gives the servers of the database the addresses of those that are played here. */
async function moveServers(url: string, addresses: readonly string[]): Promise<void> {
  const { db, close } = openDatabase(url);
  await db.delete(servers);
  await db.insert(servers).values(
    addresses.map((address, number) => ({
      slug: `soak-${number}`,
      name: `Soak ${number}`,
      address,
      mode: 'Public',
      region: 'EU',
    })),
  );
  await close();
}

async function readAddresses(stdout: ReadableStream<Uint8Array>): Promise<string[]> {
  for await (const chunk of stdout) return JSON.parse(new TextDecoder().decode(chunk));
  throw new Error('the game servers ended before they listened');
}

type Stretch = {
  minute: number;
  residentMb: number;
  /** Of the drawing process; undefined when none runs. */
  drawingMb: number | undefined;
  descriptors: number;
  responses: LoadResponse[];
};

async function watch(pid: number, visitors: Visitors, { minutes, say }: BenchOptions): Promise<Row[]> {
  const stretches: Stretch[] = [];
  for (let number = 1; number <= STRETCHES; number++) {
    const samples: number[] = [];
    const sampling = setInterval(async () => samples.push(await readResidentMb(pid)), 500);
    await Bun.sleep((minutes * 60_000) / STRETCHES);
    clearInterval(sampling);
    const stretch = {
      minute: Math.round((minutes / STRETCHES) * number * 10) / 10,
      residentMb: samples.reduce((sum, mb) => sum + mb, 0) / samples.length,
      drawingMb: await readDrawingMb(pid),
      descriptors: (await readdir(`/proc/${pid}/fd`)).length,
      responses: await visitors.takeResponses(),
    };
    stretches.push(stretch);
    say(`${stretch.minute} min: ${describe(stretch)}`);
  }
  return [...stretches.map(toRow), ...toVerdicts(stretches, visitors.counts(), minutes)];
}

async function readDrawingMb(servicePid: number): Promise<number | undefined> {
  const [pid] = await findDrawingProcesses(servicePid);
  return pid === undefined ? undefined : await readResidentMb(pid);
}

function describe({ residentMb, drawingMb, descriptors, responses }: Stretch): string {
  const median = formatMs(percentileMs(responses, 0.5));
  const p99 = formatMs(percentileMs(responses, 0.99));
  const drawing = drawingMb === undefined ? '' : ` (and ${drawingMb.toFixed(0)} MB that draw)`;
  return `${residentMb.toFixed(0)} MB${drawing}, ${descriptors} descriptors, median ${median}, p99 ${p99}`;
}

function toRow(stretch: Stretch): Row {
  return {
    what: `minute ${stretch.minute}`,
    ours: describe(stretch),
    floor: '–',
    ratio: `${stretch.responses.length} requests`,
    target: 'for information',
    isReached: true,
  };
}

function toVerdicts(stretches: readonly Stretch[], counts: Record<string, number>, minutes: number): Row[] {
  // The first stretch warms up; memory is a mean over three, since it rises until a collection and then falls.
  const early = summarise(stretches.slice(1, 4));
  const late = summarise(stretches.slice(-3));
  const responses = stretches.flatMap((stretch) => stretch.responses);
  const failed = responses.filter(({ status }) => status === 0 || status >= 400);
  const done = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  const growth = late.residentMb / early.residentMb - 1;
  const isLong = minutes >= MIN_MINUTES_FOR_MEMORY;
  const isSmall = late.residentMb <= MEMORY.maxMb && growth <= MEMORY.growth;
  const growthOfDescriptors = late.descriptors - early.descriptors;
  return [
    {
      what: 'requests that failed',
      ours: String(failed.length),
      floor: Object.entries(countStatuses(responses))
        .map(([status, count]) => `${count} × ${status}`)
        .join(', '),
      ratio: '–',
      target: '0',
      isReached: failed.length === 0 && (counts['lost interactions'] ?? 0) === 0,
      note: [`Beside the requests: ${done.join(', ')}.`, ...describeFailures(failed)].join(' '),
    },
    {
      what: 'memory at the end',
      ours: `${late.residentMb.toFixed(0)} MB`,
      floor: `at the beginning: ${early.residentMb.toFixed(0)} MB`,
      ratio: `${formatChange(growth * 100, 1)} %`,
      target: isLong ? `≤ ${MEMORY.maxMb} MB, growth ≤ ${MEMORY.growth * 100} %` : 'for information',
      isReached: !isLong || isSmall,
    },
    {
      what: 'descriptors at the end, at most',
      ours: String(late.descriptors),
      floor: `at the beginning: ${early.descriptors}`,
      ratio: formatChange(growthOfDescriptors),
      target: `+${DESCRIPTOR_MARGIN} at most`,
      isReached: growthOfDescriptors <= DESCRIPTOR_MARGIN,
    },
  ];
}

/** How many failed by status and path, with the first text that came with each. */
function describeFailures(failed: readonly LoadResponse[]): string[] {
  const groups = Object.groupBy(failed, ({ status, path }) => `${status} of ${path}`);
  return Object.entries(groups).map(
    ([what, responses = []]) => `${responses.length} × ${what}: ${responses[0]?.text}.`,
  );
}

function summarise(stretches: readonly Stretch[]): { residentMb: number; descriptors: number } {
  return {
    residentMb: stretches.reduce((sum, { residentMb }) => sum + residentMb, 0) / stretches.length,
    descriptors: Math.max(...stretches.map(({ descriptors }) => descriptors)),
  };
}

function formatChange(change: number, digits = 0): string {
  return `${change >= 0 ? '+' : ''}${change.toFixed(digits)}`;
}
