/** One call of ffmpeg: one input, one output, every name relative to `directory` and chosen by us. */
export type FfmpegJob = {
  directory: string;
  input: { name: string; options: readonly string[] };
  /** Without a name the output is thrown away (`-f null`). */
  output: { name?: string; options: readonly string[] };
  /** Files that filters write besides the output. */
  sideOutputs?: readonly string[];
};

export type FfmpegLimits = {
  /** Wall clock; past it the process and its children are killed. */
  wallMs: number;
  cpuSeconds: number;
  /** Address space. */
  memoryBytes: number;
  /** Largest file it may write. */
  fileBytes: number;
};

/** What one call may use; far above what a sound of a minute needs. */
export const RENDER_LIMITS: FfmpegLimits = {
  wallMs: 30_000,
  cpuSeconds: 20,
  memoryBytes: 768 * 1024 * 1024,
  fileBytes: 64 * 1024 * 1024,
};

/**
 * Why a call failed.
 * - `rejected`: ffmpeg ran and gave up on what it was given.
 * - `overran`: it hit one of the limits.
 * - `missing`: ffmpeg itself could not be started.
 */
export type FfmpegFailure = 'rejected' | 'overran' | 'missing';

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

/** Whether ffmpeg complains that its output found no room. */
export function saysNoSpace(text: string): boolean {
  return /No space left on device|Disk quota exceeded/.test(text);
}

export type Ffmpeg = {
  /** What runs, for the log: `native 5.1.9 (/usr/bin/ffmpeg)`. */
  readonly description: string;
  /**
   * Runs one job to its end.
   * @throws {FfmpegError}
   */
  run(job: FfmpegJob, limits: FfmpegLimits): Promise<void>;
  /** Kills what still runs and frees the memory held. */
  close(): Promise<void>;
};

/** Where the engine tells about itself. */
export type FfmpegLog = {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
};
