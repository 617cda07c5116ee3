import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeLimit } from './time-limit.ts';

/** What to stop when the process ends, in two steps. */
export type Shutdown = {
  /** Registers what begins to turn clients away, before anything stops. */
  onDrain: (begin: () => void) => void;
  /**
   * Registers a part that serves the outside (HTTP, bot, poller): these stop first, all at once.
   * @param stop given how long it may take, in milliseconds.
   * @param serves whether it keeps running until clients have had time to move to another process.
   */
  onStopPart: (name: string, stop: (limitMs: number) => unknown, options?: { serves?: boolean }) => void;
  /** Registers what the parts need (database, caches): stopped after them, the last registered first. `limitMs` is 300 by default. */
  onStop: (name: string, stop: () => unknown, options?: { limitMs?: number }) => void;
  /**
   * Stops everything within five seconds, or 1.8 seconds after `drainMs` (0 by default) if that is later; what fails or
   * takes too long is logged and skipped.
   */
  stop: (options?: { drainMs?: number }) => Promise<void>;
  /** From the beginning of the drain on. */
  isStopping: () => boolean;
};

type Step = { name: string; stop: (limitMs: number) => unknown; limitMs: number };

/** Supervisors kill after five seconds at the earliest. */
const TOTAL_LIMIT_MS = 4800;
/** What it takes after the drain. */
const AFTER_DRAIN_MS = 1800;
/** For a part that hangs; each has a shorter limit of its own. */
const PART_LIMIT_MS = 3000;
/** What the parts need stops in milliseconds, unless the database hangs. */
const FOUNDATION_LIMIT_MS = 300;

/**
 * Collects what a starting service has to stop. Parts are stopped side by side, since one after another their limits
 * would add up to more than the five seconds that supervisors grant.
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
