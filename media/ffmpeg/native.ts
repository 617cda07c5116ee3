import { ChildProcess, execFile } from 'node:child_process';
import { promisify } from 'node:util';
import createCommand, { type FfmpegCommand } from 'fluent-ffmpeg';
import {
  type Ffmpeg,
  FfmpegError,
  type FfmpegJob,
  type FfmpegLimits,
  type Log,
  RENDER_LIMITS,
  saysNoSpace,
} from './ffmpeg.ts';

const execute = promisify(execFile);

/** Major and minor number. */
export const OLDEST_VERSION = [5, 1] as const;
const PROBE_TIMEOUT_MS = 10_000;
const NICENESS = '10';
/** Exit codes of the confining programs when they cannot start the next one. */
const NOT_STARTED_STATUSES = ['126', '127'];
/** How much of ffmpeg's output is kept: a damaged file may make it print a gigabyte. */
const KEPT_LINES = 100;
/** Signals for exceeded limits: SIGXCPU and SIGXFSZ of the kernel, and SIGKILL of our time limit. */
const LIMIT_SIGNALS = /SIGXCPU|SIGXFSZ|SIGKILL/;
/** Its input made it crash. */
const CRASH_SIGNALS = /SIGSEGV|SIGBUS|SIGABRT|SIGFPE|SIGILL/;

/**
 * The operating system's ffmpeg, confined: limits on CPU, memory, file size and open files, low priority, no network, in
 * a separate process group that dies with this process. Confinements that the machine lacks are logged and left out.
 * @returns the reason as text when there is no such ffmpeg, or it lacks something required.
 */
export async function createNativeFfmpeg(log: Log, program: string): Promise<Ffmpeg | string> {
  const path = Bun.which(program);
  if (path === null) {
    return program.includes('/') ? `${program} is not an executable file` : `no ${program} on the PATH`;
  }
  const version = await readVersion(path);
  if (version === undefined) return `${path} does not report its version`;
  if (isTooOld(version)) return `${path} is version ${version}; ${OLDEST_VERSION.join('.')} is needed`;
  if (!(await hasRequiredFeatures(path))) return `${path} lacks libmp3lame, alimiter or ebur128`;

  const wrappers = await probeConfinement(log);
  const running = new Set<ChildProcess>();
  let isClosed = false;
  return {
    description: `native ${version} (${path})`,
    async run(job, limits) {
      if (isClosed) throw new FfmpegError('missing', 'ffmpeg is closed');
      if (Bun.which(path) === null) throw new FfmpegError('missing', `${path} is gone`);
      const words = [...wrappers.flatMap((wrapper) => wrapper.words(limits)), path];
      await runCommand(words, job, { limits, running, isClosed: () => isClosed });
    },
    async close() {
      isClosed = true;
      for (const child of running) killGroup(child);
    },
  };
}

/** @param words the command that starts ffmpeg, confined. */
function runCommand(
  words: readonly string[],
  job: FfmpegJob,
  context: { limits: FfmpegLimits; running: Set<ChildProcess>; isClosed: () => boolean },
): Promise<void> {
  const { limits, running, isClosed } = context;
  const { promise, resolve: succeed, reject } = Promise.withResolvers<void>();
  const command = createCommand({ cwd: job.directory, stdoutLines: KEPT_LINES, logger: undefined });
  startThrough(command, words);
  command.input(job.input.name);
  if (job.input.options.length > 0) command.inputOptions(...job.input.options);
  if (job.output.options.length > 0) command.outputOptions(...job.output.options);
  if (job.output.name === undefined) command.outputOptions('-f', 'null').output('-');
  else command.output(job.output.name);

  let child: ChildProcess | undefined;
  let hasTimedOut = false;
  const timer = setTimeout(() => {
    hasTimedOut = true;
    // Not fluent-ffmpeg's own timeout, which sends SIGTERM, and only to one process.
    if (child) killGroup(child);
  }, limits.wallMs);
  const settle = (): void => {
    clearTimeout(timer);
    if (child) running.delete(child);
  };
  command.on('start', () => {
    const spawned: unknown = Reflect.get(command, 'ffmpegProc');
    if (!(spawned instanceof ChildProcess)) return;
    child = spawned;
    running.add(child);
    if (hasTimedOut || isClosed()) killGroup(child);
  });
  command.on('end', (_stdout: unknown, stderr: unknown) => {
    settle();
    // When the disk is full only at the end of a file, ffmpeg prints an error but exits with success.
    const complaint = typeof stderr === 'string' ? stderr : '';
    if (saysNoSpace(complaint)) reject(new FfmpegError('rejected', endOfOutput(complaint)));
    else succeed();
  });
  command.on('error', (error: Error, _stdout: unknown, stderr: unknown) => {
    settle();
    reject(describeFailure(error, typeof stderr === 'string' ? stderr : '', hasTimedOut));
  });
  command.run();
  return promise;
}

/**
 * Makes fluent-ffmpeg, which starts one program with ffmpeg's arguments, start ffmpeg through others. Also makes a call end
 * when its process cannot be started at all: in this case fluent-ffmpeg either reads a buffer that it never created (no such
 * folder, no free process), or lets the error of the system call escape (no memory, no program in the file), both outside
 * of any promise. This passes an empty buffer and the error to its callback.
 */
function startThrough(command: FfmpegCommand, [program = '', ...words]: readonly string[]): void {
  // fluent-ffmpeg stores the path globally: it has to be set before each command.
  command.setFfmpegPath(program);
  const spawn: unknown = Reflect.get(command, '_spawnFfmpeg');
  if (typeof spawn !== 'function') return;
  const nothing = { get: () => '' };
  Reflect.set(command, '_spawnFfmpeg', (args: string[], ...others: unknown[]) => {
    const callback = others.at(-1);
    if (typeof callback !== 'function') throw new Error('fluent-ffmpeg starts ffmpeg without a callback');
    const guarded = (error: unknown, stdout: unknown = nothing, stderr: unknown = nothing) =>
      callback(error, stdout, stderr);
    try {
      return spawn.call(command, [...words, ...args], ...others.slice(0, -1), guarded);
    } catch (error) {
      return guarded(error);
    }
  });
}

function describeFailure(error: Error, stderr: string, hasTimedOut: boolean): Error {
  const message = `${error.message}: ${endOfOutput(stderr)}`;
  if (hasTimedOut)
    return new FfmpegError('timed-out', 'ffmpeg took too long and was killed', { cause: error });
  if (LIMIT_SIGNALS.test(error.message)) return new FfmpegError('overran', message, { cause: error });
  if (CRASH_SIGNALS.test(error.message)) return new FfmpegError('rejected', message, { cause: error });
  const status = /exited with code (\d+)/.exec(error.message)?.[1];
  // Not started for a reason that says nothing about ffmpeg, such as a missing folder or no free process.
  if (status === undefined) return new Error(message, { cause: error });
  const isMissing = NOT_STARTED_STATUSES.includes(status);
  return new FfmpegError(isMissing ? 'missing' : 'rejected', message, { cause: error });
}

function endOfOutput(stderr: string): string {
  return stderr.trim().split('\n').slice(-3).join(' | ').slice(-400);
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  for (const target of [-child.pid, child.pid]) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // The process has ended already, or (without setsid) leads no process group.
    }
  }
}

type Wrapper = { name: string; words: (limits: FfmpegLimits) => string[] };

/** Outermost first. Each replaces itself with the next, so that there is only one process. */
const WRAPPERS: readonly Wrapper[] = [
  { name: 'setsid', words: () => ['setsid'] },
  { name: 'unshare', words: () => ['unshare', '-rn'] },
  {
    name: 'prlimit',
    words: ({ memoryBytes, cpuSeconds, fileBytes }) => [
      ...['prlimit', `--as=${memoryBytes}`, `--cpu=${cpuSeconds}`, `--fsize=${fileBytes}`],
      ...['--nofile=64', '--core=0', '--'],
    ],
  },
  { name: 'nice', words: () => ['nice', '-n', NICENESS] },
  // Innermost, because changing the namespace would reset it.
  { name: 'setpriv', words: () => ['setpriv', '--pdeathsig', 'KILL'] },
];

async function probeConfinement(log: Log): Promise<Wrapper[]> {
  const works = await Promise.all(
    WRAPPERS.map(({ words }) => {
      const [program = '', ...others] = words(RENDER_LIMITS);
      return succeeds(program, [...others, 'true']);
    }),
  );
  const missingPrograms = WRAPPERS.filter((_, index) => !works[index]).map(({ name }) => name);
  if (missingPrograms.length > 0)
    log.warn(
      { missing: missingPrograms },
      'ffmpeg runs with fewer restrictions: these programs are not available',
    );
  return WRAPPERS.filter((_, index) => works[index]);
}

async function hasRequiredFeatures(path: string): Promise<boolean> {
  const tone = '-f lavfi -i sine=duration=0.2 -ac 2';
  const filters = 'aresample=192000,alimiter=limit=0.5:latency=true,aresample=44100,ebur128=peak=true';
  return succeeds(path, `-v quiet -nostdin ${tone} -af ${filters} -c:a libmp3lame -f null -`.split(' '));
}

async function readVersion(path: string): Promise<string | undefined> {
  try {
    const { stdout } = await execute(path, ['-hide_banner', '-version'], { timeout: PROBE_TIMEOUT_MS });
    return /^ffmpeg version (\S+)/.exec(stdout)?.[1];
  } catch {
    return undefined;
  }
}

/** False for development builds without a release number (`N-109468-g…`): only the filters are checked for them. */
function isTooOld(version: string): boolean {
  const [, major, minor] = /^n?(\d+)\.(\d+)/.exec(version) ?? [];
  if (major === undefined || minor === undefined) return false;
  const [oldestMajor, oldestMinor] = OLDEST_VERSION;
  return Number(major) < oldestMajor || (Number(major) === oldestMajor && Number(minor) < oldestMinor);
}

async function succeeds(program: string, words: string[]): Promise<boolean> {
  try {
    await execute(program, words, { timeout: PROBE_TIMEOUT_MS, killSignal: 'SIGKILL' });
    return true;
  } catch {
    return false;
  }
}
