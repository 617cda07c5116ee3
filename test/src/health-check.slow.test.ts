import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { createTestDatabase } from '../support/database/database.ts';
import { startDatabaseProxy } from '../support/database/database-proxy.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { createServices, startProgram } from '../support/service/program.ts';
import { waitFor } from '../support/wait.ts';

const database = await createTestDatabase();
const proxy = await startDatabaseProxy(database.url);
const { env, start } = createServices(proxy.url);

/** @returns the environment of the service. */
async function startService(settings: Record<string, string>, logged = 'server listening') {
  await start(settings).waitFor(logged);
  return { ...env, ...settings };
}

/** Runs what the Dockerfile says, in the environment of a service. */
async function check(env: Record<string, string>): Promise<{ code: number; stderr: string }> {
  const command = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(readFileSync('Dockerfile', 'utf8'))?.[1];
  const [program, file = '', ...args] = JSON.parse(command ?? '[]');
  expect(program).toBe('bun');
  const run = startProgram(file, env, args);
  return { code: await run.exited, stderr: run.stderr() };
}

test.each([
  ['with the role api', 'api'],
  ['without it', 'poller,media,sync'],
])(
  'a process %s has health and metrics, and the health check of the image works for it',
  async (_, roles) => {
    const port = String(findFreePort());
    const isApi = roles === 'api';
    const ports = isApi ? { PORT: port, HEALTH_PORT: '3001' } : { PORT: '3000', HEALTH_PORT: port };
    const env = await startService({ ROLES: roles, ...ports });
    const ask = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    expect([await ask('/healthz'), await ask('/readyz'), await ask('/metrics')]).toEqual([200, 200, 200]);
    expect(await ask('/api/v1/servers')).toBe(isApi ? 200 : 404);
    expect(await check(env)).toEqual({ code: 0, stderr: '' });
    // As in a container, where the service listens on every address, and Docker sets the proxy.
    const proxies = { HTTP_PROXY: 'http://127.0.0.1:9', http_proxy: 'http://127.0.0.1:9' };
    expect(await check({ ...env, ...proxies, HOST: '0.0.0.0' })).toEqual({ code: 0, stderr: '' });

    proxy.cut();
    await waitFor(async () => (await ask('/readyz')) === 503);
    expect(await check(env)).toEqual({
      code: 1,
      stderr: `http://127.0.0.1:${port}/readyz responded with status 503\n`,
    });
    proxy.restore();
    await waitFor(async () => (await check(env)).code === 0);
  },
);

test('a worker tells its parts, and what it does not have is 404 in JSON', async () => {
  const port = String(findFreePort());
  await startService({ ROLES: 'poller', HEALTH_PORT: port });
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`);
  expect(await ready.json()).toMatchObject({ status: 'ready', database: 'up', poller: expect.anything() });
  const absent = await fetch(`http://127.0.0.1:${port}/account`);
  expect([absent.status, await absent.json()]).toEqual([404, { success: false, message: 'Not found' }]);
  const proxied = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { Via: '1.1 proxy' } });
  expect(proxied.status).toBe(404);
});

test('a process without HEALTH_PORT continues when the default port is taken', async () => {
  // Whatever else has the port on this machine takes it just as well.
  const holder = createServer();
  await new Promise<unknown>((settle) =>
    holder.once('error', settle).listen(3001, '127.0.0.1', () => settle(undefined)),
  );
  const warning = 'port 3001 is taken: health and metrics are not served';
  await startService({ ROLES: 'poller', HEALTH_PORT: '' }, warning);
  holder.close();
});

test('a health port that is taken ends the start with one line', async () => {
  const port = String(findFreePort());
  const env = await startService({ ROLES: 'poller', HEALTH_PORT: port });
  const second = start(env);
  const line = `HEALTH_PORT=${port} is taken on 127.0.0.1: stop whatever listens there or set another HEALTH_PORT\n`;
  expect([await second.exited, second.stderr()]).toEqual([1, line]);
});

test('the health check says in one line that nothing listens or that a setting is bad', async () => {
  const port = String(findFreePort());
  expect(await check({ ROLES: 'bot', HEALTH_PORT: port, HOST: '::' })).toEqual({
    code: 1,
    stderr: `http://[::1]:${port}/readyz cannot be reached\n`,
  });
  expect(await check({ HEALTH_PORT: 'x' })).toEqual({
    code: 1,
    stderr: 'HEALTH_PORT="x" isn\'t valid: use a whole number from 0 to 65535\n',
  });
});
