import fc from 'fast-check';

/** How many histories each model test tries; `.ci/run` asks for more. */
const RUNS = Number(process.env.MODEL_RUNS ?? 150);

/**
 * Tries random histories against a model. A failure is shrunk and printed with its seed, which `MODEL_SEED` repeats.
 * How many were tried is printed as well.
 */
export async function tryHistories<History>(
  name: string,
  histories: fc.Arbitrary<History>,
  play: (history: History) => Promise<void>,
  { runs = RUNS }: { runs?: number } = {},
): Promise<void> {
  const seed = Number(process.env.MODEL_SEED ?? Date.now() % 0x7fff_ffff);
  const parameters = { numRuns: runs, seed, endOnFailure: false } as const;
  await fc.assert(fc.asyncProperty(histories, play), parameters);
  console.log(`${name}: ${runs} histories, seed ${seed}`);
}
