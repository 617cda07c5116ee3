import { setDefaultTimeout } from 'bun:test';
import fc from 'fast-check';

// Of every test file that imports this: only for a hang, since a slow machine may need long for all histories.
setDefaultTimeout(3_600_000);

/** How many histories each model test tries. */
export const RUNS = Number(process.env.MODEL_RUNS ?? 150);

/** Histories that are tried at once start in the same millisecond: each takes the next seed. */
let nextSeed = Date.now() % 0x7fff_ffff;

/** @returns `MODEL_SEED`, which repeats a run; without it a seed that differs from every one before. */
export function drawSeed(): number {
  const given = process.env.MODEL_SEED;
  if (given !== undefined) return Number(given);
  nextSeed = (nextSeed + 1) % 0x7fff_ffff;
  return nextSeed;
}

/**
 * Tries random histories against a model. A failure is shrunk and printed, a step a line, with its seed and path, which
 * `MODEL_SEED` and `MODEL_PATH` repeat. The first failure is printed as soon as it is there: one that depends on the
 * moment does not come again while it is shrunk. How many were tried is printed as well.
 */
export async function tryHistories<History>(
  name: string,
  histories: fc.Arbitrary<History>,
  play: (history: History) => Promise<void>,
  { runs = RUNS }: { runs?: number } = {},
): Promise<void> {
  const seed = drawSeed();
  const path = process.env.MODEL_PATH;
  const parameters = { numRuns: runs, seed, endOnFailure: false, ...(path && { path }) };
  let tried = 0;
  let hasFailed = false;
  const property = fc.asyncProperty(histories.map(withStepALine), async (history) => {
    tried += 1;
    try {
      await play(history);
    } catch (error) {
      if (!hasFailed && !(error instanceof fc.PreconditionFailure)) {
        hasFailed = true;
        console.error(`${name}, seed ${seed}, the first failure:`, error);
      }
      throw error;
    }
  });
  await fc.assert(property, parameters);
  console.log(`${name}: ${tried} histories, seed ${seed}`);
}

/** How a failure shows a history; `play` sees no difference. */
function withStepALine<History>(history: History): History {
  if (!Array.isArray(history)) return history;
  const toLines = () =>
    `[\n${history.map((step) => `  ${JSON.stringify(step) ?? fc.stringify(step)},\n`).join('')}]`;
  return Object.defineProperty(history, fc.toStringMethod, { value: toLines });
}
