import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import { anAudio, silence, sine, toWav } from '../support/audio/audio.ts';
import { openSounds, uploadSound } from '../support/audio/sound-folders.ts';
import { aSteamId } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { readMetrics } from '../support/service/metrics.ts';
import { createTestFolder } from '../support/service/program.ts';
import { startTestService } from '../support/service/service.ts';
import { waitForProcess } from '../support/wait.ts';

const { db, url } = await createTestDatabase();
const root = createTestFolder();
const config = { dataDir: join(root, 'data'), storageDir: join(root, 'storage') };
const { sounds } = await openSounds(config);
const service = await startTestService({
  databaseUrl: url,
  env: { ROLES: 'api,media', DATA_DIR: config.dataDir, STORAGE_DIR: config.storageDir },
});

test('/metrics counts sounds by status and outcome, and tells how long they took', async () => {
  expect(await readMetrics(service)).toMatchObject({
    sounds_queued: 0,
    sounds_measuring: 0,
    sounds_rendering: 0,
  });

  // Leased to another process, so that this one's worker leaves them alone.
  const claimedUntil = new Date(Date.now() + 600_000);
  await db.insert(roundSounds).values(
    (['queued', 'queued', 'measuring', 'rendering', 'failed', 'ready'] as const).map((status, index) => {
      const uploadKey = `key ${index}`;
      return { steamId64: aSteamId(10 + index), title: 'other.wav', uploadKey, status, claimedUntil };
    }),
  );
  await waitForProcess(async () => (await readMetrics(service)).sounds_queued === 2);
  expect(await readMetrics(service)).toMatchObject({ sounds_measuring: 1, sounds_rendering: 1 });

  await uploadSound({ db, sounds }, toWav(anAudio({ seconds: 1, shape: sine(440, 0.3) }), 's16'));
  await uploadSound({ db, sounds }, toWav(silence(1), 's16'), { player: aSteamId(2) });
  const silent = 'sounds_settled_total{outcome="silent"}';
  await waitForProcess(async () => (await readMetrics(service))[silent] === 1);
  const settled = await readMetrics(service);
  expect(settled).toMatchObject({
    'sounds_settled_total{outcome="published"}': 1,
    sound_render_seconds_count: 1,
    'sound_render_seconds_bucket{le="60"}': 1,
  });
  expect(settled.sound_render_seconds_sum).toBeWithin(0.01, 30);
  await waitForProcess(async () => (await readMetrics(service)).sounds_queued === 2);
});
