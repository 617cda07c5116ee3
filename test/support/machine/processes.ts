import { readdir, readFile } from 'node:fs/promises';

/** The resident memory of a process, in MB. Works on Linux only. */
async function readResidentMb(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** Reads the resident memory of a process every few milliseconds while work goes on. */
export async function watchMemory(
  pid: number,
  everyMs: number,
  work: () => Promise<unknown>,
): Promise<number[]> {
  const heldMb: number[] = [];
  const timer = setInterval(async () => void heldMb.push(await readResidentMb(pid)), everyMs);
  try {
    await work();
    return heldMb;
  } finally {
    clearInterval(timer);
  }
}

/** The processor time of a process and of the children it has waited for, in ms, to a hundredth of a second. Linux only. */
export async function readProcessorMs(pid: number): Promise<number> {
  const fields = await readStat(pid);
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) * 10;
}

/** The processor time that processes and all that they have started take while work goes on. */
export async function measureProcessorMs(
  roots: readonly number[],
  work: () => Promise<unknown>,
): Promise<number> {
  const before = await readFamilyProcessorMs(roots);
  await work();
  return (await readFamilyProcessorMs(roots)) - before;
}

async function readFamilyProcessorMs(roots: readonly number[]): Promise<number> {
  let sum = 0;
  for (const pid of await listFamily(roots)) sum += await readProcessorMs(pid).catch(() => 0);
  return sum;
}

/** The processes, and all that they have started. Linux only. */
export async function listFamily(roots: readonly number[]): Promise<Set<number>> {
  const family = new Set(roots);
  for (const pid of (await listProcesses()).sort((a, b) => a - b)) {
    const [, parent] = await readStat(pid).catch(() => []);
    if (family.has(Number(parent))) family.add(pid);
  }
  return family;
}

/** The fields of a process's stat file that follow its name. */
async function readStat(pid: number): Promise<string[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Counts the processes that meet a condition; one that ends meanwhile does not. Linux only. */
export async function countProcesses(isMeant: (pid: number) => Promise<boolean>): Promise<number> {
  const looks = (await listProcesses()).map((pid) => isMeant(pid).catch(() => false));
  return (await Promise.all(looks)).filter(Boolean).length;
}

async function listProcesses(): Promise<number[]> {
  return (await readdir('/proc')).map(Number).filter(Boolean);
}
