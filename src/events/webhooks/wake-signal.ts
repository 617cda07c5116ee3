import { withTimeLimit } from '../../runtime/time-limit.ts';

/** Ends the pause of a loop early. After a wake-up while the loop is working, its next pause ends at once. */
export type WakeSignal = {
  wake: () => void;
  /** Settles after a wake-up, after `limitMs`, or when the signal aborts. */
  wait: (limitMs: number, signal: AbortSignal) => Promise<void>;
};

/** Creates the signal of one loop: only one pause at a time can wait for it. */
export function createWakeSignal(): WakeSignal {
  let isWoken = false;
  let endPause: (() => void) | undefined;
  return {
    wake: () => {
      isWoken = true;
      endPause?.();
    },
    wait: async (limitMs, signal) => {
      if (!isWoken && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        endPause = resolve;
        signal.addEventListener('abort', endPause);
        await withTimeLimit(promise, limitMs).catch(() => undefined);
        signal.removeEventListener('abort', endPause);
        endPause = undefined;
      }
      isWoken = false;
    },
  };
}
