/** Wakes one who waits; rung while nobody waits, it ends the next wait at once. */
export type Bell = {
  ring: () => void;
  /** Settles when it rings, after `limitMs`, or when the signal aborts. */
  wait: (limitMs: number, signal: AbortSignal) => Promise<void>;
};

export function createBell(): Bell {
  let isRung = false;
  let wake: (() => void) | undefined;
  return {
    ring: () => {
      isRung = true;
      wake?.();
    },
    wait: async (limitMs, signal) => {
      if (!isRung && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        const timer = setTimeout(resolve, limitMs);
        signal.addEventListener('abort', wake);
        await promise;
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        wake = undefined;
      }
      isRung = false;
    },
  };
}
