import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { users } from '../../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import { aSteamId, insertReadySound, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { NOW, startTestService } from '../../../support/service/service.ts';

const database = await createTestDatabase();
const { db } = database;
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
const service = await startTestService({ databaseUrl: database.url });
const ask = (query: string, init?: RequestInit) => service.get(`/players/roundsounds?${query}`, init);
type Body = {
  data: { steamid64: string; has_sound: boolean; url?: string }[];
  meta: Record<string, unknown>;
};
const bodyOf = (body: unknown) => body as Body;

const STORAGE = 'https://play.example.org/storage/roundsound';

describe('GET /players/roundsounds', () => {
  test('gives both renditions of each player, in the order asked, without a token', async () => {
    const { status, body, headers } = await ask(`steamids=${none},${both},${stereo}`);
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

  test('takes lists as the other routes do; requested counts different players', async () => {
    const list = `[U:1:39734273], ,STEAM_0:1:19867136,${none},`;
    const { body } = await ask(`steamids=${encodeURIComponent(list)}`);
    expect(bodyOf(body).data.map(({ steamid64 }) => steamid64)).toEqual([both, none]);
    expect(bodyOf(body).meta).toMatchObject({ requested: 2, found: 1 });
    const { status, body: refused, headers } = await ask(`steamids=${both},nobody`);
    expect([status, refused]).toMatchObject([
      400,
      { message: expect.stringMatching(/^steamids "nobody" is not a SteamID/) },
    ]);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('the ETag is of the data: it stays while the time goes on, and changes with the bytes', async () => {
    const query = `steamids=${both},${none}`;
    const first = await ask(query);
    const etag = first.headers.get('etag') ?? '';
    service.clock.now = new Date(NOW.getTime() + 3_600_000);
    const later = await ask(query);
    expect(bodyOf(later.body).meta.cached_at).toBe('2026-11-21T11:00:00+00:00');
    expect(later.headers.get('etag')).toBe(etag);
    const unchanged = await ask(query, { headers: { 'If-None-Match': etag } });
    expect([unchanged.status, unchanged.text]).toEqual([304, '']);
    expect((await ask(`steamids=${none},${both}`)).headers.get('etag')).not.toBe(etag);

    await db
      .update(roundSounds)
      .set({ sha256: '12'.repeat(32) })
      .where(eq(roundSounds.steamId64, both));
    const changed = await ask(query, { headers: { 'If-None-Match': etag } });
    expect(changed.status).toBe(200);
    expect(bodyOf(changed.body).data[0]?.url).toBe(`${STORAGE}/${both}.mp3?v=${'12'.repeat(8)}`);
    service.clock.now = NOW;
  });

  test('counts once against the public limit, however many players it names', async () => {
    const limited = await startTestService({ databaseUrl: database.url, env: { RATE_LIMIT_PUBLIC: '2' } });
    const path = `/api/v1/players/roundsounds?steamids=${both},${stereo},${none}`;
    expect((await limited.ask(path)).headers.get('x-ratelimit-remaining')).toBe('1');
    expect((await limited.ask('/index.php/api/v1/players/roundsounds?steamids=x')).status).toBe(400);
    expect((await limited.ask('/index.php/api/v1/players/roundsounds?steamids=x')).status).toBe(429);
  });

  test('/players/roundsounds shows no sound of players whom SOUND_FOR leaves out, until they may have one again', async () => {
    const exclusive = await startTestService({ databaseUrl: database.url, env: { SOUND_FOR: 'svip' } });
    const foundNow = async () => bodyOf((await exclusive.get(`/players/roundsounds?steamids=${both}`)).body);
    expect((await foundNow()).data).toEqual([{ steamid64: both, has_sound: false }]);
    await insertUser(db, 1, { hasSvip: true });
    expect(await foundNow()).toMatchObject({ data: [{ has_sound: true }], meta: { requested: 1, found: 1 } });
    await db.update(users).set({ hasSvip: false });
    expect((await foundNow()).meta).toMatchObject({ found: 0 });
  });
});
