import fc from 'fast-check';
import { aSteamId } from '../database/builders.ts';
import { SOUNDS } from './model.ts';

export const PLAYERS = [aSteamId(1), aSteamId(2)] as const;

const player = fc.constantFrom(...PLAYERS);
/** A process is killed, or hangs, before its nth query, call of ffmpeg, chunk of a file that it receives, or rename. */
export type Interruption = { end: 'kill' | 'hang'; before: 'query' | 'move' | 'call' | 'chunk'; nth: number };

function before(end: Interruption['end'], what: Interruption['before'], most: number) {
  const nth = fc.nat(most);
  return fc.record({ end: fc.constant(end), before: fc.constant(what), nth });
}

function uploadThat(interruption: fc.Arbitrary<Interruption | undefined>) {
  return fc.record({
    kind: fc.constant('upload' as const),
    player,
    sound: fc.constantFrom(...SOUNDS, 'tone' as const, 'chord' as const),
    isMember: fc.boolean(),
    interruption,
  });
}

function workThat(interruption: fc.Arbitrary<Interruption | undefined>) {
  return fc.record({ kind: fc.constant('work' as const), interruption });
}

const calm = fc.constant(undefined);
const hangingUpload = uploadThat(before('hang', 'chunk', 0));
const hangingWork = workThat(before('hang', 'call', 3));
const killedWork = workThat(
  fc.oneof(before('kill', 'query', 9), before('kill', 'move', 1), before('kill', 'call', 4)),
);
const resume = fc.record({ kind: fc.constant('resume' as const) });

const action = fc.oneof(
  { weight: 4, arbitrary: uploadThat(calm) },
  { weight: 1, arbitrary: uploadThat(before('kill', 'query', 8)) },
  { weight: 3, arbitrary: workThat(calm) },
  { weight: 2, arbitrary: killedWork },
  { weight: 1, arbitrary: hangingWork },
  { weight: 2, arbitrary: resume },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('delete' as const, 'hear' as const), player }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase' as const), player }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reconcile' as const) }) },
);

const lapse = fc.record({ kind: fc.constant('lapse' as const) });
const step = fc.oneof(
  { weight: 6, arbitrary: atOnce(fc.array(action, { minLength: 1, maxLength: 3 })) },
  { weight: 2, arbitrary: lapse },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('look' as const) }) },
);

function atOnce<Action>(actions: fc.Arbitrary<Action[]>) {
  return fc.record({ kind: fc.constant('at once' as const), actions });
}

/** One process hangs, and continues after others have worked on the same: a sequence that is rare by chance. */
const overtaken = fc.oneof(
  fc.tuple(alone(hangingWork), lapse, alone(fc.oneof(hangingWork, killedWork, workThat(calm)))),
  fc.tuple(alone(hangingWork), step),
  fc.tuple(alone(hangingUpload), atOnce(fc.array(action, { minLength: 1, maxLength: 2 }))),
);

function alone<Action>(what: fc.Arbitrary<Action>) {
  return atOnce(fc.tuple(what));
}

/** What may happen to the sounds of players: several things at once, claims that run out, and looks at the whole. */
export const uploadHistory = fc
  .array(
    fc.oneof(
      { weight: 5, arbitrary: fc.tuple(step) },
      { weight: 1, arbitrary: fc.tuple(overtaken, alone(resume)).map(([steps, last]) => [...steps, last]) },
    ),
    { minLength: 3, maxLength: 10 },
  )
  .map((parts) => parts.flat());

type Of<Arbitrary> = Arbitrary extends fc.Arbitrary<infer T> ? T : never;
export type UploadStep = Of<typeof uploadHistory>[number];
export type UploadAction = Of<typeof action>;
