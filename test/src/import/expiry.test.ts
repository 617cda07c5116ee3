import { describe, expect, test } from 'bun:test';
import type { PenaltyStatus } from '../../../src/domain/penalty.ts';
import type { ImportDeps } from '../../../src/import/import-run.ts';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { importDeps, openImports, storedPenalties } from '../../support/import/penalty-rows.ts';
import { PLAYER, SYSTEMS } from '../../support/import/systems.ts';

const { database, db, connection, createFile } = await openImports();

/** When the rows end, in minutes from now: in the future, less than an hour ago, and longer ago. */
const ENDS = [30, -30, -90];
/** The status that each is stored with; reads correct the second. */
const STORED: PenaltyStatus[] = ['ACTIVE', 'ACTIVE', 'EXPIRED'];

type Row = { id: number; created: number; ends: number };

/** Rows that end this many minutes from now (negative: ago), in Unix seconds by the database's clock. */
async function rows(): Promise<Row[]> {
  const [clock] = await connection`select extract(epoch from now())::bigint as now`;
  const now = Number(clock?.now);
  return ENDS.map((ends, index) => ({ id: index + 1, created: now - 3000 * 60, ends: now + ends * 60 }));
}

/** Each source with the same rows: the import of them. */
const SOURCES: Record<string, (rows: Row[]) => (deps: ImportDeps) => Promise<unknown>> = {
  ...Object.fromEntries(
    Object.entries(SYSTEMS).map(([name, { schema, add, run }]) => [
      name,
      (all: Row[]) => {
        const url = createFile(`${schema}; ${all.map((row) => add('ban', row)).join('')}`);
        return (deps: ImportDeps) => run(deps, { url });
      },
    ]),
  ),
  ndjson: (all) => {
    const iso = (seconds: number) => new Date(seconds * 1000).toISOString();
    const lines = all.map(({ id, created, ends }) =>
      JSON.stringify({
        penalty_type: 'ban',
        player_steamid: PLAYER,
        source_id: id,
        created: iso(created),
        ends: iso(ends),
      }),
    );
    return (deps) => importNdjson(deps, { chunks: new Blob([lines.join('\n')]).stream() });
  },
};

describe.each(Object.entries(SOURCES))('an import from %s', (_, prepare) => {
  const statuses = async () => (await storedPenalties(db)).map(({ status }) => status);
  const depsAhead = (hours: number) =>
    importDeps(database, new Date(Date.now() + hours * 3_600_000).toISOString());

  test("an import whose clock is two days ahead of the database's expires no penalty that runs", async () => {
    await prepare(await rows())(depsAhead(48));
    expect(await statuses()).toEqual(STORED);
  });

  test('expires what ended an hour ago; a later import with a slow clock expires nothing more', async () => {
    const run = prepare(await rows());
    await run(depsAhead(0));
    expect(await statuses()).toEqual(STORED);
    await connection`truncate penalties`;
    await run(depsAhead(-2));
    expect(await statuses()).toEqual(['ACTIVE', 'ACTIVE', 'ACTIVE']);
  });
});
