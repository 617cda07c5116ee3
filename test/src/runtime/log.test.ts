import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { generateApiToken } from '../../../src/domain/api-token.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import {
  createServices,
  createTestFolder,
  startProgram,
  waitForOrigin,
} from '../../support/service/program.ts';
import { aToken, bearer } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const folder = createTestFolder();

/** Lines that a script writes to stdout through the service's logger. */
async function linesOf(script: string): Promise<Record<string, unknown>[]> {
  const file = join(folder, `${crypto.randomUUID()}.ts`);
  const logFile = new URL('../../../src/runtime/log.ts', import.meta.url).pathname;
  await Bun.write(file, `import { createLogger } from ${JSON.stringify(logFile)};\n${script}`);
  const program = startProgram(file, {});
  expect([await program.exited, program.stderr()]).toEqual([0, '']);
  return program
    .stdout()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('a line is one JSON object with level, time and message', async () => {
  const lines = await linesOf(
    `createLogger('info').info({ port: 3000 }, 'two\\nlines'); createLogger('info').debug('x');`,
  );
  expect(lines).toEqual([
    {
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      port: 3000,
      msg: 'two\nlines',
    },
  ]);
});

test('values of secret keys are left out, down to the third level', async () => {
  const ofTokens = ['token', 'api_token', 'authorization', 'cookie'];
  const keys = [...ofTokens, 'password', 'secret', 'clientSecret', 'apiKey'];
  const lines = await linesOf(`
    const log = createLogger('info');
    const keys = ${JSON.stringify(keys)};
    for (const key of keys) {
      log.info({ [key]: 'hunter2', request: { [key]: 'hunter2', headers: { [key]: 'hunter2' } } }, 'x');
    }`);
  expect(lines).toHaveLength(keys.length);
  expect(JSON.stringify(lines)).not.toContain('hunter2');
});

test('errors keep message, code, causes and stack, and lose passwords, tokens and parameters of queries', async () => {
  const token = generateApiToken();
  const lines = await linesOf(`
    const cause = Object.assign(new Error('connect postgres://user:hunter2@db.example/x failed'), { code: 'ECONNREFUSED' });
    const error = new Error('Failed query: select 1 where a = $1\\nparams: hunter2,${token}', { cause });
    const log = createLogger('info');
    log.error({ err: error }, 'a request failed');
    log.error({ err: new TypeError('GET /api/v1/bans?api_token=${token}&page=1 with Bearer ${token}') }, 'y');
    log.error({ err: new Error('cannot fetch https://steam.example/Resolve?key=hunter2&vanityurl=x') }, 'z');`);
  expect(lines[0]).toMatchObject({
    msg: 'a request failed',
    err: {
      type: 'Error',
      message: 'Failed query: select 1 where a = $1',
      stack: expect.stringContaining('    at '),
      cause: { code: 'ECONNREFUSED', message: 'connect postgres://…@db.example/x failed' },
    },
  });
  expect(lines[1]).toMatchObject({
    err: { type: 'TypeError', message: 'GET /api/v1/bans?api_token=…&page=1 with Bearer capi_…' },
  });
  expect(lines[2]).toMatchObject({
    err: { message: 'cannot fetch https://steam.example/Resolve?key=…&vanityurl=x' },
  });
  const text = JSON.stringify(lines);
  for (const secret of ['hunter2', token]) expect(text).not.toContain(secret);
});

test('a token is taken out of every part of a line, which stays JSON', async () => {
  const token = generateApiToken();
  const lines = await linesOf(`
    const log = createLogger('info');
    const address = 'GET /api/v1/bans?page=1&api_token=${token}';
    log.warn({ url: address, request: { headers: ['Bearer ${token}'] }, ['${token}']: 1 }, address);
    log.warn({ note: '"/x?api_token=not-one-of-ours" cannot be parsed' }, 'x');`);
  expect(lines[0]).toMatchObject({
    url: 'GET /api/v1/bans?page=1&api_token=…',
    request: { headers: ['Bearer capi_…'] },
    'capi_…': 1,
    msg: 'GET /api/v1/bans?page=1&api_token=…',
  });
  expect(lines[1]).toMatchObject({ note: '"/x?api_token=…" cannot be parsed' });
});

test('a service at its most talkative writes no token, cookie or password, whatever fails', async () => {
  const { db, url } = await createTestDatabase();
  const proxy = await startDatabaseProxy(url);
  const { token } = await aToken(db, 1, { now: new Date() });
  const unknown = generateApiToken();
  const program = createServices(proxy.url).start({
    ROLES: 'api,sync',
    LOG_LEVEL: 'trace',
    DRAIN_SECONDS: '0',
    SESSION_SECRET: 'session-secret-of-the-test-0123456789',
    DISCORD_CLIENT_ID: '1',
    DISCORD_CLIENT_SECRET: 'discord-secret-of-the-test',
    STEAM_API_KEY: 'steam-key-of-the-test',
  });
  const origin = await waitForOrigin(program);
  const ask = async (path: string, init: RequestInit = {}) => (await fetch(origin + path, init)).status;
  const cookie = 'session=cookie-of-the-test; __Host-session=cookie-of-the-test';
  const askAll = () =>
    Promise.all([
      ask('/api/v1/bans', bearer(token)),
      ask(`/api/v1/bans?api_token=${token}`),
      ask(`/api/v1/bans?status=x&api_token=${token}`, { headers: { Cookie: cookie } }),
      ask('/api/v1/bans', bearer(unknown)),
      ask(`/api/v1/%?api_token=${unknown}`, { headers: { Cookie: cookie } }),
      ask('/account', { headers: { Cookie: cookie } }),
      sendRaw(origin, `/account?api_token=${token}`, { headers: { Host: 'a b' } }),
    ]);
  expect((await askAll()).slice(0, 4)).toEqual([200, 200, 400, 401]);
  await db.execute(sql`alter table penalties rename to moved`);
  expect((await askAll())[0]).toBe(500);
  await db.execute(sql`alter table moved rename to penalties`);
  proxy.cut();
  await waitFor(async () => (await askAll())[0] === 503);
  proxy.restore();
  await waitFor(async () => (await ask('/readyz')) === 200);
  program.kill('SIGTERM');
  expect(await program.exited).toBe(0);

  const written = program.stdout() + program.stderr();
  expect(written).toContain('HTTP server listening');
  expect(written).toContain('a request failed');
  expect(written).toContain('the database is unreachable');
  expect(written).toContain('stopped');
  for (const line of program.stdout().trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  const { password } = new URL(url);
  const secrets = [token, unknown, token.slice(-10), 'of-the-test', password, decodeURIComponent(password)];
  for (const secret of secrets) expect(written).not.toContain(secret);
});
