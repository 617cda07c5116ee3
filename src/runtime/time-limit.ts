/** Work took longer than its caller may wait. */
export class TimeLimitExceeded extends Error {
  override name = 'TimeLimitExceeded';
}

/**
 * Waits for work, but no longer than `limitMs`. The work itself continues; a later rejection is ignored.
 * @param options.ticks into how many equal ticks the limit is divided, 1 by default. A tick that is late because this
 * process was busy counts once: with several, a busy moment does not use up the limit.
 * @throws what the work throws in time, or {@link TimeLimitExceeded}.
 */
export async function withTimeLimit<T>(
  work: Promise<T>,
  limitMs: number,
  { ticks = 1 }: { ticks?: number } = {},
): Promise<T> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const late = new Promise<never>((_, reject) => {
    let left = ticks;
    timer = setInterval(() => {
      left -= 1;
      if (left === 0) reject(new TimeLimitExceeded(`not done within ${Math.round(limitMs)} ms`));
    }, limitMs / ticks);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearInterval(timer);
    work.catch(() => {});
  }
}
