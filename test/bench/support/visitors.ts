import { anAudio, musicLike, toWav } from '../../support/audio/audio.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import type { FakeDiscord } from '../../support/discord/fake-discord.ts';
import { type LoadResponse, startLoad } from '../../support/http/steady-load.ts';
import type { SteamOpenIdProvider } from '../../support/providers/steam-openid-provider.ts';
import { type Browser, openBrowser, signIn } from '../../support/web/browser.ts';

export type Visitors = {
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
export async function startVisitors(
  origin: string,
  { token, player, discord, steam }: Options,
): Promise<Visitors> {
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
