import { expect, test } from 'bun:test';
import type { ImportSummary } from '../../../src/import/import-report.ts';
import { importSourcebans } from '../../support/import/importers.ts';
import { LINE, openImports } from '../../support/import/penalty-rows.ts';
import { editSource } from '../../support/import/source-file.ts';
import { BASIA, NOW, type SourceRow, SYSTEMS } from '../../support/import/systems.ts';

const { deps, createFile, stored, importLines, importTwice } = await openImports();
const OTHER = '76561198000000002';

/** Prepares an import of bans with these columns, from a system or from lines of JSON. */
function prepare(source: string, ...bans: SourceRow[]): () => Promise<ImportSummary> {
  const system = Object.entries(SYSTEMS).find(([name]) => name === source)?.[1];
  if (!system) return () => importLines(bans.map((columns) => ({ ...LINE, ...columns })));
  const rows = bans.map((columns, index) => system.add('ban', { id: index + 1 }, columns));
  const url = createFile(system.schema, ...rows);
  return () => system.run(deps, { url });
}

const OUTSIDE = 'lies outside the years 1971 to 9999';

test.each<[string, string, SourceRow, { table: string; reason: unknown }]>([
  [
    'CS2-SimpleAdmin',
    'a creation worked out from an end and a duration of 3,800 years',
    { created: '0000-00-00 00:00:00', ends: '2026-11-21 12:30:00', duration: 2_000_000_000 },
    {
      table: 'sa_bans',
      reason: expect.stringMatching(/^its creation -00\d{4}-.* lies outside the years 1971 to 9999$/),
    },
  ],
  [
    'SourceBans++',
    'an end worked out from a creation on the last day that is accepted',
    { created: Date.UTC(9999, 11, 30) / 1000, ends: null, length: 1096 * 86_400 },
    { table: 'bans', reason: `its end +010002-12-30T00:00:00.000Z ${OUTSIDE}` },
  ],
  [
    'IKS Admin',
    'a creation in 1970',
    { created_at: 5 },
    { table: 'iks_bans', reason: `its creation 1970-01-01T00:00:05.000Z ${OUTSIDE}` },
  ],
  [
    'lines of JSON',
    'an end worked out from a duration of 4,000 years',
    { created: '9000-01-01T00:00:00Z', duration: 2_147_483_647 },
    {
      table: 'line',
      reason: expect.stringMatching(/^its end \+013083-.* lies outside the years 1971 to 9999$/),
    },
  ],
  [
    'lines of JSON',
    'a creation in 1970',
    { created: '1970-12-31T23:59:59Z' },
    { table: 'line', reason: `its creation 1970-12-31T23:59:59.000Z ${OUTSIDE}` },
  ],
])('%s: a row with %s is set aside with table and id, the rest is kept', async (source, _, bad, report) => {
  const summary = await importTwice(prepare(source, { ...bad, reason: 'bad' }, { reason: 'good' }));
  expect(summary).toMatchObject({ read: 2, added: 1, setAside: 1, rowsSetAside: [{ ...report, id: '1' }] });
  expect(await stored()).toMatchObject([{ reason: 'good' }]);
});

test('IKS Admin: nothing is assumed about a row that is set aside', async () => {
  const run = prepare('IKS Admin', { duration: -60, end_at: NOW + 60, unban_reason: 'Appeal' });
  expect(await run()).toMatchObject({ setAside: 1, assumptions: [] });
});

/** Rows without a date of creation: one with an end and a duration, one that is permanent. */
const ENDS = Date.parse('2026-11-21T12:30:00Z') / 1000;
test.each<[string, SourceRow, SourceRow]>([
  ['SourceBans++', { created: 0, length: 3600, ends: ENDS }, { created: 0, length: 0, ends: 0 }],
  ['IKS Admin', { created_at: 0, duration: 3600, end_at: ENDS }, { created_at: 0, duration: 0, end_at: 0 }],
  [
    'lines of JSON',
    { created: '0000-00-00 00:00:00', duration: 60, ends: '2026-11-21T12:30:00Z' },
    { created: 0, duration: 0 },
  ],
])(
  '%s: a missing creation is computed from end and duration, where there are any',
  async (source, ended, permanent) => {
    const summary = await prepare(source, ended, permanent)();
    expect(summary).toMatchObject({ added: 1, setAside: 1, rowsSetAside: [{ id: '2' }] });
    expect(summary.warnedRows).toMatchObject([
      { id: '1', reason: 'it has no date of creation: computed as its end minus its duration' },
    ]);
    const [row] = await stored();
    expect(row?.createdAt).toEqual(new Date('2026-11-21T11:30:00Z'));
    expect(row?.endsAt).toEqual(new Date('2026-11-21T12:30:00Z'));
  },
);

test('mutes and gags without a creation are one silence only if they end together', async () => {
  const { schema, add } = SYSTEMS['SourceBans++'];
  const row = (id: number, type: number, ends: number) =>
    add('mute', { id }, { type, created: 0, length: 3600, ends });
  const url = createFile(schema, row(1, 1, ENDS), row(2, 2, ENDS + 60), row(3, 2, ENDS));
  await importSourcebans(deps, { url });
  const types = (await stored()).map(({ sourceId, type }) => `${sourceId} ${type}`);
  expect(types.sort()).toEqual(['1 silence', '2 gag']);
});

test('the first and the last moment that a penalty may have are kept', async () => {
  const first = { ...LINE, created: '1971-01-01T00:00:00Z', ends: '1971-01-01T00:01:00Z' };
  const last = { ...LINE, ends: '5000-12-31T23:59:59Z', unbanned_at: '9999-12-31T23:59:59Z' };
  expect(await importLines([first, last])).toMatchObject({ added: 2, setAside: 0 });
});

test('a source_id of 256 characters of two UTF-16 units each is kept', async () => {
  const line = { ...LINE, source_id: '🎯'.repeat(256) };
  expect(await importLines([line])).toMatchObject({ added: 1, setAside: 0 });
});

/** What makes mutes unreadable. */
const SPOILED: Record<string, string> = {
  'SourceBans++': 'type = 9',
  'IKS Admin': "steam_id = 'STEAM_ID_PENDING'",
  'CS2-SimpleAdmin': 'duration = -1',
};

test.each(Object.entries(SYSTEMS))(
  '%s: a row that can no longer be read is lifted all the same, or reported as out of date',
  async (name, { schema, addAdmin, add, lift, tables, run }) => {
    const mutes = [
      add('mute', { id: 1, playerName: 'A' }),
      add('mute', { id: 2, playerName: 'B', player: OTHER }),
    ];
    const url = createFile(schema, addAdmin(BASIA), ...mutes);
    await run(deps, { url });
    expect(await stored()).toMatchObject([{ status: 'ACTIVE' }, { status: 'ACTIVE' }]);
    editSource(url, `update ${tables.mute} set ${SPOILED[name]}`);
    const spoiled = await run(deps, { url });
    expect(spoiled).toMatchObject({ setAside: 2, outdated: 2, changed: 0, gone: 0 });
    expect(spoiled.outdatedRows).toEqual(spoiled.rowsSetAside);

    editSource(url, lift('mute', 1, { by: BASIA, at: NOW, reason: 'Appeal' }));
    for (const isDryRun of [true, false]) {
      const lifted = await run(deps, { url, isDryRun });
      expect(lifted).toMatchObject({ changed: 1, setAside: 1, outdated: 1, gone: 0 });
      expect(lifted.outdatedRows).toMatchObject([{ id: '2' }]);
      expect(lifted.warnedRows).toMatchObject([
        { id: '1', reason: expect.stringContaining('only that it is over was imported: ') },
      ]);
    }
    const lifted = { status: 'UNBANNED', liftedByName: 'Basia', liftReason: 'Appeal' };
    expect(await stored()).toEqual([
      expect.objectContaining({ type: 'mute', ...lifted, liftedAt: new Date(NOW * 1000) }),
      expect.objectContaining({ status: 'ACTIVE' }),
    ]);
    expect(await run(deps, { url })).toMatchObject({ changed: 0, outdated: 1, gone: 0 });
  },
);

test.each(Object.entries(SYSTEMS))(
  '%s: imports a lift whose time cannot be read, without the time',
  async (_, { schema, addAdmin, add, lift, run }) => {
    const liftAt = (id: number, at: number) => lift('ban', id, { by: BASIA, at, reason: 'Appeal' });
    const bans = [add('ban', { id: 1 }), add('ban', { id: 2 }), liftAt(1, -1), liftAt(2, 86_400)];
    const url = createFile(schema, addAdmin(BASIA), ...bans);
    expect(await run(deps, { url })).toMatchObject({ added: 2, setAside: 0 });
    const lifted = { status: 'UNBANNED', liftedAt: null, liftedByName: 'Basia', liftReason: 'Appeal' };
    expect(await stored()).toMatchObject([lifted, lifted]);
  },
);

test('imports a lifted NDJSON line whose time of lifting cannot be read, without the time', async () => {
  const lines = ['2026-13-45', '1970-06-01T00:00:00Z', '-1'].map((unbanned_at) => ({
    ...LINE,
    reason: unbanned_at,
    status: 'UNBANNED',
    unbanned_at,
  }));
  expect(await importLines(lines)).toMatchObject({ added: 3 });
  const lifted = { status: 'UNBANNED', liftedAt: null };
  expect(await stored()).toMatchObject([lifted, lifted, lifted]);
});
