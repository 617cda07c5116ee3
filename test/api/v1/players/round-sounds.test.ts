import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { users } from '../../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import { aSteamId, insertReadySound, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const { db, url: databaseUrl } = await createTestDatabase();
const [both, stereo, none] = [aSteamId(1), aSteamId(2), aSteamId(3)];
const readyAt = new Date('2026-11-20T08:00:00.900Z');
await insertReadySound(db, both, 'mój "utwór" 🎧.wav', {
  readyAt,
  sha256: 'ab'.repeat(32),
  voiceSha256: 'cd'.repeat(32),
  voiceSizeBytes: 50_617,
  loudnessAfterLufs: -18.04,
});
await insertReadySound(db, stereo, 'old.mp3', { readyAt, sha256: 'ef'.repeat(32) });
for (const status of ['queued', 'measuring', 'rendering', 'failed'] as const) {
  await db
    .insert(roundSounds)
    .values({ steamId64: none, title: 'no.mp3', status, uploadKey: `key-${status}` });
}
const service = await startTestService({ databaseUrl });
const getSound = (player: string) => service.get(`/players/${player}/roundsound`);
const getSounds = (query: string, init?: RequestInit) => service.get(`/players/roundsounds?${query}`, init);
type Body = {
  data: { steamid64: string; has_sound: boolean; url?: string }[];
  meta: Record<string, unknown>;
};
const bodyOf = (body: unknown) => body as Body;

const STORAGE = 'https://play.example.org/storage/roundsound';

const NONE = { success: false, url: null, title: null };

describe('GET /players/{steamid64}/roundsound', () => {
  test('gives the address and the title of a ready sound', async () => {
    const { status, body, headers } = await getSound(both);
    expect(status).toBe(200);
    expect(body).toStrictEqual({ success: true, url: `${STORAGE}/${both}.mp3`, title: 'mój "utwór" 🎧.wav' });
    expect(headers.get('cache-control')).toBe('public, max-age=2, stale-while-revalidate=1');
    expect(headers.get('etag')).toStartWith('W/"');
  });

  test('takes every notation of a SteamID, and names the file by its SteamID64', async () => {
    for (const id of ['STEAM_0:1:19867136', '[U:1:39734273]', '%5BU%3A1%3A39734273%5D']) {
      const { body } = await getSound(id);
      expect(body).toMatchObject({ success: true, url: `${STORAGE}/${both}.mp3` });
    }
  });

  test.each([
    ['a player without a ready one', [none, aSteamId(404)]],
    [
      'anything that is not a player',
      '0 x 1e3 0x10 %00 %ED%A0%80 %E0%A4%A % 100000000000000000000 __proto__ %2e%2e%2f'
        .split(' ')
        .concat(`${aSteamId(1)}%00`, 'ł'.repeat(5000)),
    ],
  ])('the sound of %s is 200 with success false', async (_, players) => {
    for (const player of players) {
      const { status, body } = await getSound(player);
      expect([player, status, body]).toStrictEqual([player, 200, NONE]);
    }
  });

  test('shows a sound that became ready, and forgets one that was deleted', async () => {
    const fresh = aSteamId(4);
    const path = `/api/v1/players/${fresh}/roundsound`;
    expect((await getSound(fresh)).body).toEqual(NONE);
    await insertReadySound(db, fresh, 'new.mp3');
    await waitFor(async () => {
      const { body } = await service.ask(path);
      return (body as { title: string | null }).title === 'new.mp3';
    });
    await db.delete(roundSounds).where(eq(roundSounds.steamId64, fresh));
    await waitFor(async () => (await service.ask(path)).text === JSON.stringify(NONE));
  });
});

describe('GET /players/roundsounds', () => {
  test('gives both renditions of each player, in the order asked, without a token', async () => {
    const { status, body, headers } = await getSounds(`steamids=${none},${both},${stereo}`);
    expect([status, body]).toStrictEqual([
      200,
      {
        success: true,
        data: [
          { steamid64: none, has_sound: false },
          {
            steamid64: both,
            has_sound: true,
            title: 'mój "utwór" 🎧.wav',
            url: `${STORAGE}/${both}.mp3?v=${'ab'.repeat(8)}`,
            voice_url: `${STORAGE}/${both}.voice.mp3?v=${'cd'.repeat(8)}`,
            duration_ms: 4200,
            size_bytes: 101_234,
            voice_size_bytes: 50_617,
            sha256: 'ab'.repeat(32),
            voice_sha256: 'cd'.repeat(32),
            loudness_lufs: -18,
            updated_at: '2026-11-20T08:00:00+00:00',
          },
          {
            steamid64: stereo,
            has_sound: true,
            title: 'old.mp3',
            url: `${STORAGE}/${stereo}.mp3?v=${'ef'.repeat(8)}`,
            duration_ms: 4200,
            size_bytes: 101_234,
            sha256: 'ef'.repeat(32),
            loudness_lufs: -18,
            updated_at: '2026-11-20T08:00:00+00:00',
          },
        ],
        meta: { requested: 3, found: 2, cached_at: '2026-11-21T10:00:00+00:00' },
      },
    ]);
    expect(headers.get('cache-control')).toBe('public, max-age=2, stale-while-revalidate=1');
  });

  test('/players/roundsounds counts different players, and caches no error', async () => {
    const { body } = await getSounds(`steamids=[U:1:39734273],${both},${none}`);
    expect(bodyOf(body).meta).toMatchObject({ requested: 2, found: 1 });
    const { status, headers } = await getSounds(`steamids=${both},nobody`);
    expect([status, headers.get('cache-control')]).toEqual([400, 'no-store']);
  });

  test('/players/roundsounds shows no sound of players whom SOUND_FOR leaves out, until they may have one again', async () => {
    const exclusive = await startTestService({ databaseUrl, env: { SOUND_FOR: 'svip' } });
    const foundNow = async () => bodyOf((await exclusive.get(`/players/roundsounds?steamids=${both}`)).body);
    expect((await foundNow()).data).toEqual([{ steamid64: both, has_sound: false }]);
    await insertUser(db, 1, { hasSvip: true });
    expect(await foundNow()).toMatchObject({ data: [{ has_sound: true }], meta: { requested: 1, found: 1 } });
    await db.update(users).set({ hasSvip: false });
    expect((await foundNow()).meta).toMatchObject({ found: 0 });
  });
});
