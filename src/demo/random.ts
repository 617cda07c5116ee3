/** A generator of random numbers. */
export type Random = {
  /** 0 to below 1. */
  next: () => number;
  /** A whole number from 0 to below `limit`. */
  below: (limit: number) => number;
  /** A whole number from `least` to `most`. */
  between: (least: number, most: number) => number;
  /** True in `share` (0 to 1) of the cases. */
  chance: (share: number) => boolean;
  /** @throws when there is nothing to pick from. */
  pick: <T>(from: readonly T[]) => T;
};

/**
 * Creates a generator whose numbers are the same for the same seed (mulberry32).
 * @param seed any whole number.
 */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    next,
    below,
    between: (least, most) => least + below(most - least + 1),
    chance: (share) => next() < share,
    pick: (from) => {
      const picked = from[below(from.length)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
  };
}
