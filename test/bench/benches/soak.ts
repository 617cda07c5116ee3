import { anAudio, musicLike, toWav } from '../../support/audio/audio.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { type FakeDiscord, startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { startLoad } from '../../support/http/steady-load.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { watchMemory } from '../../support/machine/processes.ts';
import { startSteamOpenIdProvider } from '../../support/providers/steam-openid-provider.ts';
import { type Browser, openBrowser, signIn } from '../../support/web/browser.ts';
import { type Bench, compare, formatMb, repeat, requireLinux } from '../bench.ts';
import { startGameServers } from '../support/game-servers.ts';
import { PLAYER, startService } from '../support/service.ts';

const REQUESTS_A_SECOND = 100;
/** Of the clients: each address may ask for 300 banners a minute. The service believes the header as it would a proxy's. */
const ADDRESSES = 50;
const INTERACTION_EVERY_MS = 250;
const UPLOAD_EVERY_MS = 10_000;
const SAMPLE_EVERY_MS = 500;

export const soak: Bench = {
  name: 'soak',
  title: 'everything at once: memory after an hour (--minutes 60), compared with the second minute',
  run: async ({ minutes, say }) => {
    requireLinux();
    using games = await startGameServers(20);
    await using stack = new AsyncDisposableStack();
    const discord = await startFakeDiscord({ forgets: true });
    stack.defer(discord.stop);
    const steam = startSteamOpenIdProvider();
    stack.defer(steam.stop);
    const port = findFreePort();
    const env = {
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      TRUSTED_PROXIES: '127.0.0.1',
      ROLES: 'api,bot,poller,media,sync',
      STEAM_OPENID_URL: steam.url,
      DISCORD_TOKEN: discord.token,
      DISCORD_API_URL: discord.apiUrl,
    };
    await using service = await startService('soak', { ...games, env });
    const member = openBrowser(service.origin);
    await signIn(member);
    const load = startLoad(service.origin, {
      paths: PATHS,
      init: (number) => ({
        headers: { ...service.headers, 'X-Forwarded-For': `192.0.2.${number % ADDRESSES}` },
      }),
      perSecond: REQUESTS_A_SECOND,
    });
    let interactions = 0;
    const timers = [
      setInterval(() => void interact(discord, interactions++), INTERACTION_EVERY_MS),
      setInterval(() => void upload(member), UPLOAD_EVERY_MS),
    ];
    try {
      const minutesMb = await repeat(minutes, async (minute) => {
        const samplesMb = await watchMemory(service.pid, SAMPLE_EVERY_MS, () => Bun.sleep(60_000));
        // A mean: memory rises until a garbage collection and then falls.
        const meanMb = samplesMb.reduce((sum, mb) => sum + mb, 0) / samplesMb.length;
        say(`minute ${minute + 1}: ${formatMb(meanMb)}`);
        return meanMb;
      });
      const failed = (await load.stop()).filter(({ status }) => status === 0 || status >= 400);
      if (failed.length > 0)
        throw new Error(`${failed.length} requests failed: ${JSON.stringify(failed[0])}`);
      const [floor = Number.NaN, ours = Number.NaN] = [minutesMb[1], minutesMb.at(-1)];
      const options = { name: 'in the second minute', atMost: 1.05, format: formatMb };
      return [compare(`memory after ${minutes} minutes`, { ours, floor }, options)];
    } finally {
      timers.forEach(clearInterval);
      await load.stop();
    }
  },
};

/** Pages and routes as the community's website and its visitors ask for them. */
const PATHS = [
  '/api/v1/servers',
  '/api/v1/servers/s3',
  '/',
  `/api/v1/penalties?steamid=${PLAYER}`,
  '/index.php/api/v1/servers',
  '/api/v1/penalties?page=7',
  `/api/v1/users/lookup?steamid64=${aSteamId(900)}`,
  '/servers/s3',
  '/servers/s3/banner.png',
  `/api/v1/players/${aSteamId(2000)}/roundsound`,
  '/api/v1/servers/s3/history?hours=24',
  `/api/v1/penalties/active?steamids=${aSteamId(1)},${aSteamId(2)},${aSteamId(3)}`,
];

async function interact(discord: FakeDiscord, number: number): Promise<void> {
  const actor = anActor({ isModerator: true, locale: number % 2 ? 'pl' : 'en-US' });
  const steamid = aSteamId((number % 50) + 1);
  const { acknowledgedAt } = await (number % 3 === 0
    ? discord.command('server', number % 2 ? { name: `s${(number % 20) + 1}` } : {}, actor)
    : discord.command(number % 3 === 1 ? 'ban-check' : 'lookup', { steamid }, actor));
  if (acknowledgedAt === undefined) throw new Error('an interaction was lost');
}

const SOUND = toWav(anAudio({ seconds: 4, shape: musicLike(0.2) }), 's16');

async function upload(member: Browser): Promise<void> {
  const form = new FormData();
  form.append('file', new File([new Uint8Array(SOUND)], 'sound.wav'));
  const { status } = await member.post('/account/roundsound', form);
  if (status !== 303) throw new Error(`an upload was refused: ${status}`);
}
