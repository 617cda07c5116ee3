import { test } from 'bun:test';
import fc from 'fast-check';
import { BASES } from '../../../api/app.ts';
import { ROUTES } from '../../../api/v1/routes.ts';
import { TOKEN_SCOPES } from '../../../src/domain/rights/token-scope.ts';
import { revokeApiToken } from '../../../src/queries/users/api-tokens.ts';
import { blockUser } from '../../../src/queries/users/users.ts';
import { aSteamId, insertPenalties, insertReadySound, insertUser } from '../../support/database/builders.ts';
import { type Operation, serveDocumentedApi } from '../../support/http/documented-api.ts';
import type { DocumentedParameter } from '../../support/http/openapi-document.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import { RUNS, tryHistories } from '../../support/model.ts';
import { aToken, comparable, NOW, type WireResponse } from '../../support/service/service.ts';

const { database, service, token, silent, operations, checkBody, findDifferences, cursor } =
  await serveDocumentedApi();
const { db } = database;
await insertUser(db, 2, { isAdmin: true, discordId: '80351110224678913', hidesDiscord: true });
await insertReadySound(db, aSteamId(2), '<i>.wav');
await insertPenalties(db, [
  { type: 'gag', status: 'EXPIRED', playerSteamId: aSteamId(2) },
  { type: 'silence', endsAt: new Date(NOW.getTime() + 3_600_000), durationMinutes: 60 },
  { type: 'ban', playerSteamId: '0' as never, playerName: '' },
]);

const live: Record<string, string> = { live: token };
for (const scope of TOKEN_SCOPES) live[scope] = (await aToken(db, 900, { scopes: [scope] })).token;
const revoked = await aToken(db, 901);
await revokeApiToken(db, revoked.id, { now: NOW, actor: 'operator' });
const hours = (count: number) => new Date(NOW.getTime() + count * 3_600_000);
const expired = await aToken(db, 901, { now: hours(-2), expiresAt: hours(-1) });
const blocked = await aToken(db, 902);
await blockUser(db, aSteamId(902), { reason: 'spam', now: NOW, actor: 'operator' });
const tokens = [...Object.values(live), revoked.token, expired.token, blocked.token];

/** Values that name something which is there, by the parameter's name. */
const KNOWN: Record<string, readonly string[]> = {
  cursor: [cursor],
  id: ['1', '3', '7'],
  server: ['only-mirage-1', 'silent', String(silent.id)],
  player: [aSteamId(1), aSteamId(2), aSteamId(3), '0'],
  steamid: [aSteamId(1), '0'],
  steamids: [aSteamId(1), aSteamId(2)],
  type: ['', 'BAN'],
};
const HOSTILE_TEXTS = [
  ...'0 -1 1e3 0x10 1.5 NaN null true [] {} 00 +1 ٣ ７ 2147483648 9007199254740993 18446744073709551616'.split(
    ' ',
  ),
  ...`' " {{7*7}} <script> ../../etc/passwd \u202e \ufeff İ ß e\u0301 👩‍👩‍👧 \ud83d % %25 * a,b , ,, [U:1:1]`.split(
    ' ',
  ),
  ...['76561197960265728', 'STEAM_0:1:1', 'constructor', '__proto__', 'toString', '', ' ', "' or 1=1 --"],
  ...[
    'a\r\nX-Evil: 1',
    '\u0000',
    'a\u0000b',
    '9'.repeat(40),
    'x'.repeat(300),
    'x'.repeat(9000),
    '1,'.repeat(200),
  ],
];
/** Percent-encodings that no encoder produces. */
const RAW_TEXTS = '%00 %2F %2f..%2f %C0%AF %E0%A4 %zz % %5C %0d%0aX-Evil:%201 ;a=b + %2B %u0041'.split(' ');
const HEADERS = {
  Accept: ['*/*', 'text/html', 'application/xml;q=0', 'nonsense', 'application/json;q=0.1', ''],
  'If-None-Match': ['*', 'W/"x"', '"', 'W/"x", *', 'nonsense', 'x'.repeat(5000)],
  'If-Modified-Since': ['Sat, 21 Nov 2026 10:00:00 GMT', 'yesterday'],
  Range: ['bytes=0-1', 'bytes=-1', 'bytes=5-1', 'bytes=99999-', 'lines=1'],
  'Accept-Encoding': ['gzip', 'identity', 'br;q=1', 'gzip;q=0', '*;q=0'],
  'Accept-Language': ['pl', 'x'.repeat(500)],
  Origin: ['https://evil.example', 'null'],
  Cookie: ['session=x', '=; ;'],
  'X-Forwarded-For': ['1.2.3.4', 'nonsense'],
  'X-HTTP-Method-Override': ['DELETE'],
  'Last-Event-ID': ['nowhere', '0', 'x'.repeat(200)],
  'Content-Type': ['application/json', 'multipart/form-data', 'nonsense'],
};
const HOSTS = 'play.example.org localhost:1 [::1]:80 user@h a/b evil.example a:99999 %'.split(' ');
const BODIES = ['', '{}', '{"a":', '\u0000', 'a=b&a=c', `"${'x'.repeat(60_000)}"`];

const oneOf = <T>(...choices: [weight: number, arbitrary: fc.Arbitrary<T>][]) =>
  fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
/** Percent-encoded; a lone surrogate as the replacement character. */
const encode = (text: string) => encodeURIComponent(text.toWellFormed());
const hostileText = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ maxLength: 20 }),
);
const anyText = oneOf([4, hostileText.map(encode)], [1, fc.constantFrom(...RAW_TEXTS)]);

/** Most of the values are what the document allows. */
function parameterValue({ name, schema, example }: DocumentedParameter): fc.Arbitrary<string> {
  const allowed = [String(example), ...(KNOWN[name] ?? [])];
  if (Array.isArray(schema.enum)) allowed.push(...schema.enum.map(String));
  const valid = [fc.constantFrom(...allowed)];
  const invalid = [anyText];
  if (schema.type === 'integer') {
    const { minimum = 0, maximum = 1_000_000 } = schema as { minimum?: number; maximum?: number };
    valid.push(fc.integer({ min: minimum, max: maximum }).map(String));
    // Just outside, and past the types of PostgreSQL.
    invalid.push(fc.constantFrom(minimum - 1, maximum + 1, 2 ** 31, 2n ** 63n, 2n ** 64n).map(String));
  }
  if (name.endsWith('s')) {
    valid.push(fc.array(fc.constantFrom(...allowed), { minLength: 1, maxLength: 120 }).map(String));
  }
  return oneOf([3, fc.oneof(...valid).map(encode)], [2, fc.oneof(...invalid)]);
}

const unknownName = fc.constantFrom('_', 'steam_id', 'stauts', 'page[]', 'callback', '', '__proto__');
const unknownPair = fc.tuple(fc.oneof(unknownName, anyText), anyText);
/** Tokens as clients send them: mostly correctly. */
const shownToken = oneOf(
  [4, fc.constant(token)],
  [3, fc.constantFrom(...tokens)],
  [1, fc.constantFrom('bad', '', 'x'.repeat(3000), "' or 1=1 --", 'ż', '%00')],
);
const scheme = fc.constantFrom('Bearer ', 'Bearer ', 'Bearer ', 'bearer  ', 'Basic ', '');
/** What a header can hold. */
const authorization = fc.tuple(scheme, shownToken).map((parts) =>
  parts
    .join('')
    .replace(/[^\x20-\x7e]/g, '?')
    .trim(),
);

/** A request for an operation, as it is sent below a base: valid, invalid or hostile. */
function requestOf(operation: Operation) {
  const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
  const known = operation.parameters
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => fc.tuple(fc.constant(parameter.name), parameterValue(parameter)));
  const pair = known.length === 0 ? unknownPair : oneOf([6, fc.oneof(...known)], [1, unknownPair]);
  return fc
    .record({
      values: fc.tuple(...inPath.map(parameterValue)),
      pairs: fc.array(pair, { maxLength: 5 }),
      tokenPairs: oneOf([3, fc.constant<string[]>([])], [1, fc.array(shownToken, { maxLength: 2 })]),
      headers: fc.array(
        fc.oneof(
          ...Object.entries(HEADERS).map(([name, values]) =>
            fc.tuple(fc.constant(name), fc.constantFrom(...values)),
          ),
        ),
        { maxLength: 3 },
      ),
      authorization: fc.option(authorization, { freq: 4 }),
      // Others than these Bun refuses itself, without a response.
      method: oneOf(
        [12, fc.constantFrom('GET', 'GET', 'HEAD')],
        [1, fc.constantFrom('POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS')],
      ),
      body: fc.constantFrom(...BODIES),
      host: oneOf([9, fc.constant<string | null>(null)], [1, fc.constantFrom('a b', '', ...HOSTS)]),
      suffix: oneOf(
        [12, fc.constant('')],
        [1, fc.constantFrom('/', '//', '/..', '/%2e%2e/', '/x', '%00', '.json')],
      ),
    })
    .map(({ values, pairs, tokenPairs, headers, authorization, method, body, host, suffix }) => {
      const path = inPath.reduce(
        (text, { name }, index) => text.replace(`{${name}}`, () => values[index] ?? ''),
        operation.path,
      );
      const query = [...pairs, ...tokenPairs.map((shown) => ['api_token', encode(shown)] as const)];
      const hasBody = !['GET', 'HEAD'].includes(method);
      return {
        // A stream of events has no end: its head is that of every GET.
        method: operation.operationId === 'streamEvents' && method === 'GET' ? 'HEAD' : method,
        target: `${path}${suffix}${query.length > 0 ? '?' : ''}${query.map((one) => one.join('=')).join('&')}`,
        headers: {
          ...Object.fromEntries(headers),
          ...(authorization !== null && { Authorization: authorization }),
          ...(host !== null && { Host: host }),
        } as Record<string, string>,
        ...(hasBody && host === null && { body }),
        /** Sent byte for byte, since `fetch` would tidy it up. */
        isRaw: host !== null || suffix !== '' || /%2e|\.\.|\/\.|%5c|\\/i.test(path),
        /** May be no request of the operation at all. */
        isOdd: host !== null || suffix !== '' || hasBody || inPath.length > 0,
      };
    });
}
type ApiRequest = ReturnType<typeof requestOf> extends fc.Arbitrary<infer T> ? T : never;
type Received = Pick<WireResponse, 'status' | 'headers' | 'text'>;

async function send(base: string, { method, headers, body, target, isRaw }: ApiRequest): Promise<Received> {
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
function findOperation(target: string): Operation | undefined {
  const path = new URL(target, service.origin).pathname.replace(/\/$/, '');
  const matching = operations.filter((one) =>
    new RegExp(`^${one.path.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
  );
  return matching.sort((one, other) => one.path.split('{').length - other.path.split('{').length)[0];
}

/** What is wrong with a response, in words. */
function findFaults(request: ApiRequest, response: Received): string[] {
  const { status, headers, text } = response;
  const operation = findOperation(request.target);
  const route = ROUTES.find(({ id }) => id === operation?.operationId);
  const faults: string[] = [];
  if (status >= 500) faults.push('the service failed');
  if (headers.has('x-evil')) faults.push('a header was smuggled in');
  const isAsked = request.method === 'GET' || request.method === 'HEAD';
  if (route?.policy === 'protected' && isAsked) {
    const mayRead = isEntitled(request, route.scope);
    if (status < 400 && !mayRead) faults.push('authentication was bypassed');
    const isRefused = (status === 401 || status === 403) && !text.includes('scope "servers"') && text !== '';
    if (isRefused && mayRead) faults.push('a live token was refused');
  }
  const documented = operation?.responses[String(status)];
  if (documented && (isAsked || status >= 500) && !(request.isOdd && status >= 400))
    return [...faults, ...findDifferences(documented, { ...response, method: request.method })];
  // Not a request of any operation, or refused before the operation is known.
  const isRefused = status >= 400 && status < 500;
  const isPreflight = status === 204 && request.method === 'OPTIONS';
  if (isRefused ? !request.isOdd : !isPreflight) faults.push(`${status} is not documented`);
  if (status === 405 && headers.get('allow') !== 'GET, HEAD, OPTIONS') faults.push('405 without Allow');
  if (!isRefused || request.method === 'HEAD')
    return text === '' ? faults : [...faults, 'a body without need'];
  if (!headers.get('content-type')?.startsWith('application/json')) return [...faults, 'no JSON'];
  return [...faults, ...checkBody('#/components/schemas/Error', JSON.parse(text))];
}

/** With MODEL_RUNS=400, 1050 groups of 22 requests on average; each request is sent to both bases. */
test('no request makes the service fail, bypasses a token or gets an undocumented response, under either base', () =>
  tryHistories(
    'groups of requests',
    fc.array(fc.constantFrom(...operations).chain(requestOf), { minLength: 1, maxLength: 46, size: 'max' }),
    async (requests) => {
      const sent = requests.map(async (request) => {
        const one = await send(BASES[0], request);
        const other = await send(BASES[1], request);
        const faults = findFaults(request, one);
        if (comparable(one, BASES[0]) !== comparable(other, BASES[1])) faults.push('the bases differ');
        const received = [one, other].map(({ headers, ...rest }) => ({ ...rest, headers: [...headers] }));
        if (faults.length > 0) throw new Error(JSON.stringify({ request, faults, received }, null, 2));
      });
      await Promise.all(sent);
    },
    { runs: Math.ceil(2.625 * RUNS) },
  ));
