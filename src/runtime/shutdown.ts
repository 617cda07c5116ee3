import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeLimit } from './time-limit.ts';

/** What has to stop when the process ends: first the parts, then what they depend on. */
export type Shutdown = {
  /** Registers a callback for the beginning of the drain, before anything stops. */
  onDrain: (begin: () => void) => void;
  /**
   * Registers a part (HTTP, bot, poller): parts stop first, all at once.
   * @param stop called with how long it may take, in milliseconds.
   * @param serves whether it keeps running during the drain, while clients move to another process.
   */
  onStopPart: (name: string, stop: (limitMs: number) => unknown, options?: { serves?: boolean }) => void;
  /** Registers what the parts depend on (database, caches): stopped after them in reverse order. `limitMs` is 300 by default. */
  onStop: (name: string, stop: () => unknown, options?: { limitMs?: number }) => void;
  /**
   * Stops everything within five seconds, or within 1.8 seconds after `drainMs` (0 by default) if that is later; a step
   * that fails or takes too long is logged and skipped.
   */
  stop: (options?: { drainMs?: number }) => Promise<void>;
  /** True from the beginning of the drain on. */
  isStopping: () => boolean;
};

type Step = { name: string; stop: (limitMs: number) => unknown; limitMs: number };

/** Supervisors kill a process after five seconds at the earliest. */
const TOTAL_LIMIT_MS = 4800;
/** Allowed for stopping after the drain. */
const AFTER_DRAIN_MS = 1800;
/** Only reached by a part that hangs. */
const PART_LIMIT_MS = 3000;
/** Foundations stop within milliseconds, unless the database hangs. */
const FOUNDATION_LIMIT_MS = 300;

/**
 * Collects what a starting service has to stop. Parts stop concurrently: in sequence, their limits would add up to more
 * than the five seconds that supervisors grant.
 */
export function createShutdown(log: { error: (fields: object, message: string) => void }): Shutdown {
  const drains: (() => void)[] = [];
  const parts: Step[] = [];
  const servingParts: Step[] = [];
  let isStopping = false;
  const foundations: Step[] = [];

  async function stopStep({ name, stop, limitMs }: Step): Promise<void> {
    try {
      await withTimeLimit(
        Promise.try(() => stop(limitMs)),
        limitMs,
      );
    } catch (error) {
      log.error({ err: error }, `${name} did not stop`);
    }
  }

  return {
    onDrain: (begin) => drains.push(begin),
    onStopPart: (name, stop, { serves = false } = {}) =>
      (serves ? servingParts : parts).push({ name, stop, limitMs: PART_LIMIT_MS }),
    onStop: (name, stop, { limitMs = FOUNDATION_LIMIT_MS } = {}) => foundations.push({ name, stop, limitMs }),
    isStopping: () => isStopping,
    stop: async ({ drainMs = 0 } = {}) => {
      isStopping = true;
      const deadlineMs = performance.now() + Math.max(TOTAL_LIMIT_MS, drainMs + AFTER_DRAIN_MS);
      for (const begin of drains.splice(0)) begin();
      const stopServing = async () => {
        if (drainMs > 0) await sleep(drainMs);
        const leftMs = deadlineMs - performance.now() - FOUNDATION_LIMIT_MS;
        const limitMs = Math.min(PART_LIMIT_MS, leftMs);
        await Promise.all(servingParts.splice(0).map((step) => stopStep({ ...step, limitMs })));
      };
      await Promise.all([...parts.splice(0).map(stopStep), stopServing()]);
      for (const step of foundations.splice(0).reverse()) {
        const leftMs = Math.max(deadlineMs - performance.now(), FOUNDATION_LIMIT_MS);
        await stopStep({ ...step, limitMs: Math.min(step.limitMs, leftMs) });
      }
    },
  };
}
