/**
 * How long to wait before the next attempt, in milliseconds: `firstMs` after the first failure, twice as long after each
 * further one, at most `longestMs`.
 * @param failures how many attempts have failed in a row, at least 1.
 */
export function retryPauseMs(
  failures: number,
  { firstMs, longestMs }: { firstMs: number; longestMs: number },
): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestMs);
}
