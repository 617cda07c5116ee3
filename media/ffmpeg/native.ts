import { ChildProcess, execFile } from 'node:child_process';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import createCommand, { type FfmpegCommand } from 'fluent-ffmpeg';
import {
  type Ffmpeg,
  FfmpegError,
  type FfmpegJob,
  type FfmpegLimits,
  type FfmpegLog,
  saysNoSpace,
} from './ffmpeg.ts';

const execute = promisify(execFile);

/** Major and minor number. */
export const OLDEST_VERSION = [5, 1] as const;
const PROBE_TIMEOUT_MS = 10_000;
const NICENESS = '10';
/** Exit codes of the shell when it cannot start a command. */
const NOT_STARTED_STATUSES = ['126', '127'];
/** How much of ffmpeg's output is kept: a damaged file may make it print a gigabyte. */
const KEPT_LINES = 100;
/** Signals for exceeded limits: SIGXCPU and SIGXFSZ of the kernel, and SIGKILL of our time limit. */
const LIMIT_SIGNALS = /SIGXCPU|SIGXFSZ|SIGKILL/;
/** Its input made it crash. */
const CRASH_SIGNALS = /SIGSEGV|SIGBUS|SIGABRT|SIGFPE|SIGILL/;

/**
 * The operating system's ffmpeg, confined: limits on CPU, memory, file size and open files, low priority, no network, in
 * a process group of its own that dies with this process. Confinements that the machine lacks are logged and left out.
 * @returns the reason as text when there is no such ffmpeg, or it lacks something required.
 */
export async function createNativeFfmpeg(
  log: FfmpegLog,
  options: { path: string; workDirectory: string },
): Promise<Ffmpeg | string> {
  const path = Bun.which(options.path);
  if (path === null) {
    return options.path.includes('/')
      ? `${options.path} is not an executable file`
      : `no ${options.path} on the PATH`;
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
      const launcher = await writeLauncher(options.workDirectory, { path, wrappers, limits });
      await runCommand(launcher, job, { limits, running, isClosed: () => isClosed });
    },
    async close() {
      isClosed = true;
      for (const child of running) killGroup(child);
    },
  };
}

function runCommand(
  launcher: string,
  job: FfmpegJob,
  context: { limits: FfmpegLimits; running: Set<ChildProcess>; isClosed: () => boolean },
): Promise<void> {
  const { limits, running, isClosed } = context;
  const { promise, resolve: succeed, reject } = Promise.withResolvers<void>();
  const command = createCommand({ cwd: job.directory, stdoutLines: KEPT_LINES, logger: undefined });
  // fluent-ffmpeg stores the path globally: it has to be set before each command.
  command.setFfmpegPath(launcher);
  guardSpawn(command);
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
 * Makes a call end when its process cannot be started at all. In this case fluent-ffmpeg either reads a buffer that it
 * never created (no such folder, no free process), or lets the error of the system call escape (no memory, no program in
 * the file), both outside of any promise. This passes an empty buffer and the error to its callback.
 */
function guardSpawn(command: FfmpegCommand): void {
  const spawn: unknown = Reflect.get(command, '_spawnFfmpeg');
  if (typeof spawn !== 'function') return;
  const nothing = { get: () => '' };
  Reflect.set(command, '_spawnFfmpeg', (...words: unknown[]) => {
    const done = words.at(-1);
    if (typeof done !== 'function') return spawn.apply(command, words);
    const guarded = (error: unknown, stdout: unknown = nothing, stderr: unknown = nothing) =>
      done(error, stdout, stderr);
    try {
      return spawn.apply(command, [...words.slice(0, -1), guarded]);
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
      // The process has ended already, or (without setsid) has no group of its own.
    }
  }
}

/**
 * fluent-ffmpeg can only start one program with ffmpeg's arguments, so the confinement is a script that ends with `exec`:
 * the process id stays that of ffmpeg.
 */
async function writeLauncher(
  directory: string,
  options: { path: string; wrappers: readonly Wrapper[]; limits: FfmpegLimits },
): Promise<string> {
  const { path, wrappers, limits } = options;
  const words = wrappers.flatMap((wrapper) => wrapper.words(limits));
  const script = `#!/bin/sh\nexec ${[...words, path].map(quoteForShell).join(' ')} "$@"\n`;
  const launcher = join(resolve(directory), `ffmpeg-${Bun.hash(script).toString(36)}.sh`);
  // After a power failure the file may exist without its content.
  const isWhole = (await readFile(launcher, 'utf8').catch(() => '')) === script;
  if (isWhole && Bun.which(launcher) !== null) return launcher;
  await mkdir(directory, { recursive: true });
  // Replaced by a rename, since another process may be starting the script.
  const draft = `${launcher}.${crypto.randomUUID()}`;
  await writeFile(draft, script, { mode: 0o700 });
  await rename(draft, launcher);
  return launcher;
}

type Wrapper = { name: string; words: (limits: FfmpegLimits) => string[] };

/** Outermost first. Each replaces itself with the next, so that there is only one process. */
const WRAPPERS: readonly Wrapper[] = [
  { name: 'setsid', words: () => ['setsid'] },
  { name: 'unshare', words: () => ['unshare', '-rn'] },
  {
    name: 'prlimit',
    words: (limits) => [
      'prlimit',
      `--as=${limits.memoryBytes}`,
      `--cpu=${limits.cpuSeconds}`,
      `--fsize=${limits.fileBytes}`,
      '--nofile=64',
      '--core=0',
      '--',
    ],
  },
  { name: 'nice', words: () => ['nice', '-n', NICENESS] },
  // Innermost, because changing the namespace would reset it.
  { name: 'setpriv', words: () => ['setpriv', '--pdeathsig', 'KILL'] },
];

const PROBE_LIMITS: FfmpegLimits = {
  wallMs: PROBE_TIMEOUT_MS,
  cpuSeconds: 5,
  memoryBytes: 2 ** 30,
  fileBytes: 2 ** 20,
};

async function probeConfinement(log: FfmpegLog): Promise<Wrapper[]> {
  const results = await Promise.all(
    WRAPPERS.map(async (wrapper) => {
      const [program = '', ...words] = wrapper.words(PROBE_LIMITS);
      return { wrapper, works: await succeeds(program, [...words, 'true']) };
    }),
  );
  const missing = results.filter(({ works }) => !works).map(({ wrapper }) => wrapper.name);
  if (missing.length > 0)
    log.warn({ missing }, 'ffmpeg runs with fewer restrictions: these programs are not available');
  return results.filter(({ works }) => works).map(({ wrapper }) => wrapper);
}

async function hasRequiredFeatures(path: string): Promise<boolean> {
  const tone = ['-f', 'lavfi', '-i', 'sine=duration=0.2', '-ac', '2'];
  const filters = 'aresample=192000,alimiter=limit=0.5:latency=true,aresample=44100,ebur128=peak=true';
  return succeeds(path, [
    '-v',
    'quiet',
    '-nostdin',
    ...tone,
    '-af',
    filters,
    '-c:a',
    'libmp3lame',
    '-f',
    'null',
    '-',
  ]);
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

function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
