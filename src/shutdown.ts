import { withTimeLimit } from './time-limit.ts';

/** What is to be stopped when the process ends, in two steps. */
export type Shutdown = {
  /** Names what only works for others outside: such parts are stopped first, all at once. */
  onStopPart: (name: string, stop: () => unknown) => void;
  /** Names what parts stand on: stopped after them one by one, the last named first. `limitMs` is 300 by default. */
  onStop: (name: string, stop: () => unknown, options?: { limitMs?: number }) => void;
  /** Stops everything within five seconds; what fails or takes too long is logged and left behind. */
  stop: () => Promise<void>;
};

type Step = { name: string; stop: () => unknown; limitMs: number };

/** Supervisors kill after five seconds at the earliest. */
const TOTAL_LIMIT_MS = 4800;
/** Parts bound themselves below this; here it bounds one that hangs. */
const PART_LIMIT_MS = 3000;
/** What parts stand on stops in milliseconds, unless the database hangs. */
const GROUND_LIMIT_MS = 300;

/**
 * Gathers what a starting service has to stop. Parts are stopped side by side, since one after another their limits
 * would add up to more than the five seconds that supervisors grant.
 */
export function createShutdown(log: { error: (fields: object, message: string) => void }): Shutdown {
  const parts: Step[] = [];
  const ground: Step[] = [];

  async function stopStep({ name, stop, limitMs }: Step): Promise<void> {
    try {
      await withTimeLimit(Promise.try(stop), limitMs);
    } catch (error) {
      log.error({ err: error }, `${name} did not stop`);
    }
  }

  return {
    onStopPart: (name, stop) => parts.push({ name, stop, limitMs: PART_LIMIT_MS }),
    onStop: (name, stop, { limitMs = GROUND_LIMIT_MS } = {}) => ground.push({ name, stop, limitMs }),
    stop: async () => {
      const deadlineMs = performance.now() + TOTAL_LIMIT_MS;
      await Promise.all(parts.splice(0).map(stopStep));
      for (const step of ground.splice(0).reverse()) {
        const leftMs = Math.max(deadlineMs - performance.now(), GROUND_LIMIT_MS);
        await stopStep({ ...step, limitMs: Math.min(step.limitMs, leftMs) });
      }
    },
  };
}
