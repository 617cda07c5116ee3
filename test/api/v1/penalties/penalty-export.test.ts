import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { BASES } from '../../../../api/app.ts';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { type ExportEnd, startExports } from '../../../support/http/exports.ts';
import { bearer, NOW } from '../../../support/service/service.ts';

const { db, connection, service, caller, fill, open, readToEnd, exportAll, listAll } = await startExports();

const SECOND = 1000;
const VARIED: Parameters<typeof insertPenalties>[1] = [
  { type: 'ban', playerName: 'Łukasz "\\" \n\t\u0001 🎧', reason: '</script>\u2028\u007f', serverId: 0 },
  { type: 'mute', endsAt: new Date(NOW.getTime() - SECOND), createdAt: new Date('1971-01-01T00:00:00Z') },
  { type: 'gag', endsAt: new Date(NOW.getTime() + SECOND), playerSteamId: '0' as never },
  { type: 'silence', status: 'UNBANNED', endsAt: new Date('9999-12-31T23:59:59Z') },
  { type: 'warn', status: 'EXPIRED', adminSteamId: '0' as never, durationMinutes: 1440, serverId: 3 },
  { type: 'ban', goneAt: NOW, createdAt: new Date('2026-11-20T23:59:59Z'), playerSteamId: aSteamId(7) },
];

describe('GET /penalties/export', () => {
  test('sends the records of /penalties, oldest first, and says that they are all', async () => {
    await insertPenalties(db, VARIED);
    const { records } = await exportAll();
    expect(records).toHaveLength(VARIED.length);
    expect(records).toStrictEqual(await listAll());
    const [{ text }, listed] = await Promise.all([
      service.ask(`${BASES[0]}/penalties/export?steamid=${aSteamId(7)}`, bearer(caller.token)),
      service.ask(`${BASES[0]}/penalties?steamid=${aSteamId(7)}`, bearer(caller.token)),
    ]);
    // Byte by byte as well, order of fields included.
    expect(listed.text).toContain(`"data":[${text.split('\n')[0]}]`);
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
    '?page=2&per_page=1',
  ])('takes the filters of /penalties, and no pages: %s', async (query) => {
    await insertPenalties(db, VARIED);
    const expected = await listAll(query.startsWith('?page') ? '' : query);
    expect((await exportAll(query)).records).toStrictEqual(expected);
  });

  test('sends many batches, in the order of creation and id', async () => {
    await fill(1001);
    const { records, end } = await exportAll();
    expect(end.count).toBe(1001);
    const keys = (records as { created: string; id: number }[]).map(
      ({ created, id }) => `${created} ${String(id).padStart(12, '0')}`,
    );
    expect(keys).toEqual(keys.toSorted());
  });

  test('the changes from its cursor continue where it ended', async () => {
    const [row] = await insertPenalties(db, [{}]);
    const { end } = await exportAll();
    await db
      .update(penalties)
      .set({ reason: 'Aimbot' })
      .where(eq(penalties.id, row?.id ?? 0));
    const { body } = await service.get(`/penalties/changes?cursor=${end.cursor}`, bearer(caller.token));
    expect(body).toMatchObject({ data: [{ type: 'penalty.changed', penalty: { reason: 'Aimbot' } }] });
  });

  test('is a snapshot of one moment, whatever is written while it runs, and its cursor is of the same moment', async () => {
    await fill(15_000);
    const reader = await open();
    await insertPenalties(db, [{ reason: 'too late', createdAt: new Date('2026-11-21T09:00:00Z') }]);
    await connection`delete from penalties where id = (select max(id) - 1 from penalties)`;
    const { text } = await readToEnd(reader);
    const lines = text.trimEnd().split('\n');
    const end: ExportEnd = JSON.parse(lines.at(-1) ?? '');
    expect([end.count, lines.length]).toEqual([15_000, 15_001]);
    expect(text).not.toContain('too late');
    const { body } = await service.get(`/penalties/changes?cursor=${end.cursor}`, bearer(caller.token));
    expect((body as { data: { type: string }[] }).data.map(({ type }) => type)).toEqual([
      'penalty.created',
      'penalty.removed',
    ]);
  });

  test.each([
    '?type=kick',
    '?status=open',
    '?steamid=nobody',
    '?server_id=abc',
    '?admin_steamid=x',
    '?steam_id=1',
  ])('refuses %s as /penalties does', async (query) => {
    const [exported, listed] = await Promise.all(
      ['/penalties/export', '/penalties'].map((path) => service.get(path + query, bearer(caller.token))),
    );
    expect(exported?.status).toBe(400);
    expect(exported?.body).toEqual(listed?.body);
  });

  test('needs a token', async () => {
    expect((await service.get('/penalties/export?type=kick')).status).toBe(401);
  });

  test('HEAD has the headers and starts no export', async () => {
    for (let turn = 0; turn < 8; turn++) {
      const { status, headers, text } = await service.get('/penalties/export', {
        ...bearer(caller.token),
        method: 'HEAD',
      });
      expect([status, headers.get('content-type'), text]).toEqual([200, 'application/x-ndjson', '']);
    }
    expect((await exportAll()).end.count).toBe(0);
  });
});
