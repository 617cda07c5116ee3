import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** A server in a separate process, which ends with the block that uses it. */
export type Child = AsyncDisposable & { origin: string; pid: number };

/** Starts a server; it has started when a line of its stdout tells its port as `"port":N`. */
export async function startChild(command: string[], env: Record<string, string> = {}): Promise<Child> {
  const child = Bun.spawn(command, {
    cwd: fileURLToPath(new URL('../../..', import.meta.url)),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const port = await readPort(child.stdout);
  if (port === undefined) throw new Error(`${command.join(' ')} ended before it listened`);
  return {
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

/** Reads on in the background, so that the pipe never fills. */
function readPort(stdout: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const read = async () => {
    let text = '';
    let port: string | undefined;
    for await (const chunk of stdout) {
      if (port !== undefined) continue;
      text += Buffer.from(chunk).toString();
      port = /"port":(\d+)/.exec(text)?.[1];
      if (port !== undefined) resolve(port);
    }
    resolve(undefined);
  };
  void read();
  return promise;
}

/** A program of this folder, as a command. */
export function support(file: string, ...parameters: string[]): string[] {
  return [process.execPath, fileURLToPath(new URL(file, import.meta.url)), ...parameters];
}

/** The resident memory of a process, in MB. Works on Linux only. */
export async function readResidentMb(pid: number): Promise<number> {
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
  const pids = (await readdir('/proc')).map(Number).filter(Boolean);
  for (const pid of pids.sort((a, b) => a - b)) {
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
