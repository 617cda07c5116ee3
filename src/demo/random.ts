/** A whole number from 0 to below `limit`. */
export function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}

/** True in `share` (0 to 1) of the cases. */
export function chance(share: number): boolean {
  return Math.random() < share;
}

/** @throws when there is nothing to pick from. */
export function pick<T>(from: readonly T[]): T {
  const element = from[below(from.length)];
  if (element === undefined) throw new Error('nothing to pick from');
  return element;
}
