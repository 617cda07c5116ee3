/** How long a test waits for an expected event: longer than any busy machine takes, so only a defect reaches it. */
export const PATIENCE_MS = 120_000;

/**
 * Waits until the condition holds, looking every `everyMs` (10 ms by default).
 * @returns what the condition gave.
 * @throws after `limitMs`, {@link PATIENCE_MS} by default; a shorter limit is a promise that the test holds.
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { limitMs = PATIENCE_MS, everyMs = 10, what = condition.toString() }: WaitOptions = {},
): Promise<Truthy<T>> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await condition();
    if (value) return value as Truthy<T>;
    if (performance.now() > deadline) throw new Error(`did not hold within ${limitMs} ms: ${what}`);
    await Bun.sleep(everyMs);
  }
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

type WaitOptions = { limitMs?: number; everyMs?: number; what?: string };
