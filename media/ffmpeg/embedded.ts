import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { TimeLimitExceeded, withTimeLimit } from '../../src/runtime/time-limit.ts';
import { type Ffmpeg, FfmpegError, type FfmpegJob, type FfmpegLimits } from './ffmpeg.ts';

/** One call of ffmpeg for the worker. */
export type EmbeddedTask = {
  args: readonly string[];
  /** The only files that ffmpeg can access: the name it uses, and the open descriptor. */
  files: readonly { name: string; descriptor: number }[];
  /** Largest file it may write. */
  fileBytes: number;
};

/** Without `failure`, all files have been written. `crashed` is any failure that ffmpeg did not report itself. */
export type EmbeddedResult = {
  failure?: 'rejected' | 'crashed';
  message?: string;
  /** The error code of a failed file system call, such as `ENOSPC`. */
  code?: string | undefined;
};

/** How long ffmpeg stays loaded without a job: it takes some 150 MB of memory, and half a second to load. */
const IDLE_MS = 10_000;

/**
 * ffmpeg 5.1 as WebAssembly (`@ffmpeg/core`, GPL) in a worker thread, independent of the operating system.
 * It can access the files of its job only, and no network. A worker that exceeds its time limit or crashes is
 * terminated, and the next call gets a new one.
 */
export function createEmbeddedFfmpeg(): Ffmpeg {
  let engine: Engine | undefined;
  let idleTimer: ReturnType<typeof setTimeout> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  const discard = (): void => {
    clearTimeout(idleTimer);
    engine?.worker.terminate();
    engine = undefined;
  };
  const runNow = async (job: FfmpegJob, limits: FfmpegLimits): Promise<void> => {
    const files = await openFiles(job);
    try {
      if (isClosed) throw new FfmpegError('missing', 'ffmpeg is closed');
      clearTimeout(idleTimer);
      engine ??= startEngine();
      const { worker, ended } = engine;
      const task = {
        args: toArguments(job),
        files: files.map(({ name, handle }) => ({ name, descriptor: handle.fd })),
        fileBytes: limits.fileBytes,
      };
      const result = await runInWorker(worker, task, limits.wallMs).catch(async (error: unknown) => {
        discard();
        // Until it ends, the worker may still write, and a closed file's descriptor may be reused for another file.
        await ended;
        throw error;
      });
      if (result.failure === 'crashed') discard();
      else idleTimer = setTimeout(discard, IDLE_MS).unref();
      throwFailure(result);
    } finally {
      await Promise.all(files.map(({ handle }) => handle.close()));
    }
  };
  return {
    description: 'embedded 5.1 (@ffmpeg/core)',
    run(job, limits) {
      const run = last.then(() => runNow(job, limits));
      last = run.catch(() => undefined);
      return run;
    },
    async close() {
      isClosed = true;
      discard();
    },
  };
}

type Engine = { worker: Worker; ended: Promise<void> };

function startEngine(): Engine {
  const worker = new Worker(new URL('./embedded.worker.ts', import.meta.url));
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  worker.addEventListener('close', () => resolve());
  return { worker, ended };
}

function runInWorker(worker: Worker, task: EmbeddedTask, wallMs: number): Promise<EmbeddedResult> {
  const { promise, resolve, reject } = Promise.withResolvers<EmbeddedResult>();
  const listening = new AbortController();
  const { signal } = listening;
  const fail = (reason: string): void => reject(new FfmpegError('missing', reason));
  worker.addEventListener('message', ({ data }) => resolve(data), { signal });
  worker.addEventListener('error', ({ message }) => fail(`no worker: ${message}`), { signal });
  worker.addEventListener('close', () => fail('the worker was stopped'), { signal });
  worker.postMessage(task);
  return withTimeLimit(promise, wallMs)
    .catch((error: unknown) => {
      if (!(error instanceof TimeLimitExceeded)) throw error;
      throw new FfmpegError('timed-out', 'ffmpeg took too long and was stopped', { cause: error });
    })
    .finally(() => listening.abort());
}

function throwFailure({ failure, message = '', code }: EmbeddedResult): void {
  if (failure === undefined) return;
  if (failure === 'rejected') throw new FfmpegError('rejected', message);
  if (code !== undefined) throw Object.assign(new Error(message), { code });
  // A WebAssembly trap: out of memory, out of bounds, unreachable.
  throw new FfmpegError('overran', `the embedded ffmpeg crashed: ${message}`);
}

type OpenFile = { name: string; handle: FileHandle };

async function openFiles({ directory, input, output, sideOutputs = [] }: FfmpegJob): Promise<OpenFile[]> {
  const outputNames = output.name === undefined ? sideOutputs : [output.name, ...sideOutputs];
  const files: OpenFile[] = [];
  try {
    for (const name of [input.name, ...outputNames]) {
      const handle = await open(join(directory, name), name === input.name ? 'r' : 'w+', 0o600);
      files.push({ name, handle });
    }
    return files;
  } catch (error) {
    await Promise.all(files.map(({ handle }) => handle.close()));
    throw error;
  }
}

function toArguments({ input, output }: FfmpegJob): string[] {
  const target = output.name === undefined ? ['-f', 'null', '-'] : [output.name];
  return [...input.options, '-i', input.name, ...output.options, ...target];
}
