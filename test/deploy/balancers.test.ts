import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createTestDatabase } from '../support/database/database.ts';
import { findBalancers, startBalancer } from '../support/http/balancer.ts';
import { startLoad } from '../support/http/steady-load.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { createTestFolder, startProgram } from '../support/service/program.ts';
import { aToken, bearer } from '../support/service/service.ts';
import { waitFor } from '../support/wait.ts';

const database = await createTestDatabase();
const { token } = await aToken(database.db, 1, { now: new Date() });
const folder = createTestFolder();
const started = new Set<ReturnType<typeof startProgram>>();
afterAll(async () => {
  for (const program of started) {
    program.kill('SIGKILL');
    await program.exited;
  }
  await folder.remove();
});

async function startService(port: number) {
  const program = startProgram('src/main.ts', {
    DATABASE_URL: database.url,
    HOST: '127.0.0.1',
    PORT: String(port),
    DRAIN_SECONDS: '3',
    ROLES: 'api',
    RATE_LIMIT_PUBLIC: '1000000',
    RATE_LIMIT_PROTECTED: '1000000',
    DATA_DIR: folder.path,
    STORAGE_DIR: join(folder.path, 'storage'),
  });
  started.add(program);
  await program.waitFor('HTTP server listening');
  return program;
}

/** Waits until the load balancer sends requests to the process. */
async function takesRequests(port: number): Promise<void> {
  const readMetrics = () => fetch(`http://127.0.0.1:${port}/metrics`).then((response) => response.text());
  await waitFor(async () => /route="list(Servers|Penalties)"/.test(await readMetrics()), { everyMs: 100 });
}

test.each(findBalancers())('a rolling restart behind %s loses no request', async (name) => {
  const ports = [findFreePort(), findFreePort()];
  const programs = await Promise.all(ports.map(startService));
  const balancer = await startBalancer(name, { folder: folder.path, backends: ports });
  const load = startLoad(balancer.origin, {
    paths: ['/api/v1/servers', '/api/v1/penalties'],
    init: bearer(token),
    perSecond: 50,
  });
  await Promise.all(ports.map(takesRequests));
  for (const [index, port] of ports.entries()) {
    programs[index]?.kill('SIGTERM');
    await programs[index]?.exited;
    programs[index] = await startService(port);
    await takesRequests(port);
  }
  const responses = await load.stop();
  await balancer.stop();
  expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
  expect(responses.length).toBeGreaterThan(200);
});
