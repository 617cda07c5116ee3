import { expect, setDefaultTimeout, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { eq } from 'drizzle-orm';
import type { Ffmpeg } from '../../media/ffmpeg/ffmpeg.ts';
import { reconcileSounds } from '../../media/reconcile.ts';
import { removeSound } from '../../media/uploads.ts';
import { auditLog } from '../../src/db/schema/accounts.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import {
  findRoundSounds,
  listReadySounds,
  listRoundSounds,
  lockPlayer,
} from '../../src/queries/round-sounds/round-sounds.ts';
import { publishedPath } from '../support/audio/sound-folders.ts';
import {
  createSoundQueue,
  hashOfFile,
  QUEUE_LOG as log,
  OTHER_TONE,
  PLAYER,
  PUBLISHED_NAMES,
  SILENCE,
  TONE,
} from '../support/audio/sound-queue.ts';
import { aSteamId } from '../support/database/builders.ts';
import { countWaiting } from '../support/database/lock-waits.ts';
import { waitFor } from '../support/wait.ts';

setDefaultTimeout(60_000);

const queue = await createSoundQueue();
const { db, ffmpeg, upload, startWorker, settled } = queue;

test('an upload gets its response before it is rendered, then it is published under the SteamID', async () => {
  const accepted = await upload(TONE, { fileName: '../Fanfara.wav' });
  expect(accepted).toMatchObject({ status: 'queued', title: 'Fanfara.wav', steamId64: PLAYER });
  expect(await listReadySounds(db)).toEqual([]);

  startWorker();
  const { ready } = await settled(PLAYER);
  expect(ready).toMatchObject({ status: 'ready', failure: null, claimedUntil: null });
  expect(ready?.durationMs).toBe(1000);
  expect(ready?.loudnessAfterLufs).toBeCloseTo(-18, 0);
  expect(ready?.waveform).toHaveLength(160);
  const bytes = await Bun.file(publishedPath(queue.folders, PLAYER)).bytes();
  expect(await hashOfFile(publishedPath(queue.folders, PLAYER))).toBe(ready?.sha256 ?? '');
  expect(ready).toMatchObject({
    sizeBytes: bytes.length,
    voiceSha256: await hashOfFile(publishedPath(queue.folders, PLAYER, 'voice')),
    voiceSizeBytes: Bun.file(publishedPath(queue.folders, PLAYER, 'voice')).size,
  });
  expect(await listReadySounds(db)).toEqual([
    {
      id: ready?.id ?? 0,
      steamId64: PLAYER,
      title: 'Fanfara.wav',
      sha256: ready?.sha256 ?? '',
      voiceSha256: ready?.voiceSha256 ?? '',
      isServed: true,
    },
  ]);
  await waitFor(async () => (await readdir(queue.folders.inbox)).length === 0);
  expect((await readdir(queue.folders.published)).sort()).toEqual(PUBLISHED_NAMES);
});

test('the earlier sound stays published while its replacement is processed, and when that fails', async () => {
  await upload(TONE);
  startWorker();
  const first = (await settled(PLAYER)).ready;
  const before = await Bun.file(publishedPath(queue.folders, PLAYER)).bytes();

  await upload(SILENCE, { fileName: 'silence.wav' });
  const { ready, latest } = await settled(PLAYER);
  expect(ready?.id).toBe(first?.id ?? 0);
  expect(latest).toMatchObject({ status: 'failed', failure: 'silent', title: 'silence.wav' });
  expect(await Bun.file(publishedPath(queue.folders, PLAYER)).bytes()).toEqual(before);

  await upload(OTHER_TONE, { fileName: 'other.wav' });
  await waitFor(async () => (await findRoundSounds(db, PLAYER)).ready?.title === 'other.wav');
  expect(await listRoundSounds(db)).toHaveLength(1);
  expect(await Bun.file(publishedPath(queue.folders, PLAYER)).bytes()).not.toEqual(before);
});

test('a newer upload replaces one that waits', async () => {
  await upload(TONE, { fileName: 'first.wav' });
  await upload(OTHER_TONE, { fileName: 'second.wav' });
  expect((await listRoundSounds(db)).map(({ title }) => title)).toEqual(['second.wav']);
  expect(await readdir(queue.folders.inbox)).toHaveLength(1);
  startWorker();
  expect((await settled(PLAYER)).ready?.title).toBe('second.wav');
});

test('an upload that is replaced while it is rendered is never published', async () => {
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const slow: Ffmpeg = {
    ...ffmpeg,
    async run(job, limits) {
      entered.resolve();
      await gate.promise;
      await ffmpeg.run(job, limits);
    },
  };
  await upload(TONE, { fileName: 'first.wav' });
  startWorker({ ffmpeg: slow });
  await entered.promise;
  await upload(OTHER_TONE, { fileName: 'second.wav' });
  gate.resolve();
  const { ready } = await settled(PLAYER);
  expect(ready).toMatchObject({ title: 'second.wav', durationMs: 2000 });
});

test('an upload that is removed with its files while it is processed is not reported as a failure', async () => {
  const warnings: string[] = [];
  const removing: Ffmpeg = {
    ...ffmpeg,
    async run(job, limits) {
      await removeSound(db, queue.sounds, { steamId64: PLAYER, actor: 'operator' }).catch(() => undefined);
      await ffmpeg.run(job, limits);
    },
  };
  await upload(TONE);
  const said = Promise.withResolvers<string>();
  const watched = {
    ...log,
    info: (_: object, message: string) => said.resolve(message),
    warn: (_: object, message: string) => warnings.push(message),
  };
  startWorker({ ffmpeg: removing, log: watched });
  expect(await said.promise).toBe('a sound was replaced or removed while it was rendered');
  expect(warnings).toEqual([]);
  expect(await readdir(queue.folders.inbox)).toEqual([]);
});

test('removing, publishing and comparing sounds wait for what else is done to the player', async () => {
  const superseded = Promise.withResolvers<void>();
  await upload(TONE);
  const waiting = await db.transaction(async (holding) => {
    await lockPlayer(holding, PLAYER);
    const removal = removeSound(db, queue.sounds, { steamId64: PLAYER, actor: 'operator' });
    await waitFor(async () => (await countWaiting(db)) === 1);
    startWorker({ log: { ...log, info: () => superseded.resolve() } });
    await waitFor(async () => (await countWaiting(db)) === 2);
    await Bun.write(publishedPath(queue.folders, PLAYER), 'x');
    const reconciliation = reconcileSounds(db, queue.sounds, log);
    await waitFor(async () => (await countWaiting(db)) === 3);
    return { ended: Promise.all([removal, reconciliation]) };
  });
  await waiting.ended;
  await superseded.promise;
  expect(await listRoundSounds(db)).toEqual([]);
  expect(await readdir(queue.folders.published)).toEqual(['.published-sounds']);
  expect(await readdir(queue.folders.orphans).catch(() => [])).toEqual([]);
});

test("a member's bad file is one log line without a stack trace; a failure of the service is a warning with one", async () => {
  const lines: { level: string; fields: object; message: string }[] = [];
  const note = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields, message });
  const noted = { info: note('info'), warn: note('warn'), error: note('error') };
  startWorker({ log: noted });
  // Starts like an mp3 and continues with garbage: ffmpeg refuses it.
  const rubbish = new Uint8Array(50_000).fill(0xff);
  for (const [bytes, reason] of [
    [new TextEncoder().encode('no audio at all'.repeat(100)), 'not-audio'],
    [SILENCE, 'silent'],
    [new Uint8Array([...new TextEncoder().encode('ID3'), 3, 0, 0, 0, 0, 0, 0, ...rubbish]), 'unreadable'],
  ] as const) {
    const { id } = await upload(bytes);
    expect((await settled(PLAYER)).latest?.failure).toBe(reason);
    const find = () => lines.find(({ message }) => message === 'an upload could not be processed');
    await waitFor(async () => find() !== undefined);
    const line = find();
    expect(line).toMatchObject({ level: 'info', fields: { steamId64: PLAYER, sound: id, reason } });
    expect(line?.fields).not.toHaveProperty('err');
    expect(lines.splice(0).filter(({ level }) => level !== 'info')).toEqual([]);
  }

  const { id } = await upload(TONE);
  await settled(PLAYER);
  await db
    .update(roundSounds)
    .set({ status: 'queued', attempts: 20, sha256: null })
    .where(eq(roundSounds.id, id));
  await waitFor(async () => lines.some(({ level }) => level === 'warn'));
  expect(lines.find(({ level }) => level === 'warn')?.fields).toHaveProperty('err');
});

test('saves the steps while it works: queued, measuring, rendering', async () => {
  const seen = new Set<string>([(await upload(TONE)).status]);
  const watching: Ffmpeg = {
    ...ffmpeg,
    async run(job, limits) {
      seen.add((await findRoundSounds(db, PLAYER)).latest?.status ?? '');
      await ffmpeg.run(job, limits);
    },
  };
  startWorker({ ffmpeg: watching });
  await settled(PLAYER);
  expect([...seen]).toEqual(['queued', 'measuring', 'rendering']);
});

test('deleting removes the file, the rows and waiting uploads, and is in the audit log', async () => {
  await upload(TONE);
  startWorker();
  await settled(PLAYER);
  await removeSound(db, queue.sounds, { steamId64: PLAYER, actor: 'operator' });
  expect(await readdir(queue.folders.published)).toEqual(['.published-sounds']);
  expect(await listRoundSounds(db)).toEqual([]);
  const actions = (await db.select().from(auditLog)).map(({ action }) => action);
  expect(actions).toEqual(['sound.uploaded', 'sound.removed']);
  await expect(removeSound(db, queue.sounds, { steamId64: PLAYER, actor: 'operator' })).rejects.toThrow(
    `${PLAYER} has no round-end sound`,
  );
});

test('refuses an empty upload and one that is too large, and stores nothing of them', async () => {
  await expect(upload(new Uint8Array())).rejects.toThrow('The file is empty');
  await expect(upload(new Uint8Array(3_000_000), { maxBytes: 2 * 1_048_576 })).rejects.toThrow(
    'at most 2 MB',
  );
  await waitFor(async () => (await readdir(queue.folders.inbox)).length === 0);
  expect(await listRoundSounds(db)).toEqual([]);
});

test('two workers share the queue, each upload rendered once', async () => {
  const players = [1, 2, 3, 4, 5, 6].map(aSteamId);
  for (const player of players) await upload(TONE, { player });
  let runs = 0;
  const counting: Ffmpeg = {
    ...ffmpeg,
    run: (job, limits) => {
      if (job.input.name === 'upload.bin') runs++;
      return ffmpeg.run(job, limits);
    },
  };
  startWorker({ ffmpeg: counting });
  startWorker({ ffmpeg: counting });
  await waitFor(async () => (await listReadySounds(db)).length === players.length);
  expect(runs).toBe(players.length);
});
