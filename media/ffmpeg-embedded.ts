import { join } from 'node:path';
import { type Ffmpeg, FfmpegError, type FfmpegJob, type FfmpegLimits } from './ffmpeg.ts';

/** What the worker is asked; plain data, paths absolute. */
export type EmbeddedTask = {
  args: readonly string[];
  input: { name: string; path: string };
  outputs: readonly { name: string; path: string }[];
};

/** Without a failure all outputs are written. `crashed` is everything that is not ffmpeg's own verdict. */
export type EmbeddedAnswer = {
  failure?: 'rejected' | 'crashed';
  message?: string;
  /** Of a failed call of the file system (`ENOSPC`). */
  code?: string | undefined;
};

/** The program holds some 200 MB while it is loaded, and loads in a third of a second. */
const IDLE_MS = 10_000;

/**
 * ffmpeg 5.1 as WebAssembly (`@ffmpeg/core`, GPL), in a worker thread: nothing of the operating system is needed.
 * It has no files but the ones copied in and no network. A worker that overruns its time, or crashes, is terminated
 * and the next call gets a fresh one.
 */
export function createEmbeddedFfmpeg(): Ffmpeg {
  let worker: Worker | undefined;
  let idleTimer: ReturnType<typeof setTimeout> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  const discard = (): void => {
    clearTimeout(idleTimer);
    worker?.terminate();
    worker = undefined;
  };
  const runNow = async (job: FfmpegJob, limits: FfmpegLimits): Promise<void> => {
    if (isClosed) throw new FfmpegError('missing', 'ffmpeg is closed');
    clearTimeout(idleTimer);
    worker ??= new Worker(new URL('./ffmpeg-embedded.worker.ts', import.meta.url));
    const answer = await ask(worker, toTask(job, limits), limits.wallMs).catch((error: unknown) => {
      discard();
      throw error;
    });
    if (answer.failure === 'crashed') discard();
    else idleTimer = setTimeout(discard, IDLE_MS).unref();
    throwFailure(answer);
  };
  return {
    description: 'embedded 5.1 (@ffmpeg/core)',
    run(job, limits) {
      const turn = last.then(() => runNow(job, limits));
      last = turn.catch(() => undefined);
      return turn;
    },
    async close() {
      isClosed = true;
      discard();
    },
  };
}

function ask(worker: Worker, task: EmbeddedTask, wallMs: number): Promise<EmbeddedAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<EmbeddedAnswer>();
  const timer = setTimeout(
    () => reject(new FfmpegError('overran', 'ffmpeg took too long and was stopped')),
    wallMs,
  );
  const onMessage = ({ data }: MessageEvent<EmbeddedAnswer>): void => resolve(data);
  const onError = (event: ErrorEvent): void =>
    reject(new FfmpegError('missing', `no worker: ${event.message}`));
  const onClose = (): void => reject(new FfmpegError('missing', 'the worker was stopped'));
  worker.addEventListener('message', onMessage);
  worker.addEventListener('error', onError);
  worker.addEventListener('close', onClose);
  worker.postMessage(task);
  return promise.finally(() => {
    clearTimeout(timer);
    worker.removeEventListener('message', onMessage);
    worker.removeEventListener('error', onError);
    worker.removeEventListener('close', onClose);
  });
}

function throwFailure({ failure, message = '', code }: EmbeddedAnswer): void {
  if (failure === undefined) return;
  if (failure === 'rejected') throw new FfmpegError('rejected', message);
  if (code !== undefined) throw Object.assign(new Error(message), { code });
  // Traps of WebAssembly: out of memory, out of bounds, unreachable.
  throw new FfmpegError('overran', `the embedded ffmpeg crashed: ${message}`);
}

function toTask(job: FfmpegJob, limits: FfmpegLimits): EmbeddedTask {
  const { directory, input, output, sideOutputs = [] } = job;
  const target =
    output.name === undefined ? ['-f', 'null', '-'] : ['-fs', String(limits.fileBytes), output.name];
  const written = output.name === undefined ? sideOutputs : [output.name, ...sideOutputs];
  return {
    args: [...input.options, '-i', input.name, ...output.options, ...target],
    input: { name: input.name, path: join(directory, input.name) },
    outputs: written.map((name) => ({ name, path: join(directory, name) })),
  };
}
