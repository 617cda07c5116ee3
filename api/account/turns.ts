import { TimeLimitExceeded } from '../../src/time-limit.ts';

/**
 * Runs work when its turn comes: one at a time for each user. Fails as the work does, or with
 * {@link TimeLimitExceeded} when its turn does not come in time.
 */
export type TakeTurn = <T>(userId: number, work: () => Promise<T>) => Promise<T>;

/**
 * Lets at most `most` users work at once, each on one thing; further work waits in the order it came. A user who holds
 * his own turn for long therefore holds no second one.
 */
export function createTurns(most: number, { waitMs }: { waitMs: number }): TakeTurn {
  const busy = new Set<number>();
  const waiting: { userId: number; begin: () => void }[] = [];

  function beginNext(): void {
    for (const turn of [...waiting]) {
      if (busy.size >= most) return;
      if (busy.has(turn.userId)) continue;
      busy.add(turn.userId);
      waiting.splice(waiting.indexOf(turn), 1);
      turn.begin();
    }
  }

  return async (userId, work) => {
    await new Promise<void>((resolve, reject) => {
      const giveUp = () => {
        waiting.splice(waiting.indexOf(turn), 1);
        reject(new TimeLimitExceeded(`no turn within ${waitMs} ms`));
      };
      const timer = setTimeout(giveUp, waitMs);
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const turn = { userId, begin };
      waiting.push(turn);
      beginNext();
    });
    try {
      return await work();
    } finally {
      busy.delete(userId);
      beginNext();
    }
  };
}
