import { expect, test } from 'bun:test';
import pino from 'pino';
import { createErrorMapper, createTroubleLog, MethodNotAllowed } from '../../../api/http/error-handler.ts';
import { listen } from '../../../api/http/listen.ts';
import { DatabaseBusy } from '../../../src/db/client.ts';
import { generateApiToken } from '../../../src/domain/api-token.ts';
import {
  Conflict,
  Forbidden,
  InvalidInput,
  NotFound,
  Unauthorized,
  Unavailable,
} from '../../../src/domain/errors.ts';

const lines: { level: number; msg: string }[] = [];
const log = pino({}, { write: (line) => void lines.push(JSON.parse(line)) });
/** As a query fails that PostgreSQL ends with this code. */
const queryError = (code: string) =>
  new Error('query failed', { cause: Object.assign(new Error('x'), { code }) });
const UNREACHABLE = 'The database is unreachable: try again shortly';

test('each expected failure has its status, its own message and its headers, and is not logged', () => {
  const toErrorResponse = createErrorMapper(log);
  expect(
    [
      new InvalidInput('a'),
      new Unauthorized('b'),
      new Forbidden('c'),
      new NotFound('d'),
      new MethodNotAllowed('GET'),
      new Conflict('e'),
      new Unavailable('f'),
    ].map((error) => toErrorResponse(error)),
  ).toEqual([
    { status: 400, message: 'a' },
    { status: 401, message: 'b', headers: { 'WWW-Authenticate': 'Bearer' } },
    { status: 403, message: 'c' },
    { status: 404, message: 'd' },
    { status: 405, message: 'Method not allowed: use GET', headers: { Allow: 'GET' } },
    { status: 409, message: 'e' },
    { status: 503, message: 'f', headers: { 'Retry-After': '2' } },
  ]);
  expect(lines).toEqual([]);
});

test('any other error is a 500 without details, and is logged each time', () => {
  const toErrorResponse = createErrorMapper(log);
  for (const error of [new Error('secret'), new TypeError('secret'), 'secret', undefined]) {
    lines.length = 0;
    expect(toErrorResponse(error)).toEqual({ status: 500, message: 'Server error' });
    expect(lines).toMatchObject([{ level: 50, msg: 'a request failed' }]);
  }
});

test.each(['40001', '53100', '25006', '28P01', '28000', '3D000', '55000', '57P01'])(
  'a query that ends with %s is an outage, not an internal error',
  (code) => {
    expect(createErrorMapper(log)(queryError(code))).toEqual({
      status: 503,
      message: UNREACHABLE,
      headers: { 'Retry-After': '2' },
    });
  },
);

test('an invalid query is an internal error', () => {
  expect(createErrorMapper(log)(queryError('42P01'))).toEqual({ status: 500, message: 'Server error' });
});

test.each([
  ['unreachable', queryError('57P01'), UNREACHABLE, {}],
  [
    'busy',
    new DatabaseBusy({ slow: ['select penalties (3400 ms)'], waiting: 58 }),
    'The service is busy: try again shortly',
    { slow: ['select penalties (3400 ms)'], waiting: 58 },
  ],
] as const)(
  'a database that is %s is 503 for each request, and a line every ten seconds',
  (trouble, error, message, fields) => {
    let nowMs = 0;
    const toErrorResponse = createErrorMapper(log, createTroubleLog(log, { clockMs: () => nowMs }));
    lines.length = 0;
    for (; nowMs < 30_000; nowMs += 10) {
      expect(toErrorResponse(error)).toEqual({ status: 503, message, headers: { 'Retry-After': '2' } });
    }
    const line = { ...fields, msg: `the database is ${trouble}` };
    expect(lines).toMatchObject([line, line, line]);
  },
);

test('what no handler caught is 500 in JSON without its text, and one log line', async () => {
  const token = generateApiToken();
  lines.length = 0;
  const failures = [
    () => {
      throw new Error(`thrown at once for ?api_token=${token}`);
    },
    () => Promise.reject(new Error(`thrown later for ?api_token=${token}`)),
  ];
  for (const fetchApp of failures) {
    const app = { fetch: fetchApp, server: null };
    const options = { host: '127.0.0.1', port: 0, maxBodyBytes: 1024, isStopping: () => false };
    const server = listen(app, { ...options, log });
    const response = await fetch(`http://127.0.0.1:${server.port}/account?api_token=${token}`);
    expect(response.status).toBe(500);
    expect(await response.text()).toBe('{"success":false,"message":"Server error"}');
    await server.stop(true);
  }
  expect(lines.map(({ msg }) => msg)).toEqual(['a request failed', 'a request failed']);
});
