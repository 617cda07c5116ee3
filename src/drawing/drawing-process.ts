import { fileURLToPath } from 'node:url';
import type { Subprocess } from 'bun';
import type { Logger } from 'pino';
import { TimeLimitExceeded, withTimeLimit } from '../runtime/time-limit.ts';

/** Draws pictures in another process. */
export type DrawingProcess<Picture> = {
  /** @returns a PNG. @throws when it cannot be drawn, or not within ten seconds. */
  draw: (picture: Picture) => Promise<Uint8Array<ArrayBuffer>>;
  stop: () => void;
};

type DrawRequest<Picture> = { id: number; picture: Picture };
type DrawResponse = { id: number; png: Uint8Array<ArrayBuffer> } | { id: number; failure: string };

/** Without a picture for this long, the process ends and gives its memory back. */
const IDLE_MS = 30_000;
const LIMIT_MS = 10_000;

/**
 * The library that draws takes some 30 MB and never gives them back, so pictures are drawn in a process that is started
 * for the first one and ends when none is wanted any more. A crash of the library ends that process alone.
 * @param program its main file, which calls {@link serveDrawings}.
 */
export function createDrawingProcess<Picture>({
  program,
  log,
  idleMs = IDLE_MS,
}: {
  program: URL;
  log: Logger;
  idleMs?: number;
}): DrawingProcess<Picture> {
  const pending = new Map<number, PromiseWithResolvers<Uint8Array<ArrayBuffer>>>();
  let latestId = 0;
  let child: Subprocess | undefined;
  let idleTimer: ReturnType<typeof setTimeout> | undefined;

  function start(): Subprocess {
    return Bun.spawn([process.execPath, '--no-env-file', fileURLToPath(program)], {
      // It needs no secrets.
      env: {},
      stdio: ['ignore', 'ignore', 'inherit'],
      serialization: 'advanced',
      ipc: (response: DrawResponse) => {
        const drawing = pending.get(response.id);
        if ('png' in response) drawing?.resolve(response.png);
        else drawing?.reject(new Error(response.failure));
      },
      onExit: (ended, code, signal) => {
        if (ended !== child) return;
        log.warn({ code, signal }, 'the process that draws pictures ended by itself');
        end();
      },
    });
  }

  function end(): void {
    clearTimeout(idleTimer);
    // It keeps nothing, so nothing is lost.
    child?.kill('SIGKILL');
    child = undefined;
    for (const { reject } of pending.values()) reject(new Error('the process that draws pictures ended'));
  }

  return {
    draw: async (picture) => {
      clearTimeout(idleTimer);
      const id = ++latestId;
      const drawing = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
      pending.set(id, drawing);
      try {
        child ??= start();
        child.send({ id, picture } satisfies DrawRequest<Picture>);
        return await withTimeLimit(drawing.promise, LIMIT_MS);
      } catch (error) {
        if (error instanceof TimeLimitExceeded) end();
        throw error;
      } finally {
        pending.delete(id);
        if (pending.size === 0) idleTimer = setTimeout(end, idleMs).unref();
      }
    },
    stop: end,
  };
}

/** Draws what the parent process asks for, until that ends. */
export function serveDrawings<Picture>(draw: (picture: Picture) => Promise<Uint8Array>): void {
  // Those go to the whole process group: the parent draws until it has stopped.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {});
  process.on('disconnect', () => process.exit());
  process.on('message', async ({ id, picture }: DrawRequest<Picture>) => {
    try {
      process.send?.({ id, png: new Uint8Array(await draw(picture)) } satisfies DrawResponse);
    } catch (error) {
      process.send?.({ id, failure: String(error) } satisfies DrawResponse);
    }
  });
}
