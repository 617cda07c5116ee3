import { anAudio, musicLike, toWav } from '../../support/audio/audio.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { type FakeDiscord, startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { countStatuses, type LoadResponse, percentileMs, startLoad } from '../../support/http/steady-load.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import {
  type SteamOpenIdProvider,
  startSteamOpenIdProvider,
} from '../../support/providers/steam-openid-provider.ts';
import { type Browser, openBrowser, signIn } from '../../support/web/browser.ts';
import { type Bench, type BenchOptions, compare, formatMs, NotMeasured, type Row } from '../bench.ts';
import { readResidentMb, startChild } from '../support/child.ts';
import { startGameServers } from '../support/game-servers.ts';
import { fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

type Visitors = {
  /** The responses since the last call. */
  takeResponses: () => Promise<LoadResponse[]>;
  /** What was done beside the requests, so far. */
  counts: () => Record<string, number>;
  leave: () => Promise<void>;
};

type Options = { token: string; player: string; discord: FakeDiscord; steam: SteamOpenIdProvider };

const REQUESTS_A_SECOND = 100;
/** Of the clients: each address may ask for 300 banners a minute. The service believes the header as it would a proxy's. */
const ADDRESSES = 50;
const INTERACTION_EVERY_MS = 250;
const UPLOAD_EVERY_MS = 10_000;
const MEMBERS = 10;

/** Programs, members in Discord and members on the web, who come at a steady pace and go on until they are told to leave. */
async function startVisitors(origin: string, { token, player, discord, steam }: Options): Promise<Visitors> {
  const counts = { interactions: 0, 'lost interactions': 0, uploads: 0, 'refused uploads': 0 };
  const members = await signInMembers(origin, steam);
  const sound = toWav(anAudio({ seconds: 4, shape: musicLike(0.2) }), 's16');
  const leaving = new AbortController();

  const visit = () =>
    startLoad(origin, {
      paths: pathsOf(player),
      init: (number) => ({
        headers: { Authorization: `Bearer ${token}`, 'X-Forwarded-For': `192.0.2.${number % ADDRESSES}` },
      }),
      perSecond: REQUESTS_A_SECOND,
    });
  let load = visit();

  async function interact(number: number): Promise<void> {
    const actor = anActor({ isModerator: true, locale: number % 2 ? 'pl' : 'en-US' });
    const steamid = aSteamId((number % 50) + 1);
    const { acknowledgedAt } = await (number % 3 === 0
      ? discord.command('server', number % 2 ? { name: `s${(number % 20) + 1}` } : {}, actor)
      : discord.command(number % 3 === 1 ? 'ban-check' : 'lookup', { steamid }, actor));
    counts.interactions += 1;
    if (acknowledgedAt === undefined) counts['lost interactions'] += 1;
  }

  async function upload(number: number): Promise<void> {
    const member = members[number % members.length];
    if (!member) return;
    const page = await member.get('/account');
    const form = new FormData();
    form.append('csrf_token', page.field('csrf_token') ?? '');
    form.append('file', new File([sound], `sound ${number}.wav`));
    const { status } = await fetch(`${origin}/account/roundsound`, {
      method: 'POST',
      body: form,
      headers: { cookie: cookieOf(member) },
      redirect: 'manual',
    });
    counts.uploads += 1;
    if (status !== 303) counts['refused uploads'] += 1;
  }

  const under = [
    repeat(interact, { everyMs: INTERACTION_EVERY_MS, signal: leaving.signal }),
    repeat(upload, { everyMs: UPLOAD_EVERY_MS, signal: leaving.signal }),
  ];

  return {
    takeResponses: () => {
      const last = load;
      load = visit();
      return last.stop();
    },
    counts: () => ({ ...counts }),
    leave: async () => {
      leaving.abort();
      await Promise.all([load.stop(), ...under]);
    },
  };
}

/** Pages and routes as the community's website and its visitors ask for them. */
function pathsOf(player: string): string[] {
  return [
    '/api/v1/servers',
    '/api/v1/servers/s3',
    '/',
    `/api/v1/penalties?steamid=${player}`,
    '/index.php/api/v1/servers',
    '/api/v1/penalties?page=7',
    `/api/v1/users/lookup?steamid64=${aSteamId(900)}`,
    '/servers/s3',
    '/servers/s3/banner.png',
    `/api/v1/players/${aSteamId(2000)}/roundsound`,
    '/api/v1/servers/s3/history?hours=24',
    `/api/v1/penalties/active?steamids=${aSteamId(1)},${aSteamId(2)},${aSteamId(3)}`,
  ];
}

async function signInMembers(origin: string, steam: SteamOpenIdProvider): Promise<Browser[]> {
  const members: Browser[] = [];
  for (let number = 0; number < MEMBERS; number++) {
    steam.steamId = aSteamId(2000 + number);
    const browser = openBrowser(origin);
    await signIn(browser);
    members.push(browser);
  }
  return members;
}

function cookieOf(browser: Browser): string {
  return [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

/** Does something over and over, at this pace or as fast as it can be done. */
async function repeat(
  work: (number: number) => Promise<void>,
  { everyMs, signal }: { everyMs: number; signal: AbortSignal },
): Promise<void> {
  const startedAt = performance.now();
  for (let number = 0; !signal.aborted; number++) {
    await work(number);
    await Bun.sleep(Math.max(startedAt + (number + 1) * everyMs - performance.now(), 0));
  }
}

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
