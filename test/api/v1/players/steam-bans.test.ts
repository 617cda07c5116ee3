import { beforeEach, describe, expect, mock, spyOn, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { steamBans, steamCalls } from '../../../../src/db/schema/accounts.ts';
import { aSteamId } from '../../../support/database/builders.ts';
import { startSteamApi } from '../../../support/providers/steam-api.ts';
import { bearer, NOW, openTestApi, startTestService } from '../../../support/service/service.ts';

const steam = startSteamApi();
const { db, url, service, token, get } = await openTestApi({
  STEAM_API_URL: steam.url,
  STEAM_API_KEY: steam.key,
});
const ask = (player: string) => service.ask(`/api/v1/players/${player}/steam-bans`, bearer(token));
const UNKNOWN = { success: true, data: { known: false } };
const CLEAN = {
  known: true,
  vac_bans: 0,
  game_bans: 0,
  days_since_last_ban: 0,
  community_banned: false,
  checked_at: '2026-11-21T10:00:00+00:00',
};
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

beforeEach(async () => {
  await db.delete(steamBans);
  await db.delete(steamCalls);
  Object.assign(steam, { answer: 'players', bans: {}, banCalls: [], delayMs: 0, requests: 0 });
  service.clock.now = NOW;
  // The pause after an earlier failure is over.
  service.clock.monotonicMs += 2 * MINUTE_MS;
});

describe('GET /players/{steamid64}/steam-bans', () => {
  test("gives Steam's own bans, by every notation, under both bases", async () => {
    steam.bans[aSteamId(1)] = {
      CommunityBanned: true,
      VACBanned: true,
      NumberOfVACBans: 2,
      NumberOfGameBans: 1,
      DaysSinceLastBan: 34,
    };
    for (const player of [aSteamId(1), 'STEAM_0:1:19867136', '%5BU%3A1%3A39734273%5D']) {
      const { status, body, headers } = await get(`/players/${player}/steam-bans`);
      const data = { ...CLEAN, vac_bans: 2, game_bans: 1, days_since_last_ban: 34, community_banned: true };
      expect([status, body]).toStrictEqual([200, { success: true, data }]);
      expect(headers.get('cache-control')).toBe('private, no-cache');
    }
    expect(steam.banCalls).toEqual([[aSteamId(1)]]);
  });

  test('asks again about bans that were stored when the clock was ahead', async () => {
    steam.bans[aSteamId(2)] = { VACBanned: true, NumberOfVACBans: 1, DaysSinceLastBan: 3 };
    const checkedAt = new Date(Date.now() + 30 * 24 * HOUR_MS);
    const known = { vacBans: 0, gameBans: 0, daysSinceLastBan: 0, isCommunityBanned: false, checkedAt };
    await db.insert(steamBans).values({ steamId64: aSteamId(2), ...known });
    expect((await ask(aSteamId(2))).body).toMatchObject({ data: { vac_bans: 1 } });
  });

  test('steam-bans is 400 for a path that names nobody, after the token', async () => {
    for (const player of ['nobody', '0', '1', '%00', '76561197960265728', '%zz']) {
      const { status, body } = await get(`/players/${player}/steam-bans`);
      const message = expect.stringMatching(/^steamid64 ".*" is not a SteamID/);
      expect([player, status, body]).toEqual([player, 400, { success: false, message }]);
    }
    expect((await service.get('/players/nobody/steam-bans')).status).toBe(401);
    expect(steam.banCalls).toEqual([]);
  });

  test('keeps what Steam says for a day', async () => {
    await ask(aSteamId(1));
    steam.bans[aSteamId(1)] = { NumberOfGameBans: 1 };
    service.clock.now = new Date(NOW.getTime() + 24 * HOUR_MS - 1000);
    expect((await ask(aSteamId(1))).body).toEqual({ success: true, data: CLEAN });
    service.clock.now = new Date(NOW.getTime() + 24 * HOUR_MS);
    expect((await ask(aSteamId(1))).body).toMatchObject({ data: { game_bans: 1 } });
    expect(steam.banCalls).toHaveLength(2);
  });

  test('asks about 100 players at a time, and about each of them once', async () => {
    // Bun sends 256 requests at a time, and the service's own are among them.
    const players = Array.from({ length: 220 }, (_, index) => aSteamId(1 + index));
    const responses = await Promise.all([...players, ...players.slice(0, 20)].map(ask));
    for (const { body } of responses) expect(body).toStrictEqual({ success: true, data: CLEAN });
    expect(steam.banCalls.flat().toSorted()).toEqual(players.toSorted());
    expect(Math.max(...steam.banCalls.map(({ length }) => length))).toBeLessThanOrEqual(100);
    expect(steam.banCalls.length).toBeLessThan(players.length / 2);
    const counted = await db.select({ calls: steamCalls.calls }).from(steamCalls);
    expect(counted).toEqual([{ calls: steam.banCalls.length }]);
  });

  test('requests that arrive while Steam is being asked wait for the same call', async () => {
    steam.delayMs = 500;
    const first = ask(aSteamId(1));
    while (steam.banCalls.length === 0) await Bun.sleep(5);
    expect((await ask(aSteamId(1))).body).toEqual((await first).body);
    expect(steam.banCalls).toEqual([[aSteamId(1)]]);
  });

  test('steam-bans knows nothing without STEAM_API_KEY', async () => {
    const keyless = await startTestService({ databaseUrl: url, env: { STEAM_API_URL: steam.url } });
    await ask(aSteamId(1));
    expect((await keyless.get(`/players/${aSteamId(1)}/steam-bans`, bearer(token))).body).toEqual(UNKNOWN);
  });
});

describe('while Steam is away', () => {
  test('nothing is known, and it is asked again after a minute', async () => {
    for (const answer of ['fails', 'html', 'nonsense', 'redirects', 'huge'] as const) {
      service.clock.monotonicMs += 2 * MINUTE_MS;
      steam.answer = answer;
      expect([answer, (await ask(aSteamId(1))).body]).toEqual([answer, UNKNOWN]);
      steam.answer = 'players';
      const { length } = steam.banCalls;
      service.clock.monotonicMs += MINUTE_MS - 1;
      for (const player of [aSteamId(1), aSteamId(2)]) expect((await ask(player)).body).toEqual(UNKNOWN);
      expect(steam.banCalls).toHaveLength(length);
      service.clock.monotonicMs += 1;
      expect((await ask(aSteamId(1))).body).toEqual({ success: true, data: CLEAN });
      await db.delete(steamBans);
    }
  });

  test('bans that were stored before are given', async () => {
    await ask(aSteamId(1));
    steam.answer = 'fails';
    await ask(aSteamId(2));
    expect((await ask(aSteamId(1))).body).toEqual({ success: true, data: CLEAN });
  });

  test('a caller waits ten seconds at most, and other routes do not wait with them', async () => {
    steam.answer = 'never';
    const limitsMs: number[] = [];
    const timeout = AbortSignal.timeout;
    spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      limitsMs.push(ms);
      return timeout(ms / 20);
    });
    const waiting = Array.from({ length: 20 }, (_, index) => ask(aSteamId(1 + index)));
    while (steam.banCalls.length === 0) await Bun.sleep(5);
    expect((await service.ask('/api/v1/bans', bearer(token))).status).toBe(200);
    // Long before the ten seconds are over: none of these has been answered.
    expect(await Promise.race([Promise.any(waiting), 'waiting'])).toBe('waiting');
    for (const { status, body } of await Promise.all(waiting)) expect([status, body]).toEqual([200, UNKNOWN]);
    mock.restore();
    expect(Math.max(...limitsMs)).toBeLessThan(10_000);
    expect(steam.banCalls).toHaveLength(1);
  });
});

test('implausible responses of Steam count as unknown, only for their players, and are requested again after a minute', async () => {
  const lies: (Record<string, unknown> | undefined)[] = [
    { SteamId: Number(aSteamId(0)) },
    { SteamId: aSteamId(77) },
    undefined,
    { NumberOfVACBans: '0' },
    { NumberOfVACBans: -1 },
    { NumberOfGameBans: 0.5 },
    { NumberOfGameBans: null },
    { DaysSinceLastBan: 1e300 },
    { CommunityBanned: 'false' },
    { CommunityBanned: 0 },
    { VACBanned: true, NumberOfVACBans: 0 },
  ];
  steam.bans = Object.fromEntries(lies.map((lie, number) => [aSteamId(number), lie]));
  const askDoubted = () => Promise.all(lies.map(async (_, number) => (await ask(aSteamId(number))).body));
  const [doubted, believed] = await Promise.all([askDoubted(), ask(aSteamId(50))]);
  expect(doubted).toEqual(lies.map(() => UNKNOWN));
  expect(believed.body).toEqual({ success: true, data: CLEAN });
  const { length } = steam.banCalls;
  steam.bans = {};
  expect(await askDoubted()).toEqual(lies.map(() => UNKNOWN));
  expect((await ask(aSteamId(51))).body).toEqual({ success: true, data: CLEAN });
  expect(steam.banCalls).toHaveLength(length + 1);
  service.clock.monotonicMs += MINUTE_MS + 1;
  expect(await askDoubted()).toEqual(lies.map(() => ({ success: true, data: CLEAN })));
});

test('steam-bans knows nothing beyond the day’s calls of all processes, until the next day', async () => {
  await db.insert(steamCalls).values({ calls: 99_999 });
  expect((await ask(aSteamId(1))).body).toEqual({ success: true, data: CLEAN });
  expect((await ask(aSteamId(2))).body).toEqual(UNKNOWN);
  expect(steam.banCalls).toHaveLength(1);
  await db.execute(sql`update steam_calls set day = day - 1`);
  service.clock.monotonicMs += MINUTE_MS;
  expect((await ask(aSteamId(2))).body).toEqual({ success: true, data: CLEAN });
});
