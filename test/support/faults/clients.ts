import { anAudio, sine, toWav } from '../audio/audio.ts';
import { aSteamId } from '../database/builders.ts';
import type { SteamOpenIdProvider } from '../providers/steam-openid-provider.ts';
import { waitForProcess } from '../wait.ts';
import { type Browser, openBrowser, signIn } from '../web/browser.ts';

/** What clients saw while a fault lasted. */
export type Seen = {
  /** Responses by status. */
  statuses: Record<number, number>;
  /** Why requests got no response: their connection ended or was refused, or they waited too long. */
  unanswered: string[];
  /** Responses that are neither correct nor an error of the specification. */
  malformed: string[];
  /** Tokens that a page showed to their owner. */
  tokens: string[];
  /** By player: names of files whose upload was accepted, and of those that were sent without a response. */
  uploads: Map<string, { accepted: string[]; unsure: string[] }>;
};

const MEMBERS = 10;
const READ_EVERY_MS = 40;
const TOKEN_EVERY_MS = 250;
const UPLOAD_EVERY_MS = 1500;
/** Above every limit of the service. */
const MAX_WAIT_MS = 20_000;
const WELL = [200, 202, 303];

const PATHS = [
  '/api/v1/servers',
  '/api/v1/penalties?per_page=5',
  `/api/v1/users/lookup?steamid64=${aSteamId(1)}`,
  `/index.php/api/v1/players/${aSteamId(1)}/roundsound`,
  '/',
];

type Member = { steamId: string; browser: Browser };

/** Programs that read, and members who are signed in. */
export async function createClients(origin: string, steam: SteamOpenIdProvider) {
  const members: Member[] = [];
  for (let number = 1; number <= MEMBERS; number++) {
    steam.steamId = aSteamId(number);
    const browser = openBrowser(origin);
    await signIn(browser);
    members.push({ steamId: aSteamId(number), browser });
  }
  const sound = toWav(anAudio({ seconds: 0.4, shape: sine(440, 0.3), channels: 1 }), 's16');
  let made = 0;
  const readerToken = await makeToken(members[0]);
  if (!readerToken.token) throw new Error(`no token: ${readerToken.text}`);
  const authorization = { Authorization: `Bearer ${readerToken.token}` };

  async function makeToken(member: Member | undefined) {
    made += 1;
    const page = await member?.browser.post('/account/tokens', { name: `fault ${made}` });
    const token = /id="new-token"[^>]*>([^<]+)</.exec(page?.text ?? '')?.[1];
    return { token, status: page?.status ?? 0, text: page?.text ?? '' };
  }

  async function read(path: string, seen: Seen): Promise<void> {
    const response = await fetch(origin + path, {
      headers: authorization,
      signal: AbortSignal.timeout(MAX_WAIT_MS),
    });
    count(seen, response.status);
    const fault = findFault(path, response.status, await response.text());
    if (fault) seen.malformed.push(fault);
  }

  async function addToken(number: number, seen: Seen): Promise<void> {
    const { token, status, text } = await makeToken(members[number % members.length]);
    count(seen, status);
    if (token) seen.tokens.push(token);
    // 409: this member has as many tokens as a member may have.
    if (![200, 409, 503].includes(status)) seen.malformed.push(`token: ${status} ${text.slice(0, 200)}`);
  }

  async function upload(number: number, seen: Seen): Promise<void> {
    const member = members[number % members.length];
    if (!member) return;
    made += 1;
    const name = `sound ${made}.wav`;
    const sent = seen.uploads.get(member.steamId) ?? { accepted: [], unsure: [] };
    seen.uploads.set(member.steamId, sent);
    const form = new FormData();
    form.append('csrf_token', csrfTokens.get(member) ?? '');
    form.append('file', new File([sound], name));
    sent.unsure.push(name);
    const response = await fetch(`${origin}/account/roundsound`, {
      method: 'POST',
      body: form,
      headers: { cookie: member.browser.cookieLine(), accept: 'application/json' },
      signal: AbortSignal.timeout(MAX_WAIT_MS),
    });
    count(seen, response.status);
    const text = await response.text();
    if (response.status === 202) sent.accepted.push(name);
    else if (response.status !== 503) seen.malformed.push(`upload: ${response.status} ${text.slice(0, 200)}`);
  }

  const csrfTokens = new Map<Member, string>();
  for (const member of members) {
    csrfTokens.set(member, (await member.browser.get('/account')).field('csrf_token') ?? '');
  }

  return {
    /** Sends reads, creates tokens and uploads sounds until the work is done. The work gets what was seen so far. */
    watch: async (work: (seen: Seen) => Promise<void>): Promise<Seen> => {
      const seen: Seen = { statuses: {}, unanswered: [], malformed: [], tokens: [], uploads: new Map() };
      const leaving = new AbortController();
      const under = [
        repeat((number) => read(PATHS[number % PATHS.length] ?? '/', seen), READ_EVERY_MS),
        repeat((number) => addToken(number, seen), TOKEN_EVERY_MS),
        repeat((number) => upload(number, seen), UPLOAD_EVERY_MS),
      ];
      function repeat(visit: (number: number) => Promise<void>, everyMs: number): () => Promise<void> {
        const visits: Promise<void>[] = [];
        const timer = setInterval(() => {
          const visited = visit(visits.length).catch((error: unknown) => {
            seen.unanswered.push(String(error));
          });
          visits.push(visited);
        }, everyMs);
        leaving.signal.addEventListener('abort', () => clearInterval(timer));
        return async () => void (await Promise.all(visits));
      }
      await work(seen);
      leaving.abort();
      for (const settled of under) await settled();
      return seen;
    },
    /** How many of the acknowledged writes are missing. */
    countLost: async ({ tokens, uploads }: Seen): Promise<number> => {
      let lost = 0;
      for (const token of tokens) {
        const { status } = await fetch(`${origin}/api/v1/penalties?per_page=1`, {
          headers: { Authorization: `Bearer ${token}` },
        });
        if (status !== 200) lost += 1;
      }
      for (const [player, sent] of uploads) {
        if (!(await isPlayed(origin, player, sent))) lost += 1;
      }
      return lost;
    },
    /** Waits until every address responds with 200. */
    waitUntilWell: async () => {
      for (const path of PATHS) {
        await waitForProcess(
          async () => {
            const response = await fetch(origin + path, { headers: authorization }).catch(() => undefined);
            return response !== undefined && WELL.includes(response.status);
          },
          { everyMs: 100 },
        );
      }
    },
  };
}

/** Whether a player's sound becomes the last one that was accepted, or one whose response was lost after it. */
async function isPlayed(
  origin: string,
  player: string,
  { accepted, unsure }: { accepted: string[]; unsure: string[] },
): Promise<boolean> {
  const last = accepted.at(-1);
  if (last === undefined) return true;
  const allowed = unsure.slice(unsure.indexOf(last));
  const path = `${origin}/api/v1/players/${player}/roundsound`;
  return waitForProcess(
    async () => {
      const { title } = (await (await fetch(path)).json()) as { title: string | null };
      return title !== null && allowed.includes(title);
    },
    { everyMs: 100 },
  ).then(
    () => true,
    () => false,
  );
}

function count({ statuses }: Seen, status: number): void {
  statuses[status] = (statuses[status] ?? 0) + 1;
}

/** What is wrong with a response; undefined for a good one, and for an error as the specification has it. */
function findFault(path: string, status: number, text: string): string | undefined {
  const shown = `${path}: ${status} ${text.slice(0, 200)}`;
  if (path === '/') return [200, 503].includes(status) && text.includes('</html>') ? undefined : shown;
  try {
    const body = JSON.parse(text);
    const isError = status === 503 && body.success === false && typeof body.message === 'string';
    return isError || (status === 200 && typeof body.success === 'boolean') ? undefined : shown;
  } catch {
    return shown;
  }
}
