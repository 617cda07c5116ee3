import { expect, test } from 'bun:test';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { bearer, openTestApi } from '../../../support/service/service.ts';

const { db, service, token, get: ask } = await openTestApi();
await insertPenalties(db, [{ type: 'ban' }, { type: 'mute' }, { type: 'warn' }]);
const LISTS = ['/penalties', '/bans', '/mutes', '/warns'];
/** Refused exports do not count among an owner's six an hour. */
const EXPORT = '/penalties/export';

const STATUSES = 'ACTIVE, EXPIRED, UNBANNED (or aktywny, wygasły, odbanowany)';

test.each([
  ...['kick', 'ban,kick', ',', '%00', '__proto__'].map(
    (type) => [`/penalties?type=${type}`, 'is not known: use ban, mute, gag, silence, warn'] as const,
  ),
  ...['ban', 'mutes', 'gag,mute'].map(
    (type) => [`/mutes?type=${type}`, 'is not known: use gag, mute, silence'] as const,
  ),
  ...['x', '%00', 'ACTIVE%00', 'wygas%C5', 'wygas%ED%A0%80y', '+'].map(
    (status) => [`/bans?status=${status}`, `is not known: use ${STATUSES}`] as const,
  ),
  ...['-1', '2147483648', '100000000000000000000', '1e3', '1.0', '%2B1', '%201', '1%00', '١'].map(
    (id) => [`/bans?server_id=${id}`, "isn't valid: use a whole number from 0 to 2147483647"] as const,
  ),
  ...['0', 'BOT', '%00', `${aSteamId(1)}%00`, `+${aSteamId(1)}`, `${aSteamId(1)}%0a`, '%ED%A0%80'].flatMap(
    (id) =>
      ['steamid', 'admin_steamid'].map(
        (name) => [`/penalties?${name}=${id}`, 'is not a SteamID: use a SteamID64'] as const,
      ),
  ),
])('%s is 400 that says what is allowed', async (address, allowed) => {
  const { status, body } = await ask(address);
  const [, name = ''] = /\?(.*?)=/.exec(address) ?? [];
  expect(status).toBe(400);
  expect(body).toEqual({ success: false, message: expect.stringContaining(allowed) });
  expect((body as { message: string }).message).toStartWith(`${name} "`);
});

const TIME = 'a date (2026-11-21) or a timestamp with offset (2026-11-21T10:00:00+00:00)';

test.each([
  ...['yesterday', '2026-02-30', '2026-13-01', '20261121', '1763719200', '%00', '0000-01-01'].flatMap(
    (time) => [['created_from', time, TIME] as const, ['created_to', time, TIME] as const],
  ),
  ['created_from', '2026-11-21T10:00:00', TIME],
  ['created_from', '2026-11-21T10:00:00%2B25:00', TIME],
  ['created_to', '9999-12-31T23:59:59-01:00', TIME],
  ['created_to', '0001-01-01T00:00:00%2B01:00', TIME],
  ...['wh', '🎧🎧', 'wall%00hack', 'x'.repeat(65)].map(
    (reason) => ['reason', reason, '3 to 64 characters, without NUL'] as const,
  ),
  ...['newest', 'ENDS', 'id', '-', 'created,ends'].map(
    (sort) => ['sort', sort, '-created, created, ends, -ends'] as const,
  ),
])('%s=%s is 400 that says what is allowed', async (name, value, allowed) => {
  for (const path of LISTS) {
    const { status, body } = await ask(`${path}?${name}=${value}`);
    const quoted = JSON.stringify(decodeURIComponent(value).slice(0, 64));
    const message = `${name} ${quoted} isn't valid: use ${allowed}`;
    expect([path, status, body]).toEqual([path, 400, { success: false, message }]);
  }
});

test('a quoted parameter loses its direction marks, which would turn the rest of the message', async () => {
  const { status, body } = await ask('/warns?status=%E2%80%AEx%E2%81%A6y');
  expect([status, body]).toEqual([400, { success: false, message: expect.stringMatching(/^status "xy" /) }]);
});

test('a period that begins after its end is 400', async () => {
  for (const period of [
    'created_from=2026-11-22&created_to=2026-11-21',
    'created_from=2026-11-22T00:00:00Z&created_to=2026-11-21',
    'created_from=2026-11-21T10:00:00Z&created_to=2026-11-21T10:00:00%2B01:00',
  ]) {
    for (const path of ['/warns', EXPORT]) {
      const { status, body } = await ask(`${path}?${period}`);
      expect([period, path, status]).toEqual([period, path, 400]);
      const message = 'created_from is after created_to: use an earlier created_from';
      expect(body).toEqual({ success: false, message });
    }
  }
});

async function expectRefused(path: string, [key, meant]: readonly [string, string]): Promise<void> {
  const { status, body } = await ask(`${path}?${key}=1`);
  const message = `unknown parameter "${decodeURIComponent(key)}": did you mean ${meant}?`;
  expect([path, key, status, body]).toEqual([path, key, 400, { success: false, message }]);
}

/** What is meant, and the keys that are nearly its name or its name elsewhere. */
const MISSES = {
  steamid: 'steam_id player_steamid playerSteamId steamid64 steamids staemid SteamID player',
  server_id: 'serverid server-id serverId server sevrer_id',
  status: 'stauts STATUS state status%5B%5D statu%73%20',
  created_from: 'createdFrom create_from from since',
  created_to: 'craeted_to to until',
  reason: 'reasno',
  '/players/search': 'q search name player_name',
};
/** The export has neither, and names the list that does. */
const PAGE_MISSES = { sort: 'order', per_page: 'limit per-page', page: 'offset' };
/** Filters that only some lists have, and the other lists. */
const PARTIAL_MISSES = [
  ['admin_steamid', 'adminsteamid admin_steam_id admin', ['/bans', '/mutes', '/warns']],
  ['type', 'penalty_type types tpye Type', ['/bans', '/warns']],
] as const;

test('every list refuses a near miss of the name of one of its filters, and names the filter', async () => {
  for (const path of [...LISTS, EXPORT]) {
    for (const [meant, keys] of Object.entries(MISSES))
      for (const key of keys.split(' ')) await expectRefused(path, [key, meant]);
    for (const [meant, keys] of Object.entries(PAGE_MISSES))
      for (const key of keys.split(' '))
        await expectRefused(path, [key, path === EXPORT ? `${meant} of /penalties` : meant]);
  }
  for (const path of LISTS) await expectRefused(path, ['srot', 'sort']);
});

test.each(PARTIAL_MISSES)('accepts the filter %s only on lists that have it', async (meant, keys, others) => {
  for (const key of keys.split(' ')) {
    for (const path of [...LISTS, EXPORT]) {
      if (others.some((other) => other === path)) expect((await ask(`${path}?${key}=1`)).status).toBe(200);
      else await expectRefused(path, [key, meant]);
    }
  }
});

test('any other unknown key is ignored, as cache busters are', async () => {
  for (const path of LISTS) {
    const { text } = await ask(path);
    for (const key of [
      ...['_', 't', 'ts', 'v', 'cb', 'rnd', 'nocache', 'time', 'timestamp', 'date', 'utm_source'],
      ...['id', 'per_pag', 'Page', 'steam_account', '__proto__', '%00', '', '🎧'],
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
