import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { users } from '../../../../src/db/schema/accounts.ts';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { aSteamId, insertPenalties, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, NOW, startTestService } from '../../../support/service/service.ts';

const database = await createTestDatabase();
const { db } = database;
const { token } = await aToken(db, 900);
const createdAt = new Date('2026-01-02T03:04:05.678Z');
/** Beyond 2^53, where numbers lose digits. */
const DISCORD_ID = '1152921504606846977';
await insertUser(db, 1, {
  nickname: 'Rzeźnik 🎧',
  discordId: DISCORD_ID,
  discordUsername: 'rzeznik',
  discordAvatar: '8342729096ea3675442027381ff50dfe',
  isAdmin: true,
  hasSvip: true,
  createdAt,
});
await insertUser(db, 2, { nickname: 'Ala', isOwner: true, isServiceplus: true, createdAt });
const service = await startTestService({ databaseUrl: database.url });
const lookUp = (query: string) => service.get(`/users/lookup${query}`, bearer(token));

const RZEZNIK = {
  nickname: 'Rzeźnik 🎧',
  steamid64: aSteamId(1),
  account_id: 39_734_273,
  discord_id: DISCORD_ID,
  discord_username: 'rzeznik',
  discord_avatar: '8342729096ea3675442027381ff50dfe',
  is_admin: true,
  is_owner: false,
  has_svip: true,
  is_serviceplus: false,
  is_banned: false,
  created_at: '2026-01-02T03:04:05Z',
};
const ALA = {
  nickname: 'Ala',
  steamid64: aSteamId(2),
  account_id: 39_734_274,
  discord_id: '',
  discord_username: '',
  discord_avatar: '',
  is_admin: false,
  is_owner: true,
  has_svip: false,
  is_serviceplus: true,
  is_banned: false,
  created_at: '2026-01-02T03:04:05Z',
};

describe('GET /users/lookup', () => {
  test('finds a user by Discord id, with exactly the fields of 2.7', async () => {
    const { status, body } = await lookUp(`?discord_id=${DISCORD_ID}`);
    expect([status, body]).toStrictEqual([200, { success: true, user: RZEZNIK }]);
  });

  test('finds a user by SteamID in every notation; unlinked Discord fields are empty', async () => {
    for (const id of [
      aSteamId(2),
      'STEAM_0:0:19867137',
      'STEAM_1:0:19867137',
      '[U:1:39734274]',
      '%5BU:1:39734274%5D',
    ]) {
      const { status, body } = await lookUp(`?steamid64=${id}`);
      expect([id, status, body]).toStrictEqual([id, 200, { success: true, user: ALA }]);
    }
  });

  test('discord_id takes priority over steamid64, which is not even read then', async () => {
    for (const steamId of [aSteamId(2), 'nonsense']) {
      const { body } = await lookUp(`?steamid64=${steamId}&discord_id=${DISCORD_ID}`);
      expect(body).toStrictEqual({ success: true, user: RZEZNIK });
    }
    expect((await lookUp(`?discord_id=404&steamid64=${aSteamId(2)}`)).status).toBe(404);
    expect((await lookUp(`?discord_id=&steamid64=${aSteamId(2)}`)).body).toMatchObject({ user: ALA });
  });

  test('/users/lookup is 400 when neither id is given', async () => {
    for (const query of ['', '?', '?discord_id=', '?discord_id=&steamid64=', '?steamid=1', '?DISCORD_ID=1']) {
      const { status, body } = await lookUp(query);
      expect([query, status, body]).toEqual([
        query,
        400,
        { success: false, message: 'Give discord_id or steamid64' },
      ]);
    }
  });

  test('/users/lookup is 404 when nobody matches, with ids beyond 2^53 and 2^63 too', async () => {
    for (const query of [
      `discord_id=${BigInt(DISCORD_ID) - 1n}`,
      'discord_id=9223372036854775808',
      'discord_id=99999999999999999999',
      'discord_id=0',
      `discord_id=0${DISCORD_ID}`,
      `steamid64=${aSteamId(404)}`,
    ]) {
      const { status, body } = await lookUp(`?${query}`);
      expect([query, status, body]).toEqual([query, 404, { success: false, message: 'User not found' }]);
    }
  });

  test.each([
    ...['x', '-1', '1e3', '%00', `${DISCORD_ID}%00`, '%201', '100000000000000000000', '١'].map(
      (id) => [`discord_id=${id}`, /^discord_id ".*" isn't valid: use 1 to 20 digits$/s] as const,
    ),
    ...['x', '0', '%00', '%ED%A0%80', `${aSteamId(2)}%20`].map(
      (id) => [`steamid64=${id}`, /^steamid64 ".*" is not a SteamID/s] as const,
    ),
  ])('%s is 400 that says why', async (query, message) => {
    const { status, body } = await lookUp(`?${query}`);
    expect([status, body]).toEqual([400, { success: false, message: expect.stringMatching(message) }]);
  });

  test('is_banned is the truth now: an active ban, and no other penalty', async () => {
    const isBanned = async () =>
      ((await lookUp(`?steamid64=${aSteamId(2)}`)).body as { user: { is_banned: boolean } }).user.is_banned;
    const ends = new Date(NOW.getTime() + 60_000);
    await insertPenalties(db, [
      { type: 'mute', playerSteamId: aSteamId(2) },
      { type: 'ban', status: 'UNBANNED', playerSteamId: aSteamId(2) },
      { type: 'ban', status: 'EXPIRED', playerSteamId: aSteamId(2) },
      { type: 'ban', playerSteamId: aSteamId(3) },
    ]);
    expect(await isBanned()).toBe(false);
    await insertPenalties(db, [
      { type: 'ban', playerSteamId: aSteamId(2), durationMinutes: 60, endsAt: ends },
    ]);
    expect(await isBanned()).toBe(true);
    service.clock.now = ends;
    expect(await isBanned()).toBe(false);
    service.clock.now = NOW;
    await insertPenalties(db, [{ type: 'ban', playerSteamId: aSteamId(2) }]);
    expect(await isBanned()).toBe(true);
    await db.delete(penalties);
  });

  test('shows a change at once', async () => {
    await db.update(users).set({ nickname: 'Alicja' }).where(eq(users.nickname, 'Ala'));
    expect((await lookUp(`?steamid64=${aSteamId(2)}`)).body).toMatchObject({ user: { nickname: 'Alicja' } });
  });
});
