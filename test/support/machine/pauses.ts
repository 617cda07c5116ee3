/** Measures the longest time for which the event loop of this thread is blocked. */
export function watchPauses(): { stop: () => number } {
  let longestMs = 0;
  let lastMs = performance.now();
  const look = () => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const timer = setInterval(look, 1);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      return longestMs;
    },
  };
}
