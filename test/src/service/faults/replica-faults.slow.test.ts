import { afterAll, beforeEach, expect, test } from 'bun:test';
import { openDatabase } from '../../../../src/db/database.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { startReplicatedPostgres } from '../../../support/database/replicated-postgres.ts';
import { countStatuses, startLoad } from '../../../support/http/steady-load.ts';
import { createServices, waitForOrigin } from '../../../support/service/program.ts';
import { aToken, bearer } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const { primary, replicas } = await startReplicatedPostgres({ replicas: 2 });
const [first, second] = replicas;
if (!first || !second) throw new Error('there are two replicas');
const proxy = await startDatabaseProxy(second.url);
const database = openDatabase(primary.url, { max: 2 });
await insertPenalties(database.db, [{ playerSteamId: aSteamId(1) }]);
const { token } = await aToken(database.db, 1, { now: new Date() });
const service = createServices(primary.url).start({
  DATABASE_REPLICA_URLS: `${first.url},${proxy.url}`,
  RATE_LIMIT_PROTECTED: '1000000',
});
const origin = await waitForOrigin(service);
afterAll(async () => {
  await database.close({ timeoutSeconds: 1 });
  await proxy.stop();
});

const paths = [`/api/v1/penalties?steamid=${aSteamId(1)}`, `/api/v1/users/lookup?steamid64=${aSteamId(1)}`];
const metric = async (name: string) =>
  (await fetch(`${origin}/metrics`))
    .text()
    .then((text) => text.match(new RegExp(`${name}(?:{[^\\n]*})? ([0-9]+)`))?.[1]);
/** By the latest line about each: on a busy machine the service may begin without one of them. */
const areBothRead = () => {
  const lines = service.stdout().matchAll(/"replica":"([^"]+)".*"(not )?using the read replica/g);
  const latest = new Map([...lines].map(([, replica, not]) => [replica, not === undefined]));
  return latest.size === 2 && [...latest.values()].every(Boolean);
};

beforeEach(() => waitFor(areBothRead, { everyMs: 50 }));

const FAULTS = {
  'both hang': [
    () => Promise.all([first.signal('SIGSTOP'), second.signal('SIGSTOP')]),
    () => Promise.all([first.signal('SIGCONT'), second.signal('SIGCONT')]),
  ],
  'one of two hangs': [() => first.signal('SIGSTOP'), () => first.signal('SIGCONT')],
  'one of two dies': [first.kill, first.start],
  'one dies behind a proxy': [second.kill, second.start],
  'the network to one goes silent': [async () => proxy.freeze(), async () => proxy.restore()],
} as const;

test.each(Object.entries(FAULTS))('no request fails when %s', async (_, [fail, heal]) => {
  const load = startLoad(origin, { paths, init: bearer(token) });
  await Bun.sleep(1000);
  await fail();
  await Bun.sleep(4000);
  await heal();
  await waitFor(areBothRead, { everyMs: 50 });
  const responses = await load.stop();
  expect(countStatuses(responses)).toEqual({ 200: responses.length });
});

test('leaving, returning and repeated reads are counted', async () => {
  expect(Number(await metric('replica_changes_total'))).toBeGreaterThan(0);
  expect(Number(await metric('replica_reads_repeated_total'))).toBeGreaterThan(0);
});
