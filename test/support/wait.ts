/** How long a test waits for another process: longer than any busy machine takes, so only a defect reaches it. */
export const PATIENCE_MS = 120_000;

/** The time that a condition has to hold on an idle machine. */
const LOOKS_MS = 10_000;

/**
 * Waits until the condition holds, looking every `everyMs` (10 ms by default).
 * @param options.limitMs the time to wait instead; a shorter one is a promise that the test holds.
 * @returns what the condition gave.
 * @throws after as many looks as fit into ten seconds, so that a busy machine, which looks less often, gets more time; the
 *   error says what the test waited for and what it saw last.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { limitMs, everyMs = 10, what = condition.toString() }: WaitOptions = {},
): Promise<Truthy<T>> {
  const start = performance.now();
  const looks = limitMs === undefined ? LOOKS_MS / everyMs : Number.POSITIVE_INFINITY;
  for (let look = 1; ; look++) {
    const value = await condition();
    if (value) return value as Truthy<T>;
    const waitedMs = Math.round(performance.now() - start);
    if (look >= looks || waitedMs > (limitMs ?? PATIENCE_MS))
      throw new Error(`did not hold within ${waitedMs} ms: ${what} (last: ${Bun.inspect(value)})`);
    await Bun.sleep(everyMs);
  }
}

/** The same for what another process has to do, such as a service, an encoder or PostgreSQL: up to {@link PATIENCE_MS}. */
export function waitForProcess<T>(
  condition: () => T | Promise<T>,
  options: Omit<WaitOptions, 'limitMs'> = {},
): Promise<Truthy<T>> {
  return waitFor(condition, { ...options, limitMs: PATIENCE_MS });
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

type WaitOptions = { limitMs?: number; everyMs?: number; what?: string };
