import { afterAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import { openDatabase } from '../../../../src/db/database.ts';
import { publishedPath } from '../../../support/audio/sound-folders.ts';
import {
  aSteamId,
  insertPenalties,
  insertReadySound,
  insertUser,
} from '../../../support/database/builders.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { startReplicatedPostgres } from '../../../support/database/replicated-postgres.ts';
import { countStatuses, startLoad } from '../../../support/http/steady-load.ts';
import { parseSamples } from '../../../support/service/metrics.ts';
import { createServices, runProgram, waitForOrigin } from '../../../support/service/program.ts';
import { aToken, bearer } from '../../../support/service/service.ts';
import { waitForProcess } from '../../../support/wait.ts';

setDefaultTimeout(120_000);

const { primary, replicas } = await startReplicatedPostgres({ replicas: 2 });
const [first, second] = replicas;
if (!first || !second) throw new Error('there are two replicas');
const proxy = await startDatabaseProxy(second.url);
const database = openDatabase(primary.url, { max: 2 });
const { db } = database;
await insertPenalties(db, [{ playerSteamId: aSteamId(2) }]);
const { token } = await aToken(db, 900, { now: new Date() });
const { folder, env, start } = createServices(primary.url, {
  DATABASE_REPLICA_URLS: `${first.url},${proxy.url}`,
  RATE_LIMIT_PROTECTED: '1000000',
});
/** Two processes that share nothing but database and folders. */
const services = [start(), start()];
const [service] = services;
const origins = await Promise.all(services.map(waitForOrigin));
const [origin = ''] = origins;
afterAll(async () => {
  await database.close({ timeoutSeconds: 1 });
});

const paths = [`/api/v1/penalties?steamid=${aSteamId(2)}`, `/api/v1/users/lookup?steamid64=${aSteamId(900)}`];
const readSamples = async () => parseSamples(await (await fetch(`${origin}/metrics`)).text());
/** By the latest line about each: on a busy machine the service may begin without one of them. */
const areBothRead = () => {
  const lines = (service?.stdout() ?? '').matchAll(/"replica":"([^"]+)".*"(not )?using the read replica/g);
  const latest = new Map([...lines].map(([, replica, not]) => [replica, not === undefined]));
  return latest.size === 2 && [...latest.values()].every(Boolean);
};

beforeEach(() => waitForProcess(areBothRead, { everyMs: 50 }));

test('the metrics of a read replica tell its state and its lag', async () => {
  const name = `replica="${new URL(first.url).host}/postgres"`;
  const samples = await readSamples();
  expect(samples[`replica_read{${name}}`]).toBe(1);
  expect(samples[`replica_lag_seconds{${name}}`]).toBeLessThan(5);
  // There before it is first dropped, since Prometheus sees no increase where a series begins.
  expect(samples[`replica_changes_total{${name},change="left"}`] ?? Number.NaN).toBeWithin(0, 10);
  await first.kill();
  await waitForProcess(async () => (await readSamples())[`replica_read{${name}}`] === 0);
  await first.start();
});

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
  await waitForProcess(areBothRead, { everyMs: 50 });
  const responses = await load.stop();
  expect(countStatuses(responses)).toEqual({ 200: responses.length });
});

test('leaving, returning and repeated reads are counted', async () => {
  const samples = Object.entries(await readSamples());
  for (const name of ['replica_changes_total', 'replica_reads_repeated_total']) {
    const counts = samples.filter(([sample]) => sample.startsWith(name)).map(([, count]) => count);
    expect([name, Math.max(...counts) > 0]).toEqual([name, true]);
  }
});

test('no process knows somebody 5 s after they were erased, whatever it had in memory or reads', async () => {
  const id = aSteamId(1);
  await insertUser(db, 1, { nickname: 'Ksywka', discordId: '80351110224678912' });
  await insertPenalties(db, [{ playerSteamId: id, playerName: 'Ksywka' }]);
  await insertReadySound(db, id);
  const own = (await aToken(db, 1, { now: new Date() })).token;
  const published = { published: `${folder}/storage/roundsound` };
  await mkdir(published.published, { recursive: true });
  for (const rendition of ['stereo', 'voice'] as const) {
    await Bun.write(publishedPath(published, id, rendition), 'sound');
  }

  /** What one process still returns about the person. */
  const see = async (origin: string) => {
    const ask = async (path: string, as = token) => {
      const response = await fetch(`${origin}${path}`, bearer(as));
      return `${response.status} ${await response.text()}`;
    };
    const api = `/api/v1`;
    return {
      token: (await ask(`${api}/bans`, own)).slice(0, 3),
      user: (await ask(`${api}/users/lookup?steamid64=${id}`)).slice(0, 3),
      discord: (await ask(`${api}/users/lookup?discord_id=80351110224678912`)).slice(0, 3),
      penalties: (await ask(`${api}/penalties?steamid=${id}`)).includes('"total":1'),
      active: (await ask(`${api}/penalties/active?steamids=${id}`)).includes('"is_banned":true'),
      search: (await ask(`${api}/players/search?name=ksywka`)).includes(id),
      sound: (await ask(`${api}/players/roundsounds?steamids=${id}`)).includes('"has_sound":true'),
      file: (await ask(`/storage/roundsound/${id}.mp3`)).slice(0, 3),
    };
  };
  const KNOWN = { token: '200', user: '200', discord: '200', file: '200' };
  const LISTED = { penalties: true, active: true, search: true, sound: true };
  const seenByAll = () => Promise.all(origins.map(see));
  await waitForProcess(
    async () => Bun.deepEquals(await seenByAll(), Array(2).fill({ ...KNOWN, ...LISTED })),
    {
      everyMs: 200,
    },
  );

  const erasing = await runProgram('src/cli.ts', env, ['users', 'erase', id, '--penalties', '--yes']);
  expect(erasing.code).toBe(0);
  const GONE = { token: '401', user: '404', discord: '404', file: '404' };
  const UNLISTED = { penalties: false, active: false, search: false, sound: false };
  const isForgotten = async () => Bun.deepEquals(await seenByAll(), Array(2).fill({ ...GONE, ...UNLISTED }));
  await waitForProcess(isForgotten, { everyMs: 100 });
});
