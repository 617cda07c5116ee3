import fc from 'fast-check';
import type { DocumentedOperation, DocumentedParameter } from './openapi-document.ts';

/** One request below a base, as it is sent. */
export type ApiRequest = {
  /** The operation that its path was made of. */
  operationId: string;
  method: string;
  /** Path and query, as on the wire. */
  target: string;
  headers: Record<string, string>;
  body?: string;
  /** Sent byte for byte, since `fetch` would tidy it up. */
  isRaw: boolean;
  /** May be no request of the operation at all. */
  isOdd: boolean;
};

export type DocumentedPath = DocumentedOperation & { path: string };

type Values = {
  /** Values that name something which is there, by the parameter's name. */
  known: Record<string, readonly string[]>;
  /** Tokens of every kind, by what they are. */
  tokens: Record<string, string>;
};

const HOSTILE_TEXTS = [
  ...['', ' ', '0', '-1', '1e3', '0x10', '1.5', 'NaN', 'null', 'true', '[]', '{}', '00', '+1', '٣', '７'],
  ...['2147483648', '9007199254740993', '18446744073709551616', '9'.repeat(40), '76561197960265728'],
  ...[
    "'",
    '"',
    "' or 1=1 --",
    '{{7*7}}',
    '<script>',
    '../../etc/passwd',
    'a\r\nX-Evil: 1',
    '\u0000',
    'a\u0000b',
  ],
  ...[
    '\u202e',
    '\ufeff',
    'İ',
    'ß',
    'e\u0301',
    '👩‍👩‍👧',
    '\ud83d',
    '%',
    '%25',
    '*',
    'a,b',
    ',',
    ',,',
    '[U:1:1]',
    'STEAM_0:1:1',
  ],
  ...['constructor', '__proto__', 'toString', 'x'.repeat(300), 'x'.repeat(9000), '1,'.repeat(200)],
];
const hostileText = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS),
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ maxLength: 20 }),
);

/** Percent-encodings that no encoder produces. */
const rawText = fc.constantFrom(
  ...[
    '%00',
    '%2F',
    '%2f..%2f',
    '%C0%AF',
    '%E0%A4',
    '%zz',
    '%',
    '%5C',
    '%0d%0aX-Evil:%201',
    ';a=b',
    '+',
    '%2B',
    '%u0041',
  ],
);
const anyText = fc.oneof({ weight: 4, arbitrary: hostileText.map(encode) }, rawText);

/** Half of the values are what the document allows. */
function parameterValue(
  { name, schema, example }: DocumentedParameter,
  { known }: Values,
): fc.Arbitrary<string> {
  const allowed = [
    String(example),
    ...(known[name] ?? []),
    ...(Array.isArray(schema.enum) ? schema.enum.map(String) : []),
  ];
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
  return fc.oneof(
    { weight: 3, arbitrary: fc.oneof(...valid).map(encode) },
    { weight: 2, arbitrary: fc.oneof(...invalid) },
  );
}

const unknownPair = fc.oneof(
  fc.tuple(fc.constantFrom('_', 'steam_id', 'stauts', 'page[]', 'callback', '', '__proto__'), anyText),
  fc.tuple(anyText, anyText),
);

/** Any of the document's parameters, some of them twice, some that it does not know. */
function queryOf({ parameters }: DocumentedOperation, values: Values): fc.Arbitrary<string[]> {
  const known = parameters
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => fc.tuple(fc.constant(parameter.name), parameterValue(parameter, values)));
  const pair =
    known.length === 0 ? unknownPair : fc.oneof({ weight: 6, arbitrary: fc.oneof(...known) }, unknownPair);
  return fc.array(
    pair.map(([name, value]) => `${name}=${value}`),
    { maxLength: 5 },
  );
}

const header = fc.oneof(
  fc.tuple(
    fc.constant('Accept'),
    fc.constantFrom('*/*', 'text/html', 'application/xml;q=0', 'nonsense', 'application/json;q=0.1', ''),
  ),
  fc.tuple(
    fc.constant('If-None-Match'),
    fc.constantFrom('*', 'W/"x"', '"', 'W/"x", *', 'nonsense', 'x'.repeat(5000)),
  ),
  fc.tuple(fc.constant('If-Modified-Since'), fc.constantFrom('Sat, 21 Nov 2026 10:00:00 GMT', 'yesterday')),
  fc.tuple(
    fc.constant('Range'),
    fc.constantFrom('bytes=0-1', 'bytes=-1', 'bytes=5-1', 'bytes=99999-', 'lines=1'),
  ),
  fc.tuple(
    fc.constant('Accept-Encoding'),
    fc.constantFrom('gzip', 'identity', 'br;q=1', 'gzip;q=0', '*;q=0'),
  ),
  fc.tuple(fc.constant('Accept-Language'), fc.constantFrom('pl', 'x'.repeat(500))),
  fc.tuple(fc.constant('Origin'), fc.constantFrom('https://evil.example', 'null')),
  fc.tuple(fc.constant('Cookie'), fc.constantFrom('session=x', '=; ;')),
  fc.tuple(fc.constant('X-Forwarded-For'), fc.constantFrom('1.2.3.4', 'nonsense')),
  fc.tuple(fc.constant('X-HTTP-Method-Override'), fc.constant('DELETE')),
  fc.tuple(fc.constant('Last-Event-ID'), fc.constantFrom('nowhere', '0', 'x'.repeat(200))),
  fc.tuple(
    fc.constant('Content-Type'),
    fc.constantFrom('application/json', 'multipart/form-data', 'nonsense'),
  ),
);
const HOSTS = [
  'play.example.org',
  'localhost:1',
  '[::1]:80',
  'a b',
  'user@h',
  '',
  'a/b',
  'evil.example',
  'a:99999',
  '%',
];
/** Others than these Bun refuses itself, without a response. */
const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const BODIES = ['', '{}', '{"a":', '\u0000', 'a=b&a=c', `"${'x'.repeat(60_000)}"`];

/** Tokens as clients send them: mostly correctly. */
function credentialsOf({ tokens }: Values): fc.Arbitrary<{ pairs: string[]; headers: [string, string][] }> {
  const text = fc.oneof(
    { weight: 4, arbitrary: fc.constant(tokens.live ?? '') },
    { weight: 3, arbitrary: fc.constantFrom(...Object.values(tokens)) },
    { weight: 1, arbitrary: fc.constantFrom('bad', '', 'x'.repeat(3000), "' or 1=1 --", 'ż', '%00') },
  );
  const inHeader = fc.tuple(fc.constantFrom('Bearer ', 'Bearer ', 'Bearer ', 'bearer  ', 'Basic ', ''), text);
  return fc.record({
    headers: fc
      .option(inHeader, { freq: 4 })
      .map((given): [string, string][] => (given ? [['Authorization', toHeader(given.join(''))]] : [])),
    pairs: fc.oneof(
      { weight: 3, arbitrary: fc.constant<string[]>([]) },
      {
        weight: 1,
        arbitrary: fc.array(
          text.map((shown) => `api_token=${encode(shown)}`),
          { maxLength: 2 },
        ),
      },
    ),
  });
}

/** Requests for every operation of a document: valid, invalid and hostile ones. */
export function apiRequests(operations: readonly DocumentedPath[], values: Values): fc.Arbitrary<ApiRequest> {
  return fc.constantFrom(...operations).chain((operation) => {
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path');
    return fc
      .record({
        parts: fc.tuple(...inPath.map((parameter) => parameterValue(parameter, values))),
        pairs: queryOf(operation, values),
        credentials: credentialsOf(values),
        headers: fc.array(header, { maxLength: 3 }),
        method: fc.oneof(
          { weight: 12, arbitrary: fc.constantFrom('GET', 'GET', 'HEAD') },
          { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
        ),
        body: fc.constantFrom(...BODIES),
        host: fc.oneof(
          { weight: 9, arbitrary: fc.constant(undefined) },
          { weight: 1, arbitrary: fc.constantFrom(...HOSTS) },
        ),
        suffix: fc.oneof(
          { weight: 12, arbitrary: fc.constant('') },
          { weight: 1, arbitrary: fc.constantFrom('/', '//', '/..', '/%2e%2e/', '/x', '%00', '.json') },
        ),
      })
      .map(({ parts, pairs, credentials, headers, method, body, host, suffix }) => {
        const path = inPath.reduce(
          (text, { name }, index) => text.replace(`{${name}}`, () => parts[index] ?? ''),
          operation.path,
        );
        const query = [...pairs, ...credentials.pairs];
        // A stream of events has no end: its head is that of every GET.
        const isStream = operation.operationId === 'streamEvents' && method === 'GET';
        const hasBody = !['GET', 'HEAD'].includes(method);
        return {
          operationId: operation.operationId,
          method: isStream ? 'HEAD' : method,
          target: `${path}${suffix}${query.length > 0 ? `?${query.join('&')}` : ''}`,
          headers: Object.fromEntries([
            ...headers,
            ...credentials.headers,
            ...(host === undefined ? [] : [['Host', host] as const]),
          ]),
          ...(hasBody && host === undefined && { body }),
          isRaw: host !== undefined || suffix !== '' || /%2e|\.\.|\/\.|%5c|\\/i.test(path),
          isOdd: host !== undefined || suffix !== '' || hasBody || inPath.length > 0,
        };
      });
  });
}

/** Percent-encoded; a lone surrogate as the replacement character. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** What a header can hold. */
function toHeader(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').trim();
}
