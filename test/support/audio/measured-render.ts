import { dlopen, ptr } from 'bun:ffi';
import { readFile } from 'node:fs/promises';
import type { Ffmpeg } from '../../../media/ffmpeg/ffmpeg.ts';
import { renderSound } from '../../../media/rendering/render.ts';
import { SoundRefused } from '../../../media/rendering/run-ffmpeg.ts';
import { ENGINES, openEngine } from './ffmpeg-engines.ts';

/** What one rendering took, in the process below and in those it started. */
export type MeasuredRender = {
  outcome: string;
  /** Processor time of all of them, once ffmpeg is open, as in a service that runs. */
  cpuMs: number;
  /** The most memory that one of them held at once. */
  peakBytes: number;
};

/**
 * Renders the upload in a folder in a separate process, where nothing else takes time and memory.
 * @param engine which ffmpeg to use.
 */
export async function measureRender(engine: string, directory: string): Promise<MeasuredRender> {
  const child = Bun.spawn(['bun', import.meta.path, engine, directory], { stderr: 'inherit' });
  const text = await child.stdout.text();
  if ((await child.exited) !== 0) throw new Error(`rendering ended with ${child.exitCode}`);
  return JSON.parse(text);
}

/** `published`, or why the upload in a folder is refused. */
export function findOutcome(ffmpeg: Ffmpeg, directory: string): Promise<string> {
  return renderSound(ffmpeg, directory, { maxSeconds: 10, targetLufs: -18 }).then(
    () => 'published',
    (error: unknown) => (error instanceof SoundRefused ? error.reason : String(error)),
  );
}

const RUSAGE_CHILDREN = -1;
const RUSAGE_BYTES = 144;

/** getrusage(2), which Bun offers for the process itself only. */
function readChildrenUsage(): { cpuMs: number; peakBytes: number } {
  const { symbols, close } = dlopen('libc.so.6', { getrusage: { args: ['i32', 'ptr'], returns: 'i32' } });
  const usage = new BigInt64Array(RUSAGE_BYTES / 8);
  if (symbols.getrusage(RUSAGE_CHILDREN, ptr(usage)) !== 0) throw new Error('getrusage failed');
  close();
  const [userSeconds = 0, userMicros = 0, systemSeconds = 0, systemMicros = 0, peakKilobytes = 0] =
    Array.from(usage, Number);
  return {
    cpuMs: (userSeconds + systemSeconds) * 1000 + (userMicros + systemMicros) / 1000,
    peakBytes: peakKilobytes * 1024,
  };
}

/** Processor time so far, of the process and of the children it has waited for. */
function readCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000 + readChildrenUsage().cpuMs;
}

/** Not `maxRSS` of the process that is waited for: it counts what its parent held when it was started, too. */
async function readOwnPeakBytes(): Promise<number> {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(await readFile('/proc/self/status', 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

if (import.meta.main) {
  const [name, directory = ''] = process.argv.slice(2);
  const engine = ENGINES.find((known) => known === name);
  if (engine === undefined) throw new Error(`no engine ${name}`);
  const ffmpeg = await openEngine(engine);
  const cpuMsAtStart = readCpuMs();
  const outcome = await findOutcome(ffmpeg, directory);
  await ffmpeg.close();
  const measured: MeasuredRender = {
    outcome,
    cpuMs: readCpuMs() - cpuMsAtStart,
    peakBytes: Math.max(await readOwnPeakBytes(), readChildrenUsage().peakBytes),
  };
  console.log(JSON.stringify(measured));
}
