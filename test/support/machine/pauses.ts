/** Measures the longest time for which the event loop of this thread is blocked. */
export function watchPauses(): { stop: () => number } {
  let maxMs = 0;
  let lastMs = performance.now();
  const look = () => {
    const nowMs = performance.now();
    maxMs = Math.max(maxMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const timer = setInterval(look, 1);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      return maxMs;
    },
  };
}
