import { fileURLToPath } from 'node:url';

/** A server in a process of its own. */
export type Child = { origin: string; pid: number; stop: () => Promise<void> };

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
  const port = await readPort(child.stdout);
  if (port === undefined) throw new Error(`${command.join(' ')} ended before it listened`);
  return {
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid,
    stop: async () => {
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

/** The processor time of a process in milliseconds, to a hundredth of a second. Works on Linux only. */
export async function readProcessorMs(pid: number): Promise<number> {
  const stat = await Bun.file(`/proc/${pid}/stat`).text();
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Reads on in the background afterwards, so that the pipe never fills. */
async function readPort(stdout: ReadableStream<Uint8Array>): Promise<number | undefined> {
  const found = Promise.withResolvers<number | undefined>();
  const read = async () => {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of stdout) {
      if (text.length < 100_000) text += decoder.decode(chunk, { stream: true });
      const [, port] = /"port":(\d+)/.exec(text) ?? [];
      if (port) found.resolve(Number(port));
    }
    found.resolve(undefined);
  };
  void read();
  return found.promise;
}
