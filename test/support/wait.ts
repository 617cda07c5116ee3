/**
 * Waits until the condition holds, looking every 10 ms.
 * @returns what the condition gave.
 * @throws after `limitMs` (5 s by default).
 */
export async function waitFor<T>(
  condition: () => T | Promise<T>,
  { limitMs = 5000, what = condition.toString() }: { limitMs?: number; what?: string } = {},
): Promise<Truthy<T>> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const value = await condition();
    if (value) return value as Truthy<T>;
    if (performance.now() > deadline) throw new Error(`did not hold within ${limitMs} ms: ${what}`);
    await Bun.sleep(10);
  }
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;
