import { beforeEach, expect, test } from 'bun:test';
import { inTransaction } from '../../../../src/db/client.ts';
import { auditLog } from '../../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import {
  claimQueuedSound,
  lockClaim,
  saveClaimedSound,
  saveSoundReady,
  saveUploadedSound,
} from '../../../../src/queries/round-sounds/round-sound-queue.ts';
import {
  findRoundSounds,
  lockPlayer,
  saveSoundLoss,
} from '../../../../src/queries/round-sounds/round-sounds.ts';
import { aSteamId } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db } = await createTestDatabase();
const PLAYER = aSteamId(1);
const RENDERING = {
  sha256: 'abc',
  sizeBytes: 24_000,
  voiceSha256: 'def',
  voiceSizeBytes: 12_000,
  loudnessBeforeLufs: -20,
  loudnessAfterLufs: -18,
  durationMs: 1000,
  waveform: [1, 2, 3],
};

const claim = (leaseMs = 60_000) => claimQueuedSound(db, { leaseMs });

beforeEach(async () => {
  await db.delete(roundSounds);
  await db.delete(auditLog);
});

test('no worker claims a sound while another holds it, or one that is postponed', async () => {
  await upload('first.mp3');
  const held = await claim();
  expect(held).toMatchObject({ title: 'first.mp3', status: 'measuring', attempts: 1 });
  expect(await claim()).toBeUndefined();
  if (held) await saveClaimedSound(db, held, { status: 'queued', failures: 1, claimMs: 60_000 });
  expect(await claim()).toBeUndefined();
  expect((await findRoundSounds(db, PLAYER)).latest?.status).toBe('queued');
});

test('a claim of a time when the clock was ahead does not last', async () => {
  await upload('first.mp3');
  await db.update(roundSounds).set({ claimedUntil: new Date(Date.now() + 30 * 86_400_000) });
  expect((await claim())?.title).toBe('first.mp3');
  expect(await claim()).toBeUndefined();
});

test('claims the oldest first', async () => {
  await upload('a.mp3', 1);
  await upload('b.mp3', 2);
  expect((await claim())?.title).toBe('a.mp3');
  expect((await claim())?.title).toBe('b.mp3');
});

test('a worker whose lease ran out can change nothing any more', async () => {
  await upload('first.mp3');
  const late = await claim(0);
  const owner = await claim();
  if (!late || !owner) throw new Error('nothing was taken');
  expect(owner.attempts).toBe(2);
  expect(await saveClaimedSound(db, late, { status: 'rendering', claimMs: 1 })).toBe(false);
  expect(await inTransaction(db, (tx) => lockClaim(tx, late))).toBe(false);
  const failure = { status: 'failed', failure: 'silent', claimMs: null } as const;
  expect(await saveClaimedSound(db, late, failure)).toBe(false);
  expect((await findRoundSounds(db, PLAYER)).latest).toMatchObject({ status: 'measuring', attempts: 2 });

  expect(await inTransaction(db, (tx) => lockClaim(tx, owner))).toBe(true);
  await saveClaimedSound(db, owner, RENDERING);
  await inTransaction(db, (tx) => saveSoundReady(tx, owner));
  expect((await findRoundSounds(db, PLAYER)).ready).toMatchObject({ ...RENDERING, status: 'ready' });
});

test('a sound that replaces one whose file was lost meanwhile is the only one', async () => {
  await publish('old.mp3');
  const { ready: old } = await findRoundSounds(db, PLAYER);
  await upload('new.mp3');
  const sound = await claim();
  if (!old || !sound) throw new Error('nothing was published or taken');
  await saveSoundLoss(db, old.id);
  await inTransaction(db, (tx) => saveSoundReady(tx, sound));
  expect(await findRoundSounds(db, PLAYER)).toEqual({
    ready: expect.objectContaining({ title: 'new.mp3' }),
    latest: undefined,
  });
});

test('uploads of one player at the same time leave one of them', async () => {
  await Promise.all(Array.from({ length: 8 }, (_, index) => upload(`${index}.mp3`)));
  expect(await db.select().from(roundSounds)).toHaveLength(1);
});

function upload(title: string, player = 1) {
  const steamId64 = aSteamId(player);
  return inTransaction(db, async (tx) => {
    await lockPlayer(tx, steamId64);
    return saveUploadedSound(tx, { steamId64, title, uploadKey: Bun.randomUUIDv7(), actor: 'operator' });
  });
}

async function publish(title: string): Promise<void> {
  await upload(title);
  const sound = await claim();
  if (sound) await inTransaction(db, (tx) => saveSoundReady(tx, sound));
}
