let last = 1_300_000_000_000_000_000n;

/** An id that nothing else in this process has. */
export function nextSnowflake(): string {
  last += 1n;
  return String(last);
}
