import { expect, test } from 'bun:test';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { openImports, storedPenalties } from '../../support/import/penalty-rows.ts';
import { editSource } from '../../support/import/source-file.ts';
import { BASIA, NOW, PLAYER, SYSTEMS } from '../../support/import/systems.ts';

const { db, connection, deps, createFile } = await openImports();

/** What each system deletes. */
const DELETIONS = Object.entries(SYSTEMS).flatMap(([name, system]) => [
  { name, system, table: system.tables.admins },
  ...(name === 'CS2-SimpleAdmin' ? [{ name, system, table: 'sa_unbans' }] : []),
]);

test.each(DELETIONS)(
  '$name: names stay after $table was emptied, without a change or an event',
  async ({ system: { schema, addAdmin, add, lift, run }, table }) => {
    const ban = { admin: BASIA, created: NOW - 60 };
    const url = createFile(
      `${schema}; ${addAdmin(BASIA)} ${add('ban', { id: 1, ...ban })} ${add('ban', { id: 2, ...ban })}
       ${lift('ban', 2, { by: BASIA, at: NOW, reason: 'Appeal' })}`,
    );
    await run(deps, { url });
    const stored = await storedPenalties(db);
    const admin = { adminName: 'Basia', adminSteamId: BASIA.steamId };
    expect(stored).toMatchObject([
      { status: 'ACTIVE', ...admin },
      {
        status: 'UNBANNED',
        ...admin,
        liftedByName: 'Basia',
        liftedBySteamId: BASIA.steamId,
        liftReason: 'Appeal',
        liftedAt: new Date(NOW * 1000),
      },
    ]);
    const events = await connection`select max(id) from penalty_events`;
    editSource(url, `delete from ${table}`);
    for (const isDryRun of [true, false]) {
      const summary = await run(deps, { url, isDryRun });
      expect(summary).toMatchObject({ changed: 0, unchanged: 2, gone: 0, setAside: 0 });
    }
    expect(await storedPenalties(db)).toEqual(stored);
    expect(await connection`select max(id) from penalty_events`).toEqual(events);
  },
);

test('a later line of JSON that names no admin leaves the name', async () => {
  const line = {
    penalty_type: 'ban',
    source_id: '1',
    player_steamid: PLAYER,
    created: '2026-11-21T11:30:00Z',
  };
  const run = (fields: object) =>
    importNdjson(deps, { chunks: new Blob([JSON.stringify({ ...line, ...fields })]).stream() });
  await run({ admin_name: 'Basia', admin_steamid: BASIA.steamId });
  expect(await run({ admin_name: null, admin_steamid: null })).toMatchObject({ changed: 0, unchanged: 1 });
  expect(await run({ admin_name: 'Console', admin_steamid: '0' })).toMatchObject({ changed: 1 });
});
