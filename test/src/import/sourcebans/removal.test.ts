import { expect, test } from 'bun:test';
import { openImports } from '../../../support/import/penalty-rows.ts';
import { BASIA, NOW, type SourceRow, SYSTEMS } from '../../../support/import/systems.ts';

const { deps, createFile, stored } = await openImports();
const { schema, addAdmin, add, run } = SYSTEMS['SourceBans++'];

const TO_COME = { created: NOW - 1800, length: 3600, ends: NOW + 1800 };
const PERMANENT = { created: NOW - 1800, length: 0, ends: 0 };
const PASSED = { created: NOW - 9000, length: 3600, ends: NOW - 5400 };
const BY_BASIA = { RemovedBy: BASIA.id, RemovedOn: NOW - 60, ureason: 'Appeal' };
const BY_CONSOLE = { RemovedBy: 0, RemovedOn: NOW - 60 };

/** Columns of bans, and what is stored of each: its status, and who lifted it, how many seconds after now, and why. */
const BANS: [SourceRow, string][] = [
  [{ ...TO_COME, ...BY_BASIA }, 'UNBANNED Basia -60 Appeal'],
  [{ ...PERMANENT, ...BY_BASIA, RemoveType: '' }, 'UNBANNED Basia -60 Appeal'],
  [{ ...TO_COME, ...BY_BASIA, RemoveType: 'E' }, 'UNBANNED Basia -60 Appeal'],
  [{ ...PERMANENT, ...BY_BASIA, RemoveType: 'E' }, 'UNBANNED Basia -60 Appeal'],
  [{ ...PASSED, ...BY_BASIA, RemoveType: 'E' }, 'EXPIRED   '],
  [{ ...PASSED, ...BY_BASIA, RemoveType: 'E', RemovedOn: NOW - 6000 }, 'UNBANNED Basia -6000 Appeal'],
  [{ ...TO_COME, ...BY_CONSOLE }, 'EXPIRED   '],
  [{ ...PERMANENT, ...BY_CONSOLE, RemoveType: '', RemovedBy: null }, 'EXPIRED   '],
  [{ ...TO_COME, RemoveType: '', RemovedBy: 0, RemovedOn: 0 }, 'ACTIVE   '],
  [{ ...TO_COME, type: 1 }, 'ACTIVE   '],
  [{ ...TO_COME, type: 1, authid: '' }, 'ACTIVE   '],
  [{ ...TO_COME, ...BY_BASIA, RemoveType: 'D' }, 'UNBANNED Basia -60 Appeal'],
  [{ ...PERMANENT, ...BY_CONSOLE, RemoveType: 'D' }, 'UNBANNED CONSOLE -60 '],
  [{ ...PASSED, ...BY_BASIA, RemoveType: 'D' }, 'UNBANNED Basia -60 Appeal'],
];

test('RemoveType, RemovedBy and RemovedOn decide whether a penalty is lifted or expired, and assumptions are counted', async () => {
  const comms = [
    { ...TO_COME, ...BY_BASIA, type: 1, RemoveType: 'U' },
    { ...TO_COME, ...BY_BASIA, type: 2 },
    { ...TO_COME, ...BY_CONSOLE, type: 1, authid: 'STEAM_0:0:9' },
    { ...TO_COME, type: 2, authid: 'STEAM_0:0:9' },
  ];
  const url = createFile(
    ...[schema, addAdmin(BASIA)],
    ...BANS.map(([columns], index) => add('ban', { id: index + 1 }, columns)),
    ...comms.map((columns, index) => add('mute', { id: index + 1 }, columns)),
  );
  const summary = await run(deps, { url });
  const rows = (await stored()).map(({ sourceTable, sourceId, type, status, liftedAt, ...row }) => {
    const state = [status, row.liftedByName, liftedAt && liftedAt.getTime() / 1000 - NOW, row.liftReason];
    return `${sourceTable} ${sourceId} ${type} ${state.join(' ')}`;
  });
  expect(rows.sort(new Intl.Collator('en', { numeric: true }).compare)).toEqual([
    ...BANS.map(([, state], index) => `bans ${index + 1} ban ${state}`),
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
