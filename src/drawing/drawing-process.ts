import { fileURLToPath } from 'node:url';
import type { Subprocess } from 'bun';
import type { Logger } from 'pino';

/** Draws pictures in another process. */
export type DrawingProcess<Picture> = {
  /** @returns a PNG. @throws when it cannot be drawn, or the process ends or hangs. */
  draw: (picture: Picture) => Promise<Uint8Array<ArrayBuffer>>;
  /** Ends the process; pictures are refused from now on. */
  stop: () => void;
};

type DrawRequest<Picture> = { id: number; picture: Picture };
type DrawResponse = { id: number; png: Uint8Array<ArrayBuffer> } | { id: number; failure: unknown };

/** Without a picture for this long, the process ends and gives its memory back. */
const IDLE_MS = 30_000;
/** A process that has pictures to draw and finishes none for this long hangs. */
const HANGING_MS = 10_000;

/**
 * The library that draws takes some 30 MB and never gives it back, so pictures are drawn in a process that is started
 * for the first one and ends when none is requested any more. A crash of the library ends that process alone.
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
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  function start(): Subprocess {
    return Bun.spawn([process.execPath, '--no-orphans', '--no-env-file', fileURLToPath(program)], {
      // It needs no secrets, nor the machine's fonts, which the library would look for in a home folder that may not
      // exist.
      env: { DISABLE_SYSTEM_FONTS_LOAD: '1' },
      stdio: ['ignore', 'ignore', 'inherit'],
      serialization: 'advanced',
      ipc: (response: DrawResponse) => {
        const drawing = pending.get(response.id);
        if ('png' in response) drawing?.resolve(response.png);
        else drawing?.reject(new Error('the picture cannot be drawn', { cause: response.failure }));
        pending.delete(response.id);
        restartTimer();
      },
      onExit: (ended, code, signal) => {
        if (ended !== child) return;
        log.warn({ code, signal }, 'the drawing process ended by itself');
        end();
      },
    });
  }

  /** Ends the process when no picture has been requested for a while, or none of those requested has been finished. */
  function restartTimer(): void {
    clearTimeout(timer);
    const isIdle = pending.size === 0;
    const onTime = () => {
      if (!isIdle) log.warn({ pictures: pending.size }, 'the drawing process hung and was killed');
      end();
    };
    timer = setTimeout(onTime, isIdle ? idleMs : HANGING_MS).unref();
  }

  function end(): void {
    clearTimeout(timer);
    // It keeps nothing, so nothing is lost.
    child?.kill('SIGKILL');
    child = undefined;
    for (const { reject } of pending.values()) reject(new Error('the drawing process ended'));
    pending.clear();
  }

  return {
    draw: (picture) => {
      const id = ++latestId;
      const drawing = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
      try {
        if (isStopped) throw new Error('no pictures are drawn any more');
        child ??= start();
        child.send({ id, picture } satisfies DrawRequest<Picture>);
        pending.set(id, drawing);
      } catch (error) {
        drawing.reject(error);
      }
      // A process that hangs is not given more time by another picture.
      if (pending.size <= 1) restartTimer();
      return drawing.promise;
    },
    stop: () => {
      isStopped = true;
      end();
    },
  };
}

/** Draws what the parent process asks for. */
export function serveDrawings<Picture>(draw: (picture: Picture) => Promise<Uint8Array>): void {
  // A terminal sends these signals to every process of a program, but the service decides when this one ends.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {});
  process.on('message', async ({ id, picture }: DrawRequest<Picture>) => {
    try {
      process.send?.({ id, png: new Uint8Array(await draw(picture)) } satisfies DrawResponse);
    } catch (failure) {
      process.send?.({ id, failure } satisfies DrawResponse);
    }
  });
}
