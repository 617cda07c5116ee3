/** How long a test waits for an expected event: longer than any busy machine takes, so only a defect reaches it. */
export const PATIENCE_MS = 120_000;

/** When a wait says what it waits for. */
const SPEAKS_AFTER_MS = 10_000;
/** The time that a condition has to hold on an idle machine. */
const LOOKS_MS = 30_000;

/**
 * Waits until the condition holds, looking every `everyMs` (10 ms by default). After ten seconds it says what it waits for.
 * @returns what the condition gave.
 * @throws after as many looks as fit into 30 seconds: a busy machine, which looks less often, gets more time, up to
 *   {@link PATIENCE_MS}. With `limitMs`, after that time; a shorter limit is a promise that the test holds.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { limitMs, everyMs = 10, what = condition.toString() }: WaitOptions = {},
): Promise<Truthy<T>> {
  const start = performance.now();
  const looks = limitMs === undefined ? LOOKS_MS / everyMs : Number.POSITIVE_INFINITY;
  let speaksAtMs = SPEAKS_AFTER_MS;
  for (let look = 1; ; look++) {
    const value = await condition();
    if (value) return value as Truthy<T>;
    const waitedMs = performance.now() - start;
    const state = () => `${Math.round(waitedMs)} ms: ${what} (last: ${Bun.inspect(value)})`;
    if (look >= looks || waitedMs > (limitMs ?? PATIENCE_MS))
      throw new Error(`did not hold within ${state()}`);
    if (waitedMs > speaksAtMs) {
      console.warn(`waiting since ${state()}`);
      speaksAtMs = Number.POSITIVE_INFINITY;
    }
    await Bun.sleep(everyMs);
  }
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

type WaitOptions = { limitMs?: number; everyMs?: number; what?: string };
