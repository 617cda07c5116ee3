import { expect } from 'bun:test';
import { aSteamId, insertPenalties } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { aToken, bearer, NOW, startTestService } from '../service/service.ts';

type Body = { data: Record<string, unknown>[]; meta: Record<string, unknown> };

/** The service with a penalty of each kind, and how the API shows each of them. */
export async function openPenaltyLists() {
  const database = await createTestDatabase();
  const { db } = database;

  const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000);
  const [player, other, third] = [aSteamId(1), aSteamId(2), aSteamId(3)];
  const [admin, otherAdmin] = [aSteamId(900), aSteamId(901)];

  // Oldest first: the lists give them the other way round.
  const rows = await insertPenalties(db, [
    {
      type: 'ban',
      createdAt: minutes(-9000),
      durationMinutes: 60,
      endsAt: minutes(-8940),
      status: 'EXPIRED',
    },
    { type: 'ban', createdAt: minutes(-8000), status: 'UNBANNED', playerSteamId: other, serverId: 2 },
    // The status stored lags behind the clock.
    { type: 'ban', createdAt: minutes(-100), durationMinutes: 100, endsAt: minutes(0), playerSteamId: other },
    {
      type: 'mute',
      createdAt: minutes(-50),
      durationMinutes: 60,
      endsAt: minutes(10),
      adminSteamId: otherAdmin,
    },
    { type: 'gag', createdAt: minutes(-50), durationMinutes: 0, serverId: 2_147_483_647 },
    { type: 'silence', createdAt: minutes(-40), playerSteamId: third, adminSteamId: otherAdmin },
    { type: 'warn', createdAt: minutes(-30), status: 'EXPIRED', serverId: 0 },
    {
      type: 'ban',
      createdAt: new Date('2026-11-21T09:59:59.999Z'),
      playerSteamId: '0',
      playerName: '',
      adminName: 'Console',
      adminSteamId: '0',
      serverId: 0,
      reason: '<i>"x"</i> \\ 🎧 \u202Ertl \u200B @everyone',
    } as object,
  ]);
  const [expired, unbanned, lagging, mute, gag, silence, warn, console_] = rows.map(({ id }) => id);

  const service = await startTestService({ databaseUrl: database.url });
  const { token } = await aToken(db);
  const get = (path: string) => service.get(path, bearer(token));

  async function list(path: string): Promise<Body & { ids: unknown[] }> {
    const { status, body } = await get(path);
    expect([path, status]).toEqual([path, 200]);
    const { data, meta } = body as Body;
    return { data, meta, ids: data.map(({ id }) => id) };
  }

  const BASE_RECORD = {
    player_name: 'Rzeźnik',
    player_steamid: player,
    admin_name: 'Ala',
    admin_steamid: admin,
    reason: 'Wallhack',
    duration: 0,
    status: 'ACTIVE',
    server_id: 1,
    ends: null,
  };
  const CONSOLE_BAN = {
    ...BASE_RECORD,
    id: console_,
    player_name: '',
    player_steamid: '0',
    admin_name: 'Console',
    admin_steamid: '0',
    server_id: 0,
    reason: '<i>"x"</i> \\ 🎧 \u202Ertl \u200B @everyone',
    created: '2026-11-21T09:59:59+00:00',
  };
  const LAGGING_BAN = {
    ...BASE_RECORD,
    id: lagging,
    player_steamid: other,
    duration: 100,
    status: 'EXPIRED',
    created: '2026-11-21T08:20:00+00:00',
    ends: '2026-11-21T10:00:00+00:00',
  };
  const UNBANNED_BAN = {
    ...BASE_RECORD,
    id: unbanned,
    player_steamid: other,
    status: 'UNBANNED',
    server_id: 2,
    created: '2026-11-15T20:40:00+00:00',
  };
  const EXPIRED_BAN = {
    ...BASE_RECORD,
    id: expired,
    duration: 60,
    status: 'EXPIRED',
    created: '2026-11-15T04:00:00+00:00',
    ends: '2026-11-15T05:00:00+00:00',
  };
  const MUTE = {
    ...BASE_RECORD,
    id: mute,
    admin_steamid: otherAdmin,
    duration: 60,
    created: '2026-11-21T09:10:00+00:00',
    ends: '2026-11-21T10:10:00+00:00',
  };
  const GAG = { ...BASE_RECORD, id: gag, server_id: 2_147_483_647, created: '2026-11-21T09:10:00+00:00' };
  const SILENCE = {
    ...BASE_RECORD,
    id: silence,
    player_steamid: third,
    admin_steamid: otherAdmin,
    created: '2026-11-21T09:20:00+00:00',
  };
  const WARN = {
    ...BASE_RECORD,
    id: warn,
    status: 'EXPIRED',
    server_id: 0,
    created: '2026-11-21T09:30:00+00:00',
  };
  const CACHED_AT = '2026-11-21T10:00:00+00:00';
  const NEWEST_FIRST = [console_, warn, silence, gag, mute, lagging, unbanned, expired];
  return {
    database,
    db,
    service,
    token,
    get,
    list,
    player,
    other,
    third,
    admin,
    otherAdmin,
    minutes,
    expired,
    unbanned,
    lagging,
    mute,
    gag,
    silence,
    warn,
    console_,
    BASE_RECORD,
    CONSOLE_BAN,
    LAGGING_BAN,
    UNBANNED_BAN,
    EXPIRED_BAN,
    MUTE,
    GAG,
    SILENCE,
    WARN,
    CACHED_AT,
    NEWEST_FIRST,
  };
}
