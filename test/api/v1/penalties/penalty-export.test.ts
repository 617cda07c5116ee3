import { describe, expect, test } from 'bun:test';
import { BASES } from '../../../../api/app.ts';
import { isDatabaseOutage } from '../../../../src/db/client.ts';
import { openPenaltyExport } from '../../../../src/queries/penalties/export.ts';
import { setUserFlags } from '../../../../src/queries/users/user-changes.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { type ExportEnd, startExports } from '../../../support/http/exports.ts';
import { aToken, bearer, NOW, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const { url, db, connection, service, caller, exportAll, listAll, fill, open, readNothing, countSessions } =
  await startExports();

const SECOND = 1000;
const VARIED: Parameters<typeof insertPenalties>[1] = [
  { type: 'ban', playerName: 'Łukasz "\\" \n\t\u0001 🎧', reason: '</script>\u2028\u007f', serverId: 0 },
  { type: 'mute', endsAt: new Date(NOW.getTime() - SECOND), createdAt: new Date('1971-01-01T00:00:00Z') },
  { type: 'gag', endsAt: new Date(NOW.getTime() + SECOND), playerSteamId: '0' as never },
  {
    type: 'silence',
    status: 'UNBANNED',
    endsAt: new Date('9999-12-31T23:59:59Z'),
    liftedAt: new Date('2026-11-21T09:00:00Z'),
    liftedByName: 'Basia "\\"',
    liftedBySteamId: aSteamId(8),
    liftReason: 'Appeal',
  },
  { type: 'warn', status: 'EXPIRED', adminSteamId: '0' as never, durationMinutes: 1440, serverId: 3 },
  {
    type: 'ban',
    status: 'EXPIRED',
    goneAt: NOW,
    createdAt: new Date('2026-11-20T23:59:59Z'),
    playerSteamId: aSteamId(7),
  },
];
/** Of the only one among them that was lifted. */
const LIFT = {
  at: '2026-11-21T09:00:00+00:00',
  admin_name: 'Basia "\\"',
  admin_steamid: aSteamId(8),
  reason: 'Appeal',
};

describe('GET /penalties/export', () => {
  test('sends the records of /penalties, oldest first, and says that they are all', async () => {
    await insertPenalties(db, VARIED);
    const { records } = await exportAll();
    expect(records).toHaveLength(VARIED.length);
    expect(records).toStrictEqual(await listAll({ lift: LIFT }));
    const [{ text }, listed] = await Promise.all([
      service.ask(`${BASES[0]}/penalties/export?steamid=${aSteamId(7)}`, bearer(caller.token)),
      service.ask(`${BASES[0]}/penalties?steamid=${aSteamId(7)}`, bearer(caller.token)),
    ]);
    // Byte by byte as well, order of fields included.
    expect(listed.text).toContain(`"data":[${text.split('\n')[0]?.replace(',"lifted":null}', '}')}]`);
  });

  test('says who lifted a penalty, byte by byte as the changes do', async () => {
    const { end } = await exportAll();
    await insertPenalties(db, VARIED);
    await insertPenalties(db, [{ status: 'UNBANNED' }]);
    const [exported, changed] = await Promise.all([
      service.ask(`${BASES[0]}/penalties/export?status=UNBANNED`, bearer(caller.token)),
      service.ask(`${BASES[0]}/penalties/changes?cursor=${end.cursor}`, bearer(caller.token)),
    ]);
    const lines = exported.text.trimEnd().split('\n').slice(0, -1);
    const lifts = lines.map((line) => JSON.parse(line).lifted);
    expect(lifts).toStrictEqual([LIFT, { at: null, admin_name: null, admin_steamid: '0', reason: null }]);
    for (const line of lines) expect(changed.text).toContain(`"penalty":${line}`);
  });

  test.each([
    '?type=ban',
    '?status=ACTIVE',
    '?status=wygas%C5%82y',
    '?status=odbanowany',
    '?server_id=0',
    `?steamid=${aSteamId(7)}`,
    `?admin_steamid=${aSteamId(900)}`,
    '?type=ban&status=ACTIVE&server_id=1',
    '?server_id=12345',
    '?type=warn,ban',
    '?created_from=2026-11-21&reason=WALL',
    '?created_to=2026-11-20&created_from=1971-01-01',
    '?page=2&per_page=1',
  ])('takes the filters of /penalties, and no pages: %s', async (query) => {
    await insertPenalties(db, VARIED);
    const expected = await listAll({ query: query.startsWith('?page') ? '' : query, lift: LIFT });
    expect((await exportAll(query)).records).toStrictEqual(expected);
  });

  test('sends many batches, in the order of creation and id', async () => {
    await fill(1001, { kilobytes: 1 });
    const { records, end } = await exportAll();
    expect(end.count).toBe(1001);
    const keys = (records as { created: string; id: number }[]).map(
      ({ created, id }) => `${created} ${String(id).padStart(12, '0')}`,
    );
    expect(keys).toEqual(keys.toSorted());
  });

  test('an export is a snapshot of one moment, whatever is written while it runs, and its cursor is of that moment', async () => {
    await fill(1500);
    const reader = await open();
    await insertPenalties(db, [{ reason: 'too late', createdAt: new Date('2026-11-21T09:00:00Z') }]);
    await connection`delete from penalties where id = (select max(id) - 1 from penalties)`;
    const text = await reader.readToEnd();
    const lines = text.trimEnd().split('\n');
    const end: ExportEnd = JSON.parse(lines.at(-1) ?? '');
    expect([end.count, lines.length]).toEqual([1500, 1501]);
    expect(text).not.toContain('too late');
    const { body } = await service.get(`/penalties/changes?cursor=${end.cursor}`, bearer(caller.token));
    expect((body as { data: { type: string }[] }).data.map(({ type }) => type)).toEqual([
      'penalty.created',
      'penalty.removed',
    ]);
  });

  test('HEAD has the headers and starts no export, with a trailing slash or without', async () => {
    const paths = ['/penalties/export', '/penalties/export/', '/penalties/export/?type=ban'];
    for (const path of [...paths, ...paths, ...paths]) {
      const { status, headers, text } = await service.get(path, { ...bearer(caller.token), method: 'HEAD' });
      expect([path, status, text]).toEqual([path, 200, '']);
      expect(headers.get('content-type')).toBe('application/x-ndjson');
    }
    const { text } = await service.ask('/api/v1/penalties/export/', bearer(caller.token));
    expect(JSON.parse(text)).toMatchObject({ end: true, count: 0 });
  });
});

describe('limits of /penalties/export', () => {
  const start = (token = caller.token) => service.ask('/api/v1/penalties/export', bearer(token));

  test('six in any hour, not counting refused requests, then 429 until the first is an hour old', async () => {
    for (let turn = 0; turn < 5; turn++) {
      expect((await start()).status).toBe(200);
      const refused = await service.ask('/api/v1/penalties/export?type=kick', bearer(caller.token));
      expect(refused.status).toBe(400);
      await service.ask('/api/v1/penalties/export', { ...bearer(caller.token), method: 'HEAD' });
      service.clock.monotonicMs += 60_000;
    }
    expect((await start()).status).toBe(200);
    for (let turn = 0; turn < 3; turn++) {
      const { status, headers, body } = await start();
      const message = 'At most 6 exports an hour: read /penalties/changes meanwhile';
      expect([status, headers.get('retry-after'), body]).toEqual([429, '3300', { success: false, message }]);
    }
    const another = await aToken(db, caller.owner + 10_000);
    expect((await start(another.token)).status).toBe(200);
    service.clock.monotonicMs += 3_300_000;
    expect((await start()).status).toBe(200);
    expect((await start()).status).toBe(429);
  });

  test('an export that the client aborts counts as one of the six; requests refused meanwhile do not', async () => {
    await fill(1500);
    for (let turn = 0; turn < 6; turn++) {
      const aborted = await open();
      expect((await start()).headers.get('retry-after')).toBe('10');
      await aborted.cancel();
      await waitFor(async () => (await countSessions()) === 0);
    }
    const { status, headers } = await start();
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(3000);
    const resetInSeconds = Number(headers.get('x-ratelimit-reset')) - NOW.getTime() / 1000;
    expect(resetInSeconds).toBe(Number(headers.get('retry-after')));
  });

  test('an owner gets one export at a time over all tokens; the next once it has ended or its client has left', async () => {
    await fill(1500);
    const running = await open();
    const other = await aToken(db, caller.owner);
    for (const base of BASES) {
      const { status, headers, body } = await service.ask(`${base}/penalties/export`, bearer(other.token));
      const message = 'Only one export at a time: your previous one is still running';
      expect([status, headers.get('retry-after'), body]).toEqual([429, '10', { success: false, message }]);
    }
    await running.cancel();
    await waitFor(async () => (await start()).status === 200);
    await waitFor(async () => (await countSessions()) === 0);
  });

  test('an owner gets one export at a time over all processes', async () => {
    const begin = (ownerId: number) => openPenaltyExport(url, {}, { ownerId, now: NOW });
    const running = await begin(1);
    await expect(begin(1)).rejects.toThrow('Only one export at a time');
    await (await begin(2)).close();
    await running.close();
    await (await begin(1)).close();
  });

  test('serves three exports of members and a fourth of an admin, and tells others to come back', async () => {
    const spent = caller.token;
    for (let turn = 0; turn < 6; turn++) expect((await start()).status).toBe(200);
    await fill(1500);
    const readers: Awaited<ReturnType<typeof open>>[] = [];
    for (let turn = 0; turn < 3; turn++) {
      await caller.becomeAnother();
      readers.push(await open());
    }
    const { token: exporting } = caller;
    await caller.becomeAnother();
    const { token: waiting } = caller;
    expect((await start()).status).toBe(503);
    // A refused one does not count among the six either.
    expect((await start()).status).toBe(503);
    // The owner's own limits are checked first: one export at a time, and six an hour.
    expect((await start(exporting)).status).toBe(429);
    expect((await start(spent)).status).toBe(429);
    await caller.becomeAnother();
    await setUserFlags(db, aSteamId(caller.owner), { flags: { isAdmin: true }, actor: 'operator' });
    readers.push(await open());
    for (const reader of readers) await reader.cancel();
    await waitFor(async () => (await start(waiting)).status === 200);
  });
});

test('an export is a broken response when the connection to the database is lost', async () => {
  await fill(1500);
  // If the client read on, everything could be on its way before the session ends.
  const client = await readNothing();
  await client.readBeginning();
  await connection`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name like 'export%' and datname = current_database()`;
  const text = await client.readToEnd();
  // A complete chunked response ends with a chunk of length 0.
  expect({
    hasBegun: text.startsWith('HTTP/1.1 200'),
    isWhole: text.endsWith('0\r\n\r\n'),
    isEnded: text.includes('"end":true'),
  }).toEqual({ hasBegun: true, isWhole: false, isEnded: false });
});

test('an export that the database does not begin in time frees its place', async () => {
  const proxy = await startDatabaseProxy(url);
  proxy.failAt('begin isolation', 'freeze');
  const error = await openPenaltyExport(proxy.url, {}, { ownerId: 1, now: NOW }).catch(
    (error: unknown) => error,
  );
  expect(isDatabaseOutage(error)).toBe(true);
  await waitFor(async () => (await countSessions()) === 0);
});

test('a service that stops breaks exports off, and waits for none', async () => {
  await fill(1500);
  const stopping = await startTestService({ databaseUrl: url });
  const reader = await open(stopping.origin);
  await stopping.stop();
  const text = await reader.readToEnd();
  expect(text).not.toContain('"end":true');
  await waitFor(async () => (await countSessions()) === 0);
});
