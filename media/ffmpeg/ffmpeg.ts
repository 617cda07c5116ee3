import { RENDER_TIMEOUT_SECONDS } from '../../src/domain/round-sound.ts';

/** One call of ffmpeg: one input, usually one output; names are relative to `directory` and never taken from users. */
export type FfmpegJob = {
  directory: string;
  input: { name: string; options: readonly string[] };
  /** Without a name the output is discarded (`-f null`). */
  output: { name?: string; options: readonly string[] };
  /** Further files that the call writes: by filters, or as outputs that are named among the options. */
  sideOutputs?: readonly string[];
};

export type FfmpegLimits = {
  /** Wall clock time, after which the process and its children are killed. */
  wallMs: number;
  cpuSeconds: number;
  /** Address space. */
  memoryBytes: number;
  /** Largest file it may write. */
  fileBytes: number;
};

/** The limits of one call; far above what a sound of one minute needs. */
export const RENDER_LIMITS: FfmpegLimits = {
  wallMs: RENDER_TIMEOUT_SECONDS * 1000,
  cpuSeconds: 20,
  memoryBytes: 768 * 1024 * 1024,
  fileBytes: 64 * 1024 * 1024,
};

/**
 * Why a call failed.
 * - `rejected`: ffmpeg ran and failed on its input.
 * - `overran`: it exceeded one of the limits.
 * - `timed-out`: it exceeded its wall clock time, which depends on what else the machine does.
 * - `missing`: ffmpeg itself could not be started.
 */
type FfmpegFailure = 'rejected' | 'overran' | 'timed-out' | 'missing';

export class FfmpegError extends Error {
  override name = 'FfmpegError';

  constructor(
    readonly failure: FfmpegFailure,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Whether ffmpeg reports that the disk is full. */
export function saysNoSpace(text: string): boolean {
  return /No space left on device|Disk quota exceeded/.test(text);
}

export type Ffmpeg = {
  /** For the log, such as `native 5.1.9 (/usr/bin/ffmpeg)`. */
  readonly description: string;
  /**
   * Runs one job to its end.
   * @throws {FfmpegError}
   */
  run(job: FfmpegJob, limits: FfmpegLimits): Promise<void>;
  /** Kills running jobs and frees memory. */
  close(): Promise<void>;
};

/** The logger of media. */
export type Log = Record<'info' | 'warn' | 'error', (details: object, message: string) => void>;
