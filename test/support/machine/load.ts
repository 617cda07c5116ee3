import { availableParallelism, loadavg } from 'node:os';

/** From a quarter of its processors in use a machine is no longer quiet; beyond five times their number a defect is likelier. */
const MOST = 20;

/**
 * The bound for what takes at most this long on a quiet machine: on a busy one, where processes wait for a processor,
 * up to 20 times as long.
 */
export function allowForLoad(ms: number): number {
  const [waiting = 0] = loadavg();
  return ms * Math.min(Math.max((4 * waiting) / availableParallelism(), 1), MOST);
}
