import { expect, test } from 'bun:test';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, startTestService } from '../../../support/service/service.ts';

const database = await createTestDatabase();
const { db } = database;
const { token } = await aToken(db, 900);
await insertPenalties(db, [{}, { type: 'mute' }, { type: 'warn' }]);
const service = await startTestService({ databaseUrl: database.url });
const ask = (path: string) => service.get(path, bearer(token));
const LISTS = ['/penalties', '/bans', '/mutes', '/warns'];
/** Refused exports do not count among an owner's six an hour. */
const EXPORT = '/penalties/export';

async function expectRefused(path: string, [key, meant]: readonly [string, string]): Promise<void> {
  const { status, body } = await ask(`${path}?${key}=1`);
  expect([path, key, status, body]).toEqual([
    path,
    key,
    400,
    {
      success: false,
      message: `unknown parameter "${decodeURIComponent(key)}": did you mean ${meant}?`,
    },
  ]);
}

test('every list refuses a near miss of the name of one of its filters, and names the filter', async () => {
  for (const path of [...LISTS, EXPORT]) {
    for (const miss of [
      ['steam_id', 'steamid'],
      ['player_steamid', 'steamid'],
      ['playerSteamId', 'steamid'],
      ['steamid64', 'steamid'],
      ['steamids', 'steamid'],
      ['staemid', 'steamid'],
      ['SteamID', 'steamid'],
      ['player', 'steamid'],
      ['serverid', 'server_id'],
      ['server-id', 'server_id'],
      ['serverId', 'server_id'],
      ['server', 'server_id'],
      ['sevrer_id', 'server_id'],
      ['stauts', 'status'],
      ['STATUS', 'status'],
      ['state', 'status'],
      ['status%5B%5D', 'status'],
      ['statu%73%20', 'status'],
    ] as const) {
      await expectRefused(path, miss);
    }
  }
});

test('filters that only some lists have are known to these alone', async () => {
  for (const miss of [
    ['adminsteamid', 'admin_steamid'],
    ['admin_steam_id', 'admin_steamid'],
    ['admin', 'admin_steamid'],
  ] as const) {
    await expectRefused('/penalties', miss);
    await expectRefused(EXPORT, miss);
    for (const path of ['/bans', '/mutes', '/warns'])
      expect((await ask(`${path}?${miss[0]}=1`)).status).toBe(200);
  }
  for (const miss of [
    ['penalty_type', 'type'],
    ['types', 'type'],
    ['tpye', 'type'],
    ['Type', 'type'],
  ] as const) {
    await expectRefused('/penalties', miss);
    await expectRefused(EXPORT, miss);
    await expectRefused('/mutes', miss);
    for (const path of ['/bans', '/warns']) expect((await ask(`${path}?${miss[0]}=1`)).status).toBe(200);
  }
});

test('any other unknown key is ignored, as cache busters are', async () => {
  for (const path of LISTS) {
    const { text } = await ask(path);
    for (const key of [
      ...['_', 't', 'ts', 'v', 'cb', 'rnd', 'nocache', 'time', 'timestamp', 'date', 'utm_source'],
      ...[
        'id',
        'sort',
        'order',
        'name',
        'reason',
        'per_pag',
        'Page',
        'steam_account',
        '__proto__',
        '%00',
        '',
        '🎧',
      ],
    ]) {
      const { status, text: same } = await ask(`${path}?${key}=1`);
      expect([path, key, status, same]).toEqual([path, key, 200, text]);
    }
  }
});

test('an export ignores any other unknown key', async () => {
  const { status } = await service.ask(`/api/v1${EXPORT}?_=1&utm_source=x&id=7`, bearer(token));
  expect(status).toBe(200);
});

test('a near miss is refused beside the filter itself, empty or not; limit and token come first', async () => {
  expect((await ask(`/bans?steamid=${aSteamId(1)}&steam_id=`)).status).toBe(400);
  expect((await service.get('/bans?steam_id=1')).status).toBe(401);
});

test('names of parameters of other routes are ignored', async () => {
  const path = `/penalties/active?steamids=${aSteamId(1)}`;
  expect((await ask(`${path}&status=x&steamid=x`)).status).toBe(200);
});
