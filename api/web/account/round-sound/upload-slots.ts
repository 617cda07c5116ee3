import { TimeLimitExceeded } from '../../../../src/runtime/time-limit.ts';

/** The permission to upload now: a few uploads have one at a time. */
export type UploadSlot = {
  /** Aborts when the slot is taken away for somebody who waits. */
  signal: AbortSignal;
  /** Reports that this many more bytes have arrived. */
  note: (sizeBytes: number) => void;
  /** Reports that everything has arrived: from then on the slot cannot be taken away. */
  complete: () => void;
};

/**
 * Runs work once there is a slot for it: one at a time for each user. Fails as the work does, or with
 * {@link TimeLimitExceeded} when no slot comes free in time.
 */
export type TakeSlot = <T>(userId: number, work: (slot: UploadSlot) => Promise<T>) => Promise<T>;

type Options = {
  /** Users who upload at once. */
  most: number;
  /** How long an upload waits for a slot. */
  waitMs: number;
  /** The rate below which an upload may lose its slot while somebody waits, averaged over the last `windowMs`. */
  leastBytesPerSecond: number;
  windowMs: number;
  /** Makes the reason with which the signal of an upload aborts that lost its slot. */
  lostBecause: () => Error;
};

type Holder = {
  userId: number;
  lose: () => void;
  isLost: () => boolean;
  /** Over the last window; undefined before one has passed, and once the upload is complete or lost its slot. */
  bytesPerSecond: (nowMs: number) => number | undefined;
};

/** How often the holders are judged while somebody waits. */
const JUDGE_EVERY_MS = 250;

/**
 * Shares a few slots among all uploads; further ones wait in the order in which they came. While users wait, the slowest
 * uploads below `leastBytesPerSecond` lose their slots, one for each user who waits. A user who waits behind an upload of
 * their own takes its slot and no other. While nobody waits, nobody loses a slot.
 */
export function createUploadSlots({ most, waitMs, windowMs, ...options }: Options): TakeSlot {
  const holders = new Map<number, Holder>();
  const waiting: { userId: number; begin: () => void }[] = [];
  let judging: ReturnType<typeof setInterval> | undefined;

  function beginNext(): void {
    for (const waiter of [...waiting]) {
      if (holders.size >= most) break;
      if (holders.has(waiter.userId)) continue;
      waiting.splice(waiting.indexOf(waiter), 1);
      waiter.begin();
    }
    if (waiting.length > 0) judging ??= setInterval(judge, JUDGE_EVERY_MS);
    else {
      clearInterval(judging);
      judging = undefined;
    }
  }

  function judge(): void {
    const nowMs = performance.now();
    const users = new Set(waiting.map(({ userId }) => userId));
    const slow = [...holders.values()]
      .map((holder) => ({ holder, rate: holder.bytesPerSecond(nowMs) ?? Number.POSITIVE_INFINITY }))
      .filter(({ rate }) => rate < options.leastBytesPerSecond)
      .sort((a, b) => a.rate - b.rate)
      .map(({ holder }) => holder);
    // Slots that were taken away and are not free yet: each is meant for one who waits.
    let promised = [...holders.values()].filter(
      ({ userId, isLost }) => isLost() && !users.has(userId),
    ).length;
    for (const userId of users) {
      const isOwn = holders.has(userId);
      if (!isOwn && promised-- > 0) continue;
      const loser = slow.find((holder) => !isOwn || holder.userId === userId);
      if (!loser) continue;
      slow.splice(slow.indexOf(loser), 1);
      loser.lose();
    }
  }

  async function waitForSlot(userId: number): Promise<UploadSlot> {
    const { promise, resolve, reject } = Promise.withResolvers<UploadSlot>();
    const waiter = {
      userId,
      begin: () => {
        clearTimeout(timer);
        const { holder, slot } = openSlot(userId, { windowMs, lostBecause: options.lostBecause });
        holders.set(userId, holder);
        resolve(slot);
      },
    };
    // Not withTimeLimit: whoever waited too long has to leave the queue before the next slot is given away.
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(waiter), 1);
      beginNext();
      reject(new TimeLimitExceeded(`no slot within ${waitMs} ms`));
    }, waitMs);
    waiting.push(waiter);
    beginNext();
    return promise;
  }

  return async (userId, work) => {
    const slot = await waitForSlot(userId);
    try {
      return await work(slot);
    } finally {
      holders.delete(userId);
      beginNext();
    }
  };
}

/** Bytes are summed per step of this length, so that a window is a handful of numbers however fast the upload is. */
const STEP_MS = 250;

function openSlot(
  userId: number,
  { windowMs, lostBecause }: Pick<Options, 'windowMs' | 'lostBecause'>,
): { holder: Holder; slot: UploadSlot } {
  const loss = new AbortController();
  const openedMs = performance.now();
  let isComplete = false;
  let steps: { startMs: number; sizeBytes: number }[] = [];
  return {
    slot: {
      signal: loss.signal,
      note: (sizeBytes) => {
        const nowMs = performance.now();
        const last = steps.at(-1);
        if (last && nowMs - last.startMs < STEP_MS) last.sizeBytes += sizeBytes;
        else {
          steps = steps.filter(({ startMs }) => nowMs - startMs <= windowMs);
          steps.push({ startMs: nowMs, sizeBytes });
        }
      },
      complete: () => {
        isComplete = true;
      },
    },
    holder: {
      userId,
      lose: () => loss.abort(lostBecause()),
      isLost: () => loss.signal.aborted,
      bytesPerSecond: (nowMs) => {
        if (isComplete || loss.signal.aborted || nowMs - openedMs < windowMs) return undefined;
        const recent = steps.filter(({ startMs }) => nowMs - startMs <= windowMs);
        return (recent.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) / windowMs) * 1000;
      },
    },
  };
}
