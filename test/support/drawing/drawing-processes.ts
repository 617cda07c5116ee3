/** The process ids of the processes that draw for one. */
export async function findDrawingProcesses(parentPid: number): Promise<number[]> {
  const found = await Bun.$`pgrep -P ${parentPid} -f src/draw.ts`.nothrow().text();
  return found.split('\n').filter(Boolean).map(Number);
}
