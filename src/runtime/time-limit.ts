/** Work took longer than its caller may wait. */
export class TimeLimitExceeded extends Error {
  override name = 'TimeLimitExceeded';
}

/**
 * Waits for work, but no longer than `limitMs`. The work itself continues; a later rejection is ignored.
 * @throws what the work throws in time, or {@link TimeLimitExceeded}.
 */
export async function withTimeLimit<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new TimeLimitExceeded(`not done within ${Math.round(limitMs)} ms`)),
      limitMs,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => {});
  }
}
