import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** A server in a separate process, which ends with the block that uses it. */
export type Child = AsyncDisposable & {
  origin: string;
  pid: number;
  /** The first 100 kB of its stdout, so far. */
  log: () => string;
};

/** The path of a file of the repository, from its root. */
export function pathOf(file: string): string {
  return fileURLToPath(new URL(`../../../${file}`, import.meta.url));
}

/** Starts a server; it has started when a line of its stdout tells its port as `"port":N`. */
export async function startChild(command: string[], env: Record<string, string> = {}): Promise<Child> {
  const child = Bun.spawn(command, {
    cwd: pathOf(''),
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...env },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const { port, log } = readLog(child.stdout);
  const number = await port;
  if (number === undefined) throw new Error(`${command.join(' ')} ended before it listened`);
  return {
    origin: `http://127.0.0.1:${number}`,
    pid: child.pid,
    log,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await child.exited;
    },
  };
}

/** The resident memory of a process, in MB. Works on Linux only. */
export async function readResidentMb(pid: number): Promise<number> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** The processor time of a process and of the children it has waited for, in ms, to a hundredth of a second. Linux only. */
export async function readProcessorMs(pid: number): Promise<number> {
  const fields = await readStat(pid);
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) * 10;
}

/** The same of processes and all that they have started. */
export async function readFamilyProcessorMs(roots: readonly number[]): Promise<number> {
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

/** Reads on in the background, so that the pipe never fills. */
function readLog(stdout: ReadableStream<Uint8Array>) {
  const found = Promise.withResolvers<number | undefined>();
  let text = '';
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of stdout) {
      if (text.length < 100_000) text += decoder.decode(chunk, { stream: true });
      const [, port] = /"port":(\d+)/.exec(text) ?? [];
      if (port) found.resolve(Number(port));
    }
    found.resolve(undefined);
  };
  void read();
  return { port: found.promise, log: () => text };
}
