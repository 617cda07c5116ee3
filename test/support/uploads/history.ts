import fc from 'fast-check';
import { aSteamId } from '../database/builders.ts';
import { SOUNDS } from './model.ts';

export const PLAYERS = [aSteamId(1), aSteamId(2)] as const;

const player = fc.constantFrom(...PLAYERS);
export type Interruption = { end: 'kill' | 'hang'; before: 'query' | 'move' | 'call'; nth: number };
/** A process is killed, or a worker hangs, before the nth query, call of ffmpeg or rename of a file. */
const interruption: fc.Arbitrary<Interruption> = fc.oneof(
  fc.record({ end: fc.constant('kill'), before: fc.constant('query'), nth: fc.nat(9) }),
  fc.record({ end: fc.constant('kill'), before: fc.constant('move'), nth: fc.nat(1) }),
  fc.record({ end: fc.constantFrom('hang', 'hang', 'kill'), before: fc.constant('call'), nth: fc.nat(4) }),
);

/** Most uploads are not interrupted; the others are killed before their nth query. */
const killedBefore = fc.oneof(
  { weight: 4, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.nat(8) },
);

const action = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('upload' as const),
      player,
      sound: fc.constantFrom(...SOUNDS, 'tone' as const, 'chord' as const),
      isMember: fc.boolean(),
      killedBefore,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('work' as const),
      interruption: fc.option(interruption, { nil: undefined, freq: 2 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('resume' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('delete' as const, 'hear' as const), player }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase' as const), player }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reconcile' as const) }) },
);

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('at once' as const),
      actions: fc.array(action, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('lapse' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('look' as const) }) },
);

/** What may happen to the sounds of players: several things at once, claims that run out, and looks at the whole. */
export const uploadHistory = fc.array(step, { minLength: 3, maxLength: 12 });

type Of<Arbitrary> = Arbitrary extends fc.Arbitrary<infer T> ? T : never;
export type UploadStep = Of<typeof step>;
export type UploadAction = Of<typeof action>;
