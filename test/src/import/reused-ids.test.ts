import { expect, test } from 'bun:test';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { tallyDifferences } from '../../support/database/tallies.ts';
import { importSimpleAdmin } from '../../support/import/importers.ts';
import { openImports, storedPenalties } from '../../support/import/penalty-rows.ts';
import { aRow, createSimpleAdminFiles, insertRows, PLAYER } from '../../support/import/simple-admin-rows.ts';
import { editSource } from '../../support/import/source-file.ts';
import { insertInto } from '../../support/import/systems.ts';

const { db, connection, deps } = await openImports();
const createFile = createSimpleAdminFiles();
const OTHER = '76561198000000002';
const LATER = { created: '2026-11-21 11:50:00', ends: '2026-11-21 12:50:00' };
const stored = async () =>
  (await storedPenalties(db)).map((row) => [row.sourceId, row.playerSteamId, row.goneAt !== null]);

test('a penalty whose id the source gives to another one is kept, and marked as gone', async () => {
  const url = createFile(11, (file) => insertRows(file, 'sa_bans', [aRow(), aRow()]));
  await importSimpleAdmin(deps, { url });
  const [first] = await connection`select id::text from penalties where source_id = '1'`;
  // The operator emptied the table, or reinstalled the plugin.
  const reused = { id: 1, ...aRow({ player_steamid: OTHER, ...LATER }) };
  editSource(url, 'delete from sa_bans', insertInto('sa_bans', reused));

  const announced = await importSimpleAdmin(deps, { url, isDryRun: true });
  const done = await importSimpleAdmin(deps, { url });
  expect(done).toMatchObject({ added: 1, changed: 0, unchanged: 0, gone: 1 });
  expect(announced).toEqual({ ...done, isDryRun: true });
  const kept = [
    [`1 (penalty ${first?.id})`, PLAYER, true],
    ['2', PLAYER, true],
    ['1', OTHER, false],
  ];
  expect(await stored()).toEqual(kept);
  const events = await connection`select type, player_steamid::text as player from penalty_events
    where penalty_id = ${first?.id} order by id`;
  expect([...events]).toEqual([
    { type: 'penalty.created', player: PLAYER },
    { type: 'penalty.removed', player: PLAYER },
  ]);
  expect(await tallyDifferences(connection)).toEqual([]);
  expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: 0, changed: 0, gone: 0 });
  expect(await stored()).toEqual(kept);
});

test('a player or a time that was corrected at the source is a change of the same penalty', async () => {
  const url = createFile(11, (file) => insertRows(file, 'sa_bans', [aRow(), aRow()]));
  await importSimpleAdmin(deps, { url });
  editSource(
    url,
    `update sa_bans set player_steamid = '${OTHER}' where id = 1`,
    `update sa_bans set created = '${LATER.created}' where id = 2`,
  );
  expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: 0, changed: 2, gone: 0 });
  expect(await stored()).toEqual([
    ['1', OTHER, false],
    ['2', PLAYER, false],
  ]);
});

test('a source_id of NDJSON stands for one penalty, whatever changes about it', async () => {
  const run = (player: string, created: string) =>
    importNdjson(deps, {
      chunks: new Blob([
        JSON.stringify({ penalty_type: 'ban', source_id: '1', player_steamid: player, created }),
      ]).stream(),
    });
  await run(PLAYER, '2026-11-21T11:30:00Z');
  expect(await run(OTHER, '2026-11-21T11:50:00Z')).toMatchObject({ added: 0, changed: 1 });
  expect(await stored()).toEqual([['1', OTHER, false]]);
});
