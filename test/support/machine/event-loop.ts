/** Does work, and counts how often the event loop turned meanwhile: hardly ever if the work blocked it. */
export async function countTurns(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  try {
    await work();
    return turns;
  } finally {
    clearInterval(timer);
  }
}
