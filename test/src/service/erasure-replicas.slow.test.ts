import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import { openDatabase } from '../../../src/db/database.ts';
import { publishedPath } from '../../support/audio/sound-folders.ts';
import { aSteamId, insertPenalties, insertReadySound, insertUser } from '../../support/database/builders.ts';
import { startReplicatedPostgres } from '../../support/database/replicated-postgres.ts';
import { createServices, startProgram, waitForOrigin } from '../../support/service/program.ts';
import { aToken, bearer } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

setDefaultTimeout(120_000);

const { primary, replicas } = await startReplicatedPostgres({ replicas: 1 });
const database = openDatabase(primary.url, { max: 2 });
const { db } = database;
afterAll(() => database.close({ timeoutSeconds: 1 }));
/** Two processes that share nothing but database and folders, and read a replica. */
const { folder, env, start } = createServices(primary.url, {
  DATABASE_REPLICA_URLS: replicas.map(({ url }) => url).join(','),
});
const services = [start(), start()];

test('no process knows somebody 5 s after they were erased, whatever it had in memory or reads', async () => {
  const id = aSteamId(1);
  await insertUser(db, 1, { nickname: 'Ksywka', discordId: '80351110224678912' });
  await insertPenalties(db, [{ playerSteamId: id, playerName: 'Ksywka' }]);
  await insertReadySound(db, id);
  const own = (await aToken(db, 1, { now: new Date() })).token;
  const reader = (await aToken(db, 900, { now: new Date() })).token;
  const published = { published: `${folder.path}/storage/roundsound` };
  await mkdir(published.published, { recursive: true });
  for (const rendition of ['stereo', 'voice'] as const) {
    await Bun.write(publishedPath(published, id, rendition), 'sound');
  }
  const origins = await Promise.all(services.map(waitForOrigin));

  /** What one process still returns about the person. */
  const see = async (origin: string) => {
    const ask = async (path: string, token = reader) => {
      const response = await fetch(`${origin}${path}`, bearer(token));
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
  await waitFor(async () => Bun.deepEquals(await seenByAll(), Array(2).fill({ ...KNOWN, ...LISTED })), {
    everyMs: 200,
  });

  const erasing = startProgram('src/cli.ts', env, ['users', 'erase', id, '--penalties', '--yes']);
  expect(await erasing.exited).toBe(0);
  const GONE = { token: '401', user: '404', discord: '404', file: '404' };
  const UNLISTED = { penalties: false, active: false, search: false, sound: false };
  const isForgotten = async () => Bun.deepEquals(await seenByAll(), Array(2).fill({ ...GONE, ...UNLISTED }));
  await waitFor(isForgotten, { everyMs: 100 });
});
