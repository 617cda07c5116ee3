/** Spreads work over iterations of the event loop, so that requests are served in between. */
export type Pacer = {
  /** Settles in the order of the calls. */
  next: () => Promise<void>;
};

/** @param options.perIteration how many calls settle in one iteration. */
export function createPacer({ perIteration }: { perIteration: number }): Pacer {
  const waiting: (() => void)[] = [];
  let isScheduled = false;

  function schedule(): void {
    isScheduled = true;
    setImmediate(() => {
      for (const resolve of waiting.splice(0, perIteration)) resolve();
      if (waiting.length > 0) schedule();
      else isScheduled = false;
    });
  }

  return {
    next: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      if (!isScheduled) schedule();
      return promise;
    },
  };
}
