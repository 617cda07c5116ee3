import { describe, expect, test } from 'bun:test';
import type { PenaltyStatus } from '../../../src/domain/penalty.ts';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { tallyDifferences } from '../../support/database/tallies.ts';
import { importDeps, LINE, openImports, toNdjson } from '../../support/import/penalty-rows.ts';
import { editSource } from '../../support/import/source-file.ts';
import { BASIA, NOW, SYSTEMS } from '../../support/import/systems.ts';

const imports = await openImports();
const { connection, deps, createFile, stored, importLines, announceAndImport } = imports;

describe('rows that the source deletes', () => {
  const DELETIONS = Object.entries(SYSTEMS).flatMap(([name, system]) => [
    { name, system, table: system.tables.admins },
    ...(name === 'CS2-SimpleAdmin' ? [{ name, system, table: 'sa_unbans' }] : []),
  ]);

  test.each(DELETIONS)(
    '$name: names stay after $table was emptied, without a change or an event',
    async ({ system: { schema, addAdmin, add, lift, run }, table }) => {
      const bans = [1, 2].map((id) => add('ban', { id, admin: BASIA }));
      const lifted = lift('ban', 2, { by: BASIA, at: NOW, reason: 'Appeal' });
      const url = createFile(schema, addAdmin(BASIA), ...bans, lifted);
      await run(deps, { url });
      const before = await stored();
      const admin = { adminName: 'Basia', adminSteamId: BASIA.steamId };
      const lifter = { liftedByName: 'Basia', liftedBySteamId: BASIA.steamId };
      const ending = { status: 'UNBANNED', liftReason: 'Appeal', liftedAt: new Date(NOW * 1000) } as const;
      expect(before).toEqual([
        expect.objectContaining({ status: 'ACTIVE', ...admin }),
        expect.objectContaining({ ...admin, ...lifter, ...ending }),
      ]);
      const events = await connection`select max(id) from penalty_events`;
      editSource(url, `delete from ${table}`);
      const summary = await announceAndImport((options) => run(deps, { url, ...options }));
      expect(summary).toMatchObject({ changed: 0, unchanged: 2, gone: 0, setAside: 0 });
      expect(await stored()).toEqual(before);
      expect(await connection`select max(id) from penalty_events`).toEqual(events);
    },
  );

  test('a row that is gone counts as removed when the read has ended, however long that took', async () => {
    const { schema, add, tables, run } = SYSTEMS['CS2-SimpleAdmin'];
    const url = createFile(schema, add('ban', { id: 1 }), add('ban', { id: 2 }));
    await run(deps, { url });
    editSource(url, `delete from ${tables.ban} where id = 1`);
    let now = new Date(NOW * 1000);
    const at = new Date(now.getTime() + 5 * 60_000);
    const onProgress = () => {
      now = at;
    };
    await run({ ...deps, now: () => now }, { url, onProgress });
    const [removed] = await stored();
    expect([removed?.status, removed?.goneAt, removed?.liftedAt]).toEqual(['UNBANNED', at, at]);
  });

  test('a row that is gone at the source is marked and kept, and unmarked when it is back', async () => {
    const { schema, add, tables, run } = SYSTEMS['CS2-SimpleAdmin'];
    const ban = add('ban', { id: 1 });
    const url = createFile(schema, ban, add('ban', { id: 2 }), add('mute', { id: 1 }));
    await run(deps, { url });
    editSource(url, `delete from ${tables.ban} where id = 1`);
    const done = await announceAndImport((options) => run(deps, { url, ...options }));
    expect(done).toMatchObject({ gone: 1, changed: 0, unchanged: 2 });
    const at = new Date(NOW * 1000);
    const removed = {
      status: 'UNBANNED',
      goneAt: at,
      liftedAt: at,
      liftedByName: null,
      liftedBySteamId: null,
    };
    expect((await stored())[0]).toEqual(
      expect.objectContaining({ sourceId: '1', ...removed, liftReason: null }),
    );
    expect(await run(deps, { url })).toMatchObject({ gone: 0, changed: 0, unchanged: 2 });
    editSource(url, ban);
    expect(await run(deps, { url })).toMatchObject({ gone: 0, changed: 1, unchanged: 2 });
    expect((await stored())[0]).toMatchObject({
      sourceId: '1',
      status: 'ACTIVE',
      goneAt: null,
      liftedAt: null,
    });
    expect(await tallyDifferences(connection)).toEqual([]);
  });

  test('a penalty whose row returns lifted without details has no lift time', async () => {
    const { schema, add, tables, run } = SYSTEMS['CS2-SimpleAdmin'];
    const url = createFile(schema, add('ban', { id: 1 }), add('ban', { id: 2 }));
    await run(deps, { url });
    editSource(url, `delete from ${tables.ban} where id = 1`);
    await run(deps, { url });
    editSource(url, add('ban', { id: 1 }, { status: 'UNBANNED' }));
    await run(deps, { url });
    expect((await stored())[0]).toMatchObject({ status: 'UNBANNED', goneAt: null, liftedAt: null });
  });

  test('a later line of JSON that names no admin leaves the name', async () => {
    const run = (fields: object) => importLines([{ ...LINE, source_id: '1', ...fields }]);
    await run({ admin_name: 'Basia', admin_steamid: BASIA.steamId });
    expect(await run({ admin_name: null, admin_steamid: null })).toMatchObject({ changed: 0, unchanged: 1 });
    expect(await run({ admin_name: 'Console', admin_steamid: '0' })).toMatchObject({ changed: 1 });
  });
});

describe('the clock of an import', () => {
  /** When the lines end, in minutes from now: in the future, less than an hour ago, and longer ago. */
  const ENDS = [30, -30, -90];
  /** The status that each is stored with; reads correct the second. */
  const STORED: PenaltyStatus[] = ['ACTIVE', 'ACTIVE', 'EXPIRED'];

  /** Imports lines whose times are by the database's clock, which is hours behind that of the import. */
  async function importAhead(hours: number): Promise<PenaltyStatus[]> {
    const [clock] = await connection`select extract(epoch from now())::bigint as now`;
    const iso = (minutes: number) => new Date((Number(clock?.now) + minutes * 60) * 1000).toISOString();
    const lines = ENDS.map((minutes, index) => ({
      ...{ ...LINE, source_id: index, created: iso(-3000), ends: iso(minutes) },
    }));
    const ahead = importDeps(imports, new Date(Date.now() + hours * 3_600_000).toISOString());
    await importNdjson(ahead, { chunks: toNdjson(lines) });
    return (await stored()).map(({ status }) => status);
  }

  test("an import whose clock is two days ahead of the database's expires no penalty that runs", async () => {
    expect(await importAhead(48)).toEqual(STORED);
  });

  test('expires what ended an hour ago; a later import with a slow clock expires nothing more', async () => {
    expect(await importAhead(0)).toEqual(STORED);
    await connection`truncate penalties`;
    expect(await importAhead(-2)).toEqual(['ACTIVE', 'ACTIVE', 'ACTIVE']);
  });
});
