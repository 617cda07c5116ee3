import { expect, test } from 'bun:test';
import { importSourcebans } from '../../../support/import/importers.ts';
import { openImports, storedPenalties } from '../../../support/import/penalty-rows.ts';

const { db, deps, createFile } = await openImports();
const NOW = Date.parse('2026-11-21T12:00:00Z') / 1000;

const COLUMNS =
  'bid integer primary key, authid text, created integer, length integer, ends integer, type integer, reason text, ' +
  'RemovedBy integer, RemovedOn integer, RemoveType text, ureason text';

test('RemoveType, RemovedBy and RemovedOn decide whether a penalty is lifted or expired, and assumptions are counted', async () => {
  // The columns after `authid`: created, length, ends, type.
  const toCome = `${NOW - 1800}, 3600, ${NOW + 1800}, 0`;
  const permanent = `${NOW - 1800}, 0, 0, 0`;
  const passed = `${NOW - 9000}, 3600, ${NOW - 5400}, 0`;
  const muteAndGag = [1, 2].map((type) => `${NOW - 1800}, 3600, ${NOW + 1800}, ${type}`);
  const url = createFile(`
    create table sb_admins (aid integer primary key, user text, authid text);
    insert into sb_admins values (3, 'Basia', 'STEAM_0:0:5');
    create table sb_bans (${COLUMNS}, aid integer);
    create table sb_comms (${COLUMNS}, aid integer);
    insert into sb_bans values
      (1, 'STEAM_0:1:1', ${toCome}, '', 3, ${NOW - 60}, null, 'Appeal', 0),
      (2, 'STEAM_0:1:1', ${permanent}, '', 3, ${NOW - 60}, '', 'Appeal', 0),
      (3, 'STEAM_0:1:1', ${toCome}, '', 3, ${NOW - 60}, 'E', 'Appeal', 0),
      (4, 'STEAM_0:1:1', ${permanent}, '', 3, ${NOW - 60}, 'E', 'Appeal', 0),
      (5, 'STEAM_0:1:1', ${passed}, '', 3, ${NOW - 60}, 'E', 'Appeal', 0),
      (6, 'STEAM_0:1:1', ${passed}, '', 3, ${NOW - 6000}, 'E', 'Appeal', 0),
      (7, 'STEAM_0:1:1', ${toCome}, '', 0, ${NOW - 60}, null, null, 0),
      (8, 'STEAM_0:1:1', ${permanent}, '', null, ${NOW - 60}, '', null, 0),
      (9, 'STEAM_0:1:1', ${toCome}, '', 0, 0, '', null, 0),
      (10, 'STEAM_0:1:1', ${NOW - 1800}, 3600, ${NOW + 1800}, 1, '', null, null, null, null, 0),
      (11, '', ${NOW - 1800}, 3600, ${NOW + 1800}, 1, '', null, null, null, null, 0),
      (12, 'STEAM_0:1:1', ${toCome}, '', 3, ${NOW - 60}, 'D', 'Mistake', 0),
      (13, 'STEAM_0:1:1', ${permanent}, '', 0, ${NOW - 60}, 'D', null, 0),
      (14, 'STEAM_0:1:1', ${passed}, '', 3, ${NOW - 60}, 'D', 'Mistake', 0);
    insert into sb_comms values
      (1, 'STEAM_0:1:1', ${muteAndGag[0]}, '', 3, ${NOW - 60}, 'U', 'Appeal', 0),
      (2, 'STEAM_0:1:1', ${muteAndGag[1]}, '', 3, ${NOW - 60}, null, 'Appeal', 0),
      (3, 'STEAM_0:0:9', ${muteAndGag[0]}, '', 0, ${NOW - 60}, null, null, 0),
      (4, 'STEAM_0:0:9', ${muteAndGag[1]}, '', null, null, null, null, 0)`);
  const summary = await importSourcebans(deps, { url });
  const stored = (await storedPenalties(db)).map(
    ({ sourceTable, sourceId, type, status, liftedByName, liftedAt, liftReason }) =>
      [
        sourceTable,
        sourceId,
        type,
        status,
        liftedByName,
        liftedAt && liftedAt.getTime() / 1000 - NOW,
        liftReason,
      ].join(' '),
  );
  expect(stored.sort(new Intl.Collator('en', { numeric: true }).compare)).toEqual([
    'bans 1 ban UNBANNED Basia -60 Appeal',
    'bans 2 ban UNBANNED Basia -60 Appeal',
    'bans 3 ban UNBANNED Basia -60 Appeal',
    'bans 4 ban UNBANNED Basia -60 Appeal',
    'bans 5 ban EXPIRED   ',
    'bans 6 ban UNBANNED Basia -6000 Appeal',
    'bans 7 ban EXPIRED   ',
    'bans 8 ban EXPIRED   ',
    'bans 9 ban ACTIVE   ',
    'bans 10 ban ACTIVE   ',
    'bans 11 ban ACTIVE   ',
    'bans 12 ban UNBANNED Basia -60 Mistake',
    'bans 13 ban UNBANNED CONSOLE -60 ',
    'bans 14 ban UNBANNED Basia -60 Mistake',
    'comms 1 silence UNBANNED Basia -60 Appeal',
    'comms 3 mute EXPIRED   ',
    'comms 4 gag ACTIVE   ',
  ]);
  expect(summary).toMatchObject({ setAside: 0, warnings: 0 });
  expect(summary.assumptions).toEqual([
    { rows: 5, assumption: expect.stringMatching(/^without a RemoveType .* 810$/) },
    { rows: 3, assumption: expect.stringMatching(/^with RemoveType E although/) },
    { rows: 1, assumption: expect.stringMatching(/^with a ban of an IP address that also names a SteamID/) },
  ]);
});
