import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { openDatabase } from '../../src/db/database.ts';
import { aSteamId, insertPenalties, insertServer } from '../support/database/builders.ts';
import { findTestRedis } from '../support/database/redis.ts';
import { SYSTEM_VERSIONS } from '../support/database/system-postgres.ts';
import { startFakeDiscord } from '../support/discord/fake-discord.ts';
import {
  DEPLOY,
  isInstalled,
  isWell,
  listDashboardQueries,
  readCompose,
  startDeployedCaddy,
  startDeployedPostgres,
} from '../support/docs/deployment.ts';
import { countStatuses, startLoad } from '../support/http/steady-load.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { parseSamples } from '../support/service/metrics.ts';
import { createTestFolder, type Program, startProgram } from '../support/service/program.ts';
import { aToken, bearer } from '../support/service/service.ts';
import { waitForProcess } from '../support/wait.ts';

const redisUrl = await findTestRedis();
const isComplete = SYSTEM_VERSIONS.length > 0 && redisUrl !== undefined && isInstalled('caddy');
const lacks = !isComplete && process.env.CI !== 'true';

describe.skipIf(lacks)('the layout of compose.scale.yaml, run from processes', async () => {
  if (lacks) return;
  const folder = createTestFolder();
  const { primary, replica } = await startDeployedPostgres(folder);
  const discord = await startFakeDiscord({});
  const { services } = await readCompose();

  /** A process with its service's settings from the file, but for the addresses. */
  async function startService(name: 'api1' | 'api2' | 'worker', port: number): Promise<Program> {
    const program = startProgram('src/main.ts', {
      ...services[name]?.environment,
      HOST: '127.0.0.1',
      PORT: String(port),
      HEALTH_PORT: String(port),
      DATA_DIR: join(folder, 'db'),
      STORAGE_DIR: join(folder, 'storage'),
      DATABASE_URL: primary.url,
      DATABASE_REPLICA_URLS: replica.url,
      REDIS_URL: redisUrl ?? '',
      // The tests read metrics from the address that Caddy has, too.
      PUBLIC_URL: 'http://localhost',
      TRUSTED_PROXIES: '127.0.0.1',
      METRICS_ALLOW: '',
      RATE_LIMIT_PUBLIC: '1000000',
      RATE_LIMIT_PROTECTED: '1000000',
      DISCORD_TOKEN: discord.token,
      DISCORD_API_URL: discord.apiUrl,
      SIMPLEADMIN_URL: `sqlite:${join(folder, 'none.sqlite')}`,
    });
    await waitForProcess(() => isWell(`http://127.0.0.1:${port}/readyz`));
    return program;
  }

  const ports = { api1: findFreePort(), api2: findFreePort(), worker: findFreePort() };
  const first = await startService('api1', ports.api1);
  const second = await startService('api2', ports.api2);
  await startService('worker', ports.worker);
  const database = openDatabase(primary.url, { max: 2 });
  afterAll(() => database.close({ timeoutSeconds: 1 }));
  await insertServer(database.db, { slug: 'one', name: 'One' });
  await insertPenalties(database.db, [{ playerSteamId: aSteamId(1) }]);
  const { token } = await aToken(database.db, 1, { now: new Date() });
  const caddy = await startDeployedCaddy({ folder: folder, backends: [ports.api1, ports.api2] });
  const readMetrics = async (name: keyof typeof ports) =>
    (await fetch(`http://127.0.0.1:${ports[name]}/metrics`)).text();

  test('penalties are read from the replica that the scripts made', async () => {
    await waitForProcess(async () => /^community_api_replica_read\{.*\} 1$/m.test(await readMetrics('api1')));
    const response = await fetch(`${caddy.origin}/api/v1/penalties`, bearer(token));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ success: true });
  });

  test('the worker leads every part, and nobody reads metrics through Caddy', async () => {
    await waitForProcess(async () => {
      const samples = parseSamples(await readMetrics('worker'));
      return ['bot', 'poller', 'mirror_simpleadmin', 'webhooks', 'retention'].every(
        (part) => samples[`leader{part="${part}"}`] === 1,
      );
    });
    expect((await fetch(`${caddy.origin}/metrics`)).status).toBe(404);
  });

  test('every query of the dashboard and of the alerts names metrics that the processes expose', async () => {
    const queries = await listDashboardQueries();
    const rules = await Bun.file(`${DEPLOY}/prometheus/alerts.yml`).text();
    const namesIn = (text: string) => new Set(text.match(/(community_api|process)_[a-z_]+/g));
    const exposed = new Set<string>();
    for (const name of ['api1', 'worker'] as const) {
      for (const [, metric = '', type] of (await readMetrics(name)).matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
        const names =
          type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => metric + end) : [metric];
        for (const each of names) exposed.add(each);
      }
    }
    expect(queries.length).toBeGreaterThan(25);
    const asked = new Set([...namesIn(queries.join('\n')), ...namesIn(rules)]);
    expect(asked.size).toBeGreaterThan(25);
    expect([...asked].filter((name) => !exposed.has(name))).toEqual([]);
  });

  test('no request is lost while one API process drains, returns, and the other is killed', async () => {
    const load = startLoad(caddy.origin, {
      paths: ['/api/v1/servers', '/api/v1/penalties', '/'],
      init: bearer(token),
    });
    await Bun.sleep(1000);
    first.kill('SIGTERM');
    expect(await first.exited).toBe(0);
    await Bun.sleep(1000);
    await startService('api1', ports.api1);
    await waitForProcess(async () => /route="listServers"/.test(await readMetrics('api1')));
    second.kill('SIGKILL');
    await second.exited;
    await Bun.sleep(2000);
    const responses = await load.stop();
    expect(countStatuses(responses)).toEqual({ 200: responses.length });
    expect(responses.length).toBeGreaterThan(150);
  });
});
