import { TimeLimitExceeded } from '../../../../src/runtime/time-limit.ts';

/** One of the limited number of slots for concurrent uploads. */
export type UploadSlot = {
  /** Aborts when the slot is taken away for a waiting upload. */
  signal: AbortSignal;
  /** Reports how many more bytes have been received. */
  note: (sizeBytes: number) => void;
  /** Reports that the upload is complete: from then on the slot cannot be taken away. */
  complete: () => void;
};

/**
 * Runs `work` once a slot is free; each user holds at most one. Rejects with the error of `work`, or with
 * {@link TimeLimitExceeded} when no slot becomes free in time.
 */
export type TakeSlot = <T>(userId: number, work: (slot: UploadSlot) => Promise<T>) => Promise<T>;

type Options = {
  /** The number of slots. */
  most: number;
  /** How long an upload waits for a slot. */
  waitMs: number;
  /** The rate, averaged over the last `windowMs`, below which an upload may lose its slot while others wait. */
  minBytesPerSecond: number;
  windowMs: number;
  /** Creates the abort reason for an upload that lost its slot. */
  createEvictionError: () => Error;
};

type Holder = {
  userId: number;
  evict: () => void;
  isEvicted: () => boolean;
  /** Averaged over the last window; undefined during the first window, and once the upload is complete or evicted. */
  bytesPerSecond: (nowMs: number) => number | undefined;
};

/** How often slow uploads are checked for eviction while others wait. */
const EVICTION_INTERVAL_MS = 250;

/**
 * Limits concurrent uploads to a number of slots; further uploads wait in order of arrival. While users wait, the
 * slowest uploads below `minBytesPerSecond` are evicted, one for each waiting user. A user whose own upload holds a
 * slot can only evict that upload. Without waiting users nothing is evicted.
 */
export function createUploadSlots({ most, waitMs, windowMs, ...options }: Options): TakeSlot {
  const holders = new Map<number, Holder>();
  const waiting: { userId: number; begin: () => void }[] = [];
  let evictionTimer: ReturnType<typeof setInterval> | undefined;

  function beginNext(): void {
    for (const waiter of [...waiting]) {
      if (holders.size >= most) break;
      if (holders.has(waiter.userId)) continue;
      waiting.splice(waiting.indexOf(waiter), 1);
      waiter.begin();
    }
    if (waiting.length > 0) evictionTimer ??= setInterval(evictSlowest, EVICTION_INTERVAL_MS);
    else {
      clearInterval(evictionTimer);
      evictionTimer = undefined;
    }
  }

  function evictSlowest(): void {
    const nowMs = performance.now();
    const users = new Set(waiting.map(({ userId }) => userId));
    const slow = [...holders.values()]
      .map((holder) => ({ holder, rate: holder.bytesPerSecond(nowMs) ?? Number.POSITIVE_INFINITY }))
      .filter(({ rate }) => rate < options.minBytesPerSecond)
      .sort((a, b) => a.rate - b.rate)
      .map(({ holder }) => holder);
    // Uploads that were evicted but have not released their slots yet: each of these slots serves one waiting user.
    let slotsBeingFreed = [...holders.values()].filter(
      ({ userId, isEvicted }) => isEvicted() && !users.has(userId),
    ).length;
    for (const userId of users) {
      const isOwn = holders.has(userId);
      if (!isOwn && slotsBeingFreed-- > 0) continue;
      const slowest = slow.find((holder) => !isOwn || holder.userId === userId);
      if (!slowest) continue;
      slow.splice(slow.indexOf(slowest), 1);
      slowest.evict();
    }
  }

  async function waitForSlot(userId: number): Promise<UploadSlot> {
    const { promise, resolve, reject } = Promise.withResolvers<UploadSlot>();
    const waiter = {
      userId,
      begin: () => {
        clearTimeout(timer);
        const { holder, slot } = openSlot(userId, {
          windowMs,
          createEvictionError: options.createEvictionError,
        });
        holders.set(userId, holder);
        resolve(slot);
      },
    };
    // Not withTimeLimit: a timed-out upload has to leave the queue before the next slot is assigned.
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

/** Bytes are summed per step of this length, so that a window takes a few numbers, however fast the upload is. */
const STEP_MS = 250;

function openSlot(
  userId: number,
  { windowMs, createEvictionError }: Pick<Options, 'windowMs' | 'createEvictionError'>,
): { holder: Holder; slot: UploadSlot } {
  const eviction = new AbortController();
  const openedMs = performance.now();
  let isComplete = false;
  let steps: { startMs: number; sizeBytes: number }[] = [];
  return {
    slot: {
      signal: eviction.signal,
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
      evict: () => eviction.abort(createEvictionError()),
      isEvicted: () => eviction.signal.aborted,
      bytesPerSecond: (nowMs) => {
        if (isComplete || eviction.signal.aborted || nowMs - openedMs < windowMs) return undefined;
        const recent = steps.filter(({ startMs }) => nowMs - startMs <= windowMs);
        return (recent.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) / windowMs) * 1000;
      },
    },
  };
}
