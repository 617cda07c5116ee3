import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ChangeReader } from '../../support/database/change-reader.ts';
import { tallyDifferences } from '../../support/database/tallies.ts';
import { openImports } from '../../support/import/penalty-rows.ts';
import { editSource } from '../../support/import/source-file.ts';
import { NOW, SYSTEMS } from '../../support/import/systems.ts';
import { RUNS, tryHistories } from '../../support/model.ts';

const { db, connection, deps, createFile, stored } = await openImports();
const { schema, add, run } = SYSTEMS['SourceBans++'];

type Kind = 'ban' | 'mute' | 'silence';
/** `place` chooses a penalty among those to which the step applies; `id`, an id among the free ones of its table. */
type Step =
  | { kind: 'add'; what: Kind; player: number; id: number }
  | { kind: 'delete' | 'lift' | 'spoil' | 'edit'; place: number }
  | { kind: 'restore'; place: number; id: number }
  | { kind: 'renumber'; by: number }
  | { kind: 'truncate' }
  | { kind: 'import' };

const place = fc.nat({ max: 7 });
const id = fc.nat({ max: 4 });
const history = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('add'),
        what: fc.constantFrom('ban', 'mute', 'silence'),
        player: fc.nat({ max: 2 }),
        id,
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('delete', 'lift', 'spoil', 'edit'), place }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('restore'), place, id }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('renumber'), by: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('truncate') }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('import') }) },
  ),
  { minLength: 4, maxLength: 22 },
) as fc.Arbitrary<Step[]>;

/** A penalty of the source, whether or not its rows are there now. */
type Thing = {
  what: Kind;
  player: number;
  created: number;
  reason: string;
  isLifted: boolean;
  /** A silence is always readable. */
  isUnreadable: boolean;
  /** Ascending; empty while it has no rows. */
  ids: number[];
};

/** What is stored of it, and under which id of the source; null for one that another penalty has now. */
type Stored = { number: string; row: number | null; status: string; reason: string; isGone: boolean };

class Model {
  readonly things: Thing[] = [];
  readonly stored = new Map<Thing, Stored>();

  private tableOf(what: Kind): Thing[] {
    return this.things.filter((thing) => (thing.what === 'ban') === (what === 'ban'));
  }

  private takeIds({ what }: Thing, choice: number): number[] {
    const taken = new Set(this.tableOf(what).flatMap(({ ids }) => ids));
    const free = Array.from({ length: 40 }, (_, index) => index + 1).filter((each) => !taken.has(each));
    return free.slice(choice, choice + (what === 'silence' ? 2 : 1));
  }

  edit(step: Exclude<Step, { kind: 'import' }>): void {
    if (step.kind === 'add') {
      // Never a whole number of quarter hours apart.
      const created = NOW - 50_000 + this.things.length * 61;
      const { what, player, id } = step;
      const thing: Thing = {
        what,
        player,
        created,
        reason: 'r',
        isLifted: false,
        isUnreadable: false,
        ids: [],
      };
      thing.ids = this.takeIds(thing, id);
      this.things.push(thing);
    } else if (step.kind === 'truncate') for (const thing of this.things) thing.ids = [];
    else if (step.kind === 'renumber') {
      for (const what of ['ban', 'mute'] as const) {
        const present = this.tableOf(what).filter(({ ids }) => ids.length > 0);
        const ids = present.flatMap((thing) => thing.ids).sort((a, b) => a - b);
        const turned = [...ids.slice(step.by), ...ids.slice(0, step.by)];
        for (const thing of present) thing.ids = turned.splice(0, thing.ids.length).sort((a, b) => a - b);
      }
    } else {
      const isAbsent = ({ ids }: Thing) => ids.length === 0;
      const choices = this.things.filter((thing) => isAbsent(thing) === (step.kind === 'restore'));
      const thing = choices[step.place % choices.length];
      if (!thing) return;
      if (step.kind === 'restore') thing.ids = this.takeIds(thing, step.id);
      if (step.kind === 'delete') thing.ids = [];
      if (step.kind === 'lift') thing.isLifted = !thing.isLifted;
      if (step.kind === 'edit') thing.reason += 'x';
      if (step.kind === 'spoil' && thing.what !== 'silence') thing.isUnreadable = !thing.isUnreadable;
    }
  }

  /** The rows of the source, as statements that replace those that are there. */
  statements(): string[] {
    const rows = this.things.flatMap(({ what, player, created, reason, isLifted, isUnreadable, ids }) =>
      ids.map((id, index) =>
        add(
          what === 'ban' ? 'ban' : 'mute',
          { id, player: `STEAM_0:1:${player}`, playerName: `Gracz ${player}`, reason, created },
          {
            ...(what !== 'ban' && { type: index + 1 }),
            ...(isUnreadable && { length: -5 }),
            ...(isLifted && { RemoveType: 'U', RemovedBy: 0, RemovedOn: NOW }),
          },
        ),
      ),
    );
    return ['delete from sb_bans; delete from sb_comms', ...rows];
  }

  /** What has to be stored after an import of these rows, worked out row by row. */
  import(): void {
    const seen = new Set<Stored>();
    for (const thing of this.things) {
      const [row] = thing.ids;
      let own = this.stored.get(thing);
      if (row === undefined) continue;
      for (const [other, each] of this.stored) {
        const isSameTable = (other.what === 'ban') === (thing.what === 'ban');
        if (other !== thing && isSameTable && each.row !== null && thing.ids.includes(each.row))
          each.row = null;
      }
      const isStoredHere = own !== undefined && own.row !== null && thing.ids.includes(own.row);
      if (thing.isUnreadable && !isStoredHere) continue;
      if (!own) {
        own = { number: '', row, status: '', reason: '', isGone: false };
        this.stored.set(thing, own);
      }
      seen.add(own);
      const status = thing.isLifted ? 'UNBANNED' : 'ACTIVE';
      if (!thing.isUnreadable) Object.assign(own, { row, status, reason: thing.reason, isGone: false });
      else if (thing.isLifted) Object.assign(own, { status, isGone: false });
    }
    for (const own of this.stored.values()) {
      if (seen.has(own)) continue;
      own.isGone = true;
      own.status = 'UNBANNED';
    }
  }
}

async function play(steps: Step[]): Promise<void> {
  await connection`truncate penalties, penalty_events, penalty_sources restart identity cascade`;
  const model = new Model();
  const client = new ChangeReader(db);
  await client.export();
  const url = createFile(schema);
  for (const step of [...steps, { kind: 'import' } as const]) {
    if (step.kind !== 'import') {
      model.edit(step);
      continue;
    }
    editSource(url, ...model.statements());
    const announced = await run(deps, { url, isDryRun: true, acceptsRemovals: true });
    const done = await run(deps, { url, acceptsRemovals: true });
    expect(announced).toEqual({ ...done, isDryRun: true });
    model.import();
    const rows =
      await connection`select id::text as number, extract(epoch from created_at)::integer as created,
      type, status, reason, gone_at is not null as gone from penalties order by id`;
    for (const [thing, own] of model.stored) {
      const mine = rows.filter(({ created }) => created === thing.created);
      own.number ||= mine[0]?.number;
      const { number, status, reason, isGone: gone } = own;
      expect(mine).toEqual([{ number, created: thing.created, type: thing.what, status, reason, gone }]);
    }
    expect(rows).toHaveLength(model.stored.size);
    expect(await run(deps, { url, acceptsRemovals: true })).toMatchObject({ added: 0, changed: 0, gone: 0 });
  }
  expect(await tallyDifferences(connection)).toEqual([]);
  const names = await connection`select steamid64::text as player, name from player_names order by 1`;
  const named =
    await connection`select distinct player_steamid::text as player, player_name as name from penalties order by 1`;
  expect([...names]).toEqual([...named]);
  while (await client.read(5));
  await client.expectSameAsTable();
  expect(await stored()).toHaveLength(model.stored.size);
}

test('imports store the same as a model that reads the source row by row', () =>
  tryHistories('imports of a changing source', history, play, { runs: Math.ceil(RUNS / 5) }));
