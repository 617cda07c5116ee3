import type { Count, Metrics } from '../../runtime/metrics.ts';

const counters = new WeakMap<Metrics, Count<'cache' | 'result'>>();

/** @returns a function that counts the hits and misses of a cache. */
export function countLookups(metrics: Metrics, cache: string): (isHit: boolean) => void {
  const count =
    counters.get(metrics) ??
    metrics.addCounter('cache_lookups_total', 'Lookups in memory, by whether a value was there.', [
      'cache',
      'result',
    ]);
  counters.set(metrics, count);
  const [hit, miss] = [count.of({ cache, result: 'hit' }), count.of({ cache, result: 'miss' })];
  return (isHit) => (isHit ? hit() : miss());
}
