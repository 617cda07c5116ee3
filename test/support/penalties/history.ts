import fc from 'fast-check';
import { PENALTY_STATUSES, PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { PENALTY_SORTS } from '../../../src/queries/penalties/row.ts';
import { aSteamId } from '../database/builders.ts';
import type { ModelPenalty } from './model.ts';

export const PLAYERS = [aSteamId(1), aSteamId(2)] as const;
export const ADMINS = [aSteamId(900), aSteamId(901)] as const;
export const WRITERS = [0, 1, 2] as const;

/** Times are in hours from the database's present. Changes reach a penalty of the writer's own, by its place. */
const penalty = {
  type: fc.constantFrom(...PENALTY_TYPES),
  player: fc.constantFrom(...PLAYERS),
  admin: fc.constantFrom(...ADMINS),
  server: fc.constantFrom(1, 2),
  reason: fc.constantFrom('', 'Wallhack', '100% wALL_'),
  created: fc.integer({ min: -30, max: -8 }),
  ends: fc.option(fc.integer({ min: -6, max: 6 })),
};
const place = fc.nat(2);
const operation = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('insert' as const), ...penalty }) },
  fc.record({ kind: fc.constantFrom('lift' as const, 'delete' as const), place }),
  fc.record({ kind: fc.constant('change' as const), place, ...penalty }),
);
const transaction = fc.record({
  kind: fc.oneof(
    { weight: 5, arbitrary: fc.constant('commit' as const) },
    { weight: 2, arbitrary: fc.constant('rollback' as const) },
    // Each needs a new connection, which takes most of a history's time.
    { weight: 1, arbitrary: fc.constant('kill' as const) },
  ),
  writer: fc.constantFrom(...WRITERS),
  operations: fc.array(operation, { minLength: 1, maxLength: 3 }),
});
const sourceId = fc.constantFrom('a', 'b', 'c');
const filter = fc.record(
  {
    status: fc.constantFrom(...PENALTY_STATUSES),
    player: penalty.player,
    admin: penalty.admin,
    server: penalty.server,
    types: fc.subarray([...PENALTY_TYPES], { minLength: 1 }),
    from: fc.integer({ min: -30, max: -20 }),
    to: fc.integer({ min: -20, max: -8 }),
    reason: fc.constantFrom('WaLl', '00%', 'll_'),
  },
  { requiredKeys: [] },
);
const importStep = fc.record({
  kind: fc.constantFrom('import' as const, 'import' as const, 'killed import' as const),
  lines: fc.uniqueArray(fc.record({ sourceId, ...penalty, status: fc.constantFrom(...PENALTY_STATUSES) }), {
    minLength: 1,
    maxLength: 3,
    selector: (line) => `${line.type} ${line.sourceId}`,
  }),
});
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('at once' as const),
      transactions: fc.uniqueArray(transaction, {
        minLength: 1,
        maxLength: 3,
        selector: ({ writer }) => writer,
      }),
    }),
  },
  // Two connections each.
  { weight: 1, arbitrary: importStep },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('expire' as const, 'sweep' as const, 'follow' as const) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('clock' as const), hours: fc.integer({ min: -6, max: 6 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('look' as const),
      filter,
      sort: fc.constantFrom(...PENALTY_SORTS),
      perPage: fc.integer({ min: 1, max: 4 }),
      page: fc.integer({ min: 1, max: 3 }),
    }),
  },
);

/** What may happen to penalties, from several connections and the clock. */
export const penaltyHistory = fc.array(step, { minLength: 3, maxLength: 10 });

type StepOf<Arbitrary> = Arbitrary extends fc.Arbitrary<infer T> ? T : never;
export type PenaltyStep = StepOf<typeof step>;
export type PenaltyTransaction = StepOf<typeof transaction>;
export type PenaltyImport = StepOf<typeof importStep>;
/** A penalty as a step gives it. */
export type GivenPenalty = Pick<ModelPenalty, 'type' | 'player' | 'admin' | 'server' | 'reason'> & {
  created: number;
  ends: number | null;
};
