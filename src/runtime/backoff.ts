/**
 * How long to wait before the next attempt, in milliseconds: `firstMs` after the first failure, `factor` times as long
 * after each further one, at most `maxMs`.
 * @param failures how many attempts have failed in a row, at least 1.
 * @param options.factor 2 by default.
 */
export function backoffMs(
  failures: number,
  { firstMs, maxMs, factor = 2 }: { firstMs: number; maxMs: number; factor?: number },
): number {
  return Math.min(firstMs * factor ** (failures - 1), maxMs);
}
