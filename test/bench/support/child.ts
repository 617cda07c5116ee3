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
export function toCommand(file: string, ...parameters: string[]): string[] {
  return [process.execPath, fileURLToPath(new URL(file, import.meta.url)), ...parameters];
}
