import { beforeEach, describe, expect, test } from 'bun:test';
import { heldRemovals } from '../../../src/db/schema/held-removals.ts';
import { acceptHeldRemovals, listHeldRemovals } from '../../../src/queries/held-removals.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { importSimpleAdmin } from '../../support/import/importers.ts';
import { createMirrors } from '../../support/import/mirror.ts';
import { importDeps } from '../../support/import/penalty-rows.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const { clock, lines, openMirror, nextRound, sweeps, createFile } = createMirrors(database);
const deps = importDeps(database);

beforeEach(async () => {
  await connection`truncate held_removals, penalty_events`;
});

/** SQL that inserts bans with these ids, of one player each. */
const bans = (first: number, last: number, { status = 'ACTIVE', player = 0 } = {}) => `
  with recursive n(i) as (select ${first} union all select i + 1 from n where i < ${last})
  insert into sa_bans (id, player_steamid, admin_steamid, admin_name, reason, duration, created, status)
  select i, 76561198000000000 + i + ${player}, '0', 'Console', 'Aim', 0, datetime('2026-11-01', i || ' minutes', ${player} || ' seconds'),
    '${status}' from n`;

async function countGone(): Promise<number> {
  const [row] = await connection`select count(*)::integer as n from penalties where gone_at is not null`;
  return row?.n;
}

async function listEvents(): Promise<string[]> {
  return (await connection`select type from penalty_events order by id`).map((row) => row.type);
}

/** A round of a mirror that begins hours later. */
async function roundAfter(hours: number, mirror: Mirror): Promise<void> {
  clock.now = new Date(clock.now.getTime() + hours * 3_600_000);
  await nextRound(mirror);
}

/** A mirror of a source with 60 bans. */
async function mirrorBans() {
  const source = createFile(bans(1, 60));
  return { source, ...(await openMirror(source.url)) };
}
type Mirror = Awaited<ReturnType<typeof openMirror>>['mirror'];

const holds = () =>
  lines.filter(({ msg }) => msg.includes('held back')).map(({ level, msg }) => ({ level, msg }));

describe('a mirror whose source suddenly has much less', () => {
  test('removes nothing, and imports what is new and lifted', async () => {
    const { source, mirror, readMetrics } = await mirrorBans();
    expect(mirror.health().held).toBeUndefined();
    source.run('delete from sa_bans where id > 25', "update sa_bans set status = 'UNBANNED' where id = 1");
    source.run(bans(100, 100));
    await roundAfter(24, mirror);
    expect(await countGone()).toBe(0);
    expect(await listEvents()).not.toContain('penalty.removed');
    expect(
      await connection`select status from penalties where source_id in ('1', '100') order by id`,
    ).toMatchObject([{ status: 'UNBANNED' }, { status: 'ACTIVE' }]);
    expect(mirror.health()).toMatchObject({ isUp: true, held: { penalties: 35 } });
    expect(await readMetrics()).toContain('mirror_held_removals{system="simpleadmin"} 35\n');
    expect(holds()).toMatchObject([{ level: 40 }]);
  });

  test('reads it whole each hour, and removes after six hours what every read found missing', async () => {
    const { source, mirror } = await mirrorBans();
    source.run('delete from sa_bans where id > 25');
    await roundAfter(24, mirror);
    const first = sweeps().length;
    for (let hour = 1; hour <= 5; hour++) {
      await roundAfter(1, mirror);
      expect(sweeps()).toHaveLength(first + hour);
      expect(await countGone()).toBe(0);
    }
    await roundAfter(1, mirror);
    expect(await countGone()).toBe(35);
    expect(mirror.health().held).toBeUndefined();
    expect(await listHeldRemovals(db)).toEqual([]);
    expect(holds()).toMatchObject([{ level: 40 }, { level: 30 }]);
    await roundAfter(2, mirror);
    expect(sweeps()).toHaveLength(first + 6);
  });

  test('a mirror keeps missing penalties when it read nothing for seven hours after finding the loss', async () => {
    const { source, mirror } = await mirrorBans();
    source.run('delete from sa_bans');
    await roundAfter(24, mirror);
    await roundAfter(7, mirror);
    expect(await countGone()).toBe(0);
    for (let hour = 1; hour <= 3; hour++) await roundAfter(1, mirror);
    expect(await countGone()).toBe(0);
    await roundAfter(1, mirror);
    expect(await countGone()).toBe(60);
  });

  test('a mirror keeps the missing penalties of a small community, and says that new ones arrive', async () => {
    const source = createFile(bans(1, 6));
    const { mirror } = await openMirror(source.url);
    source.run('delete from sa_bans where id > 1', bans(9, 9));
    await roundAfter(24, mirror);
    expect(await countGone()).toBe(0);
    expect(mirror.health()).toMatchObject({
      held: { penalties: 5 },
      note: expect.stringContaining('arrives'),
    });
    expect(holds()).toMatchObject([{ msg: expect.stringContaining('what is new there still arrives') }]);
    expect(await connection`select from penalties where status = 'ACTIVE'`).toHaveLength(7);
  });

  test('a mirror holds missing penalties until most of them are back, and then removes the rest', async () => {
    const { source, mirror } = await mirrorBans();
    source.run('delete from sa_bans');
    await roundAfter(24, mirror);
    source.run(bans(101, 200));
    await roundAfter(1, mirror);
    expect(await countGone()).toBe(0);
    source.run(bans(1, 40));
    await roundAfter(1, mirror);
    expect(await countGone()).toBe(20);
    expect(mirror.health().held).toBeUndefined();
  });

  test('says nothing again after a restart, and removes at once what an operator accepts', async () => {
    const { source, mirror } = await mirrorBans();
    source.run('delete from sa_bans');
    await roundAfter(24, mirror);
    await mirror.stop();
    expect(holds()).toHaveLength(1);
    const { mirror: again } = await openMirror(source.url);
    expect(again.health().held).toEqual({ penalties: 60 });
    expect(holds()).toHaveLength(1);
    await acceptHeldRemovals(db, 'simpleadmin', 'operator');
    await nextRound(again);
    expect(await countGone()).toBe(60);
    expect(again.health().held).toBeUndefined();
  });

  test('counts penalties in force apart, and each table', async () => {
    const warns = bans(1, 2).replaceAll('sa_bans', 'sa_warns');
    const source = createFile(bans(1, 30), bans(31, 500, { status: 'EXPIRED' }), warns);
    const { mirror } = await openMirror(source.url);
    source.run('delete from sa_bans where id <= 25 or id > 480', 'delete from sa_warns where id = 1');
    await roundAfter(24, mirror);
    expect(await listHeldRemovals(db)).toMatchObject([{ subject: 'sa_bans', removals: 45 }]);
    expect(await countGone()).toBe(1);
  });

  test('a mirror keeps penalties whose ids the source reuses, and imports the new ones at once', async () => {
    const { source, mirror } = await mirrorBans();
    source.run('delete from sa_bans', bans(1, 60, { player: 1_000_000 }));
    await nextRound(mirror);
    expect(mirror.health().held).toEqual({ penalties: 60 });
    expect(sweeps()).toHaveLength(2);
    await nextRound(mirror);
    expect(sweeps()).toHaveLength(2);
    const inForce = () => connection`select from penalties where status = 'ACTIVE' and gone_at is null`;
    expect(await inForce()).toHaveLength(120);
    source.run(bans(61, 61));
    await roundAfter(1, mirror);
    expect(sweeps()).toHaveLength(3);
    expect(mirror.health().held).toEqual({ penalties: 60 });
    expect(await inForce()).toHaveLength(121);
    expect(await listEvents()).not.toContain('penalty.removed');
    await acceptHeldRemovals(db, 'simpleadmin', 'operator');
    await nextRound(mirror);
    expect(await countGone()).toBe(60);
    expect(await inForce()).toHaveLength(61);
  });

  test('keeps penalties when an operator accepted losses of flags, which cannot be read since', async () => {
    const source = createFile(bans(1, 60), 'drop table sa_admins');
    const flags = [{ flag: 'has_svip', permissions: ['@css/vip'] }] as const;
    const { mirror } = await openMirror(source.url, { flags });
    const held = { system: 'simpleadmin', kind: 'flags', subject: 'has_svip', removals: 30 } as const;
    await db.insert(heldRemovals).values({ ...held, since: clock.now });
    await acceptHeldRemovals(db, 'simpleadmin', 'operator');
    source.run('delete from sa_bans');
    await roundAfter(24, mirror);
    expect(await countGone()).toBe(0);
    expect(mirror.health().held).toEqual({ has_svip: 30, penalties: 60 });
  });

  test('imports a penalty with the id of a deleted one in the round that finds it', async () => {
    const { source, mirror } = await mirrorBans();
    source.run('delete from sa_bans where id = 60', bans(60, 60, { player: 1_000_000 }));
    await nextRound(mirror);
    expect(await countGone()).toBe(1);
    expect(await connection`select id from penalties`).toHaveLength(61);
    expect(mirror.health().held).toBeUndefined();
  });
});

test('an import from a source that suddenly has much less removes nothing unless that is accepted', async () => {
  const source = createFile(bans(1, 60), bans(1, 3).replaceAll('sa_bans', 'sa_warns'));
  await importSimpleAdmin(deps, { url: source.url });
  source.run('delete from sa_bans where id <> 1', 'delete from sa_warns where id = 1');
  source.run(bans(2, 2, { player: 1_000_000 }), bans(61, 61));
  const importAgain = (options: { isDryRun?: boolean; acceptsRemovals?: boolean }) =>
    importSimpleAdmin(deps, { url: source.url, ...options });
  const counts = { read: 5, added: 2, changed: 0, unchanged: 3, gone: 0, held: 60 };
  expect(await importAgain({ isDryRun: true })).toMatchObject(counts);
  expect(await importAgain({})).toMatchObject(counts);
  expect(await countGone()).toBe(0);
  expect(await listHeldRemovals(db)).toEqual([]);
  expect(await importAgain({})).toMatchObject({ ...counts, added: 0, unchanged: 5 });
  const accepted = { read: 5, added: 0, changed: 0, unchanged: 5, gone: 60, held: 0 };
  expect(await importAgain({ isDryRun: true, acceptsRemovals: true })).toMatchObject(accepted);
  expect(await importAgain({ acceptsRemovals: true })).toMatchObject(accepted);
  expect(await countGone()).toBe(60);
});
