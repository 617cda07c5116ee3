import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import { aSteamId, insertReadySound } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const database = await createTestDatabase();
const { db } = database;
await insertReadySound(db, aSteamId(1), 'mój "utwór" 🎧.wav');
for (const status of ['queued', 'measuring', 'rendering', 'failed'] as const) {
  await db
    .insert(roundSounds)
    .values({ steamId64: aSteamId(2), title: 'not yet.mp3', status, uploadKey: `key-${status}` });
}
const service = await startTestService({ databaseUrl: database.url });
const NONE = { success: false, url: null, title: null };

describe('GET /players/{steamid64}/roundsound', () => {
  test('gives the address and the title of a ready sound', async () => {
    const { status, body, headers } = await service.get(`/players/${aSteamId(1)}/roundsound`);
    expect(status).toBe(200);
    expect(body).toStrictEqual({
      success: true,
      url: `https://play.example.org/storage/roundsound/${aSteamId(1)}.mp3`,
      title: 'mój "utwór" 🎧.wav',
    });
    expect(headers.get('cache-control')).toBe('public, max-age=2, stale-while-revalidate=1');
    expect(headers.get('etag')).toStartWith('W/"');
  });

  test('takes every notation of a SteamID, and names the file by its SteamID64', async () => {
    for (const id of [
      'STEAM_0:1:19867136',
      'STEAM_1:1:19867136',
      '[U:1:39734273]',
      '%5BU%3A1%3A39734273%5D',
    ]) {
      const { body } = await service.get(`/players/${id}/roundsound`);
      expect(body).toMatchObject({
        success: true,
        url: `https://play.example.org/storage/roundsound/${aSteamId(1)}.mp3`,
      });
    }
  });

  test('the sound of a player without a ready one is 200 with success false', async () => {
    for (const player of [aSteamId(2), aSteamId(404)]) {
      const { status, body } = await service.get(`/players/${player}/roundsound`);
      expect([status, body]).toStrictEqual([200, NONE]);
    }
  });

  test('the sound of anything that is not a player is 200 with success false', async () => {
    const others = '0 x 1e3 0x10 %00 %ED%A0%80 %E0%A4%A % 100000000000000000000 __proto__ %2e%2e%2f';
    for (const player of [...others.split(' '), `${aSteamId(1)}%00`, 'ł'.repeat(5000)]) {
      const { status, body } = await service.get(`/players/${player}/roundsound`);
      expect([player, status, body]).toStrictEqual([player, 200, NONE]);
    }
  });

  test('shows a sound that became ready, and forgets one that was deleted', async () => {
    const path = `/players/${aSteamId(3)}/roundsound`;
    expect((await service.get(path)).body).toEqual(NONE);
    await insertReadySound(db, aSteamId(3), 'new.mp3');
    await waitFor(async () => {
      const { body } = await service.ask(`/api/v1${path}`);
      return (body as { title: string | null }).title === 'new.mp3';
    });
    await db.delete(roundSounds).where(eq(roundSounds.steamId64, aSteamId(3)));
    await waitFor(async () => (await service.ask(`/api/v1${path}`)).text === JSON.stringify(NONE));
  });
});
