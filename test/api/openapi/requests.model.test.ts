import { afterAll, test } from 'bun:test';
import fc from 'fast-check';
import { BASES } from '../../../api/app.ts';
import { ROUTES } from '../../../api/v1/routes.ts';
import { TOKEN_SCOPES } from '../../../src/domain/rights/token-scope.ts';
import { revokeApiToken } from '../../../src/queries/users/api-tokens.ts';
import { blockUser } from '../../../src/queries/users/user-blocks.ts';
import {
  aSteamId,
  insertPenalties,
  insertReadySound,
  insertServer,
  insertUser,
  saveServerPoll,
} from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { type ApiRequest, apiRequests } from '../../support/http/hostile-requests.ts';
import { createSchemaValidator, readOpenApiDocument } from '../../support/http/openapi-document.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import { RUNS, tryHistories } from '../../support/model.ts';
import { startSteamApi } from '../../support/providers/steam-api.ts';
import { aToken, bearer, comparable, NOW, startTestService } from '../../support/service/service.ts';

/** With MODEL_RUNS=400, 1050 groups of 22 requests on average; each request is sent to both bases. */
const GROUPS = Math.ceil(2.625 * RUNS);
const MAX_AT_ONCE = 46;

const database = await createTestDatabase();
const { db } = database;
const steam = startSteamApi();
afterAll(steam.stop);
const service = await startTestService({
  databaseUrl: database.url,
  env: {
    STEAM_API_URL: steam.url,
    STEAM_API_KEY: steam.key,
    RATE_LIMIT_PUBLIC: '1000000000',
    RATE_LIMIT_PROTECTED: '1000000000',
  },
});

// Rows of every kind.
const server = await insertServer(db, { slug: 'only-mirage-1', name: 'Only Mirage #1' });
await insertServer(db, { slug: 'silent', name: '<b>"Żółć"</b> 🎧' });
await saveServerPoll(db, server.id, {
  state: {
    hostname: 'Only Mirage | 128 tick',
    map: 'de_mirage',
    playersCount: 2,
    maxPlayers: 10,
    pingMs: 12,
    players: [{ name: 'Ala', score: 3 }],
  },
  polledAt: new Date(NOW.getTime() - 5000),
});
await insertUser(db, 1, { nickname: 'Rzeźnik', discordId: '80351110224678912' });
await insertUser(db, 2, { isAdmin: true, discordId: '80351110224678913', hidesDiscord: true });
await insertReadySound(db, aSteamId(1), 'track.mp3', {
  voiceSha256: 'b2'.repeat(32),
  voiceSizeBytes: 50_617,
});
await insertReadySound(db, aSteamId(2), '<i>.wav');
await insertPenalties(db, [
  { type: 'ban' },
  { type: 'ban', durationMinutes: 60, endsAt: new Date('2026-11-01T13:00:00Z') },
  { type: 'mute', status: 'UNBANNED', adminSteamId: aSteamId(900), liftedAt: NOW },
  { type: 'gag', status: 'EXPIRED', playerSteamId: aSteamId(2) },
  { type: 'silence', serverId: 0, endsAt: new Date(NOW.getTime() + 3_600_000), durationMinutes: 60 },
  { type: 'warn', reason: '<b>"quoted"</b> 🎧 \u202Ertl\n' },
  { type: 'ban', playerSteamId: '0' as never, playerName: '' },
]);
const live: Record<string, string> = { live: (await aToken(db, 900)).token };
for (const scope of TOKEN_SCOPES) live[scope] = (await aToken(db, 900, { scopes: [scope] })).token;
const revoked = await aToken(db, 901);
await revokeApiToken(db, revoked.id, { now: NOW, actor: 'operator' });
const expired = await aToken(db, 901, {
  now: new Date(NOW.getTime() - 7_200_000),
  expiresAt: new Date(NOW.getTime() - 3_600_000),
});
const blocked = await aToken(db, 902);
await blockUser(db, aSteamId(902), { reason: 'spam', now: NOW, actor: 'operator' });
const tokens = { ...live, revoked: revoked.token, expired: expired.token, blocked: blocked.token };
const changes = await service.ask('/api/v1/penalties/changes', bearer(live.live ?? ''));
const { cursor } = (changes.body as { meta: { cursor: string } }).meta;

const { raw, document } = await readOpenApiDocument(service);
const { checkBody, compile } = createSchemaValidator(raw);
const operations = Object.entries(document.paths).map(([path, { get }]) => ({
  ...get,
  path: path.slice('/api/v1'.length),
}));
const known = {
  cursor: [cursor],
  id: ['1', '3', '7'],
  server: ['only-mirage-1', 'silent', String(server.id)],
  player: [aSteamId(1), aSteamId(2), aSteamId(3), '0'],
  steamid: [aSteamId(1), '0'],
  steamids: [aSteamId(1), aSteamId(2)],
  type: ['', 'BAN'],
};
const headerChecks = new Map<object, (value: unknown) => string[]>();

/** Headers that API documents leave out. */
const TRANSPORT = new Set([...['content-type', 'content-length', 'transfer-encoding', 'date', 'connection']]);

type Received = { status: number; headers: Headers; text: string };

async function send(base: string, request: ApiRequest): Promise<Received> {
  const { method, headers, body, target, isRaw } = request;
  return isRaw
    ? sendRaw(service.origin, `${base}${target}`, { method, headers, version: '1.0' })
    : service.ask(`${base}${target}`, { method, headers, ...(body !== undefined && { body }) });
}

/** Whether a protected response may be sent: the token that takes precedence is live and has the scope, if one is needed. */
function isEntitled({ headers, target }: ApiRequest, scope: string | undefined): boolean {
  const start = target.indexOf('?');
  const query = new URLSearchParams(start === -1 ? '' : target.slice(start + 1, start + 1 + 8192));
  const shown = /^Bearer +(.+)$/i.exec(headers.Authorization ?? '')?.[1] ?? query.getAll('api_token').at(-1);
  const able = scope === undefined ? Object.values(live) : [live.live, live[scope]];
  return shown !== undefined && able.includes(shown);
}

/** The operation of a path, with dots resolved as `URL` does; undefined if there is none. */
function findOperation(target: string) {
  const path = new URL(target, service.origin).pathname.replace(/\/$/, '');
  const matching = operations.filter((one) =>
    new RegExp(`^${one.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return matching.sort((one, other) => one.path.split('{').length - other.path.split('{').length)[0];
}

/** What is wrong with a response, in words. */
function findFaults(request: ApiRequest, { status, headers, text }: Received): string[] {
  const operation = findOperation(request.target);
  const own = ROUTES.find(({ id }) => id === operation?.operationId);
  const faults: string[] = [];
  if (status >= 500) faults.push(`the service failed: ${text}`);
  if (headers.has('x-evil')) faults.push('a header was smuggled in');
  const isAsked = request.method === 'GET' || request.method === 'HEAD';
  if (own?.policy === 'protected' && isAsked) {
    const mayRead = isEntitled(request, own.scope);
    if (status < 400 && !mayRead) faults.push('authentication was bypassed');
    if ((status === 401 || status === 403) && mayRead && !text.includes('scope "servers"') && text !== '')
      faults.push(`a live token was refused: ${text}`);
  }
  const documented = operation?.responses[String(status)];
  if (documented && (isAsked || status >= 500) && !(request.isOdd && status >= 400)) {
    const [type, content] = Object.entries(documented.content ?? {})[0] ?? [];
    if (type && !headers.get('content-type')?.startsWith(type)) faults.push(`of another type than ${type}`);
    const hasBody = content !== undefined && request.method !== 'HEAD';
    if (!hasBody && text !== '') faults.push('a body where there is none');
    const bodies = type === 'application/x-ndjson' ? text.trimEnd().split('\n') : [text];
    if (hasBody) faults.push(...bodies.flatMap((body) => checkBody(content.schema.$ref, JSON.parse(body))));
    const sent = [...headers.keys()].filter((name) => !TRANSPORT.has(name)).sort();
    // Compression is up to the client; all other headers are always sent.
    const expected = Object.entries(documented.headers).filter(
      ([name]) => name !== 'Content-Encoding' || headers.has(name),
    );
    const names = expected.map(([name]) => name.toLowerCase());
    if (String(sent) !== String(names.sort())) faults.push(`headers ${sent}, documented are ${names}`);
    for (const [name, { schema }] of expected) {
      const value = schema.type === 'integer' ? Number(headers.get(name)) : headers.get(name);
      const check = headerChecks.get(schema) ?? compile(schema);
      headerChecks.set(schema, check);
      faults.push(...check(value).map((fault) => `${name} ${value}: ${fault}`));
    }
    return faults;
  }
  // Not a request of any operation, or refused before the operation is known.
  const isRefused = status >= 400 && status < 500;
  if (!isRefused && !(status === 204 && request.method === 'OPTIONS'))
    faults.push(`${status} is not documented`);
  if (isRefused && !request.isOdd) faults.push(`${status} is not documented`);
  if (status === 405 && headers.get('allow') !== 'GET, HEAD, OPTIONS') faults.push('405 without Allow');
  if (!isRefused || request.method === 'HEAD')
    return text === '' ? faults : [...faults, 'a body without need'];
  if (!headers.get('content-type')?.startsWith('application/json')) return [...faults, `no JSON: ${text}`];
  return [...faults, ...checkBody('#/components/schemas/Error', JSON.parse(text))];
}

/** The request, what is wrong, and both responses as they came. */
function toReport(request: ApiRequest, faults: string[], responses: Received[]): string {
  const received = responses.map(({ status, headers, text }) => ({
    status,
    headers: Object.fromEntries(headers),
    text,
  }));
  return JSON.stringify({ request, faults, received }, null, 2);
}

test('no request makes the service fail, bypasses a token or gets an undocumented response, under either base', async () => {
  let generated = 0;
  const statuses: Record<string, number> = {};
  await tryHistories(
    'groups of requests',
    fc.array(apiRequests(operations, { known, tokens }), {
      minLength: 1,
      maxLength: MAX_AT_ONCE,
      size: 'max',
    }),
    async (requests) => {
      await Promise.all(
        requests.map(async (request) => {
          const one = await send(BASES[0], request);
          const other = await send(BASES[1], request);
          const faults = findFaults(request, one);
          if (comparable(one, BASES[0]) !== comparable(other, BASES[1])) faults.push('the bases differ');
          if (faults.length > 0) throw new Error(toReport(request, faults, [one, other]));
          generated += 1;
          statuses[one.status] = (statuses[one.status] ?? 0) + 1;
        }),
      );
    },
    { runs: GROUPS },
  );
  console.log(
    `${generated} requests generated, ${2 * generated} sent; the generated by status:`,
    JSON.stringify(statuses),
  );
});
