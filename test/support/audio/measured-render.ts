import type { Ffmpeg } from '../../../media/ffmpeg/ffmpeg.ts';
import { renderSound } from '../../../media/rendering/render.ts';
import { SoundRefused } from '../../../media/rendering/run-ffmpeg.ts';
import { readProcessorMs } from '../machine/processes.ts';
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
  // Of the process, or of one that it has waited for.
  return { ...JSON.parse(text), peakBytes: child.resourceUsage()?.maxRSS };
}

/** `published`, or why the upload in a folder is refused. */
export function findOutcome(ffmpeg: Ffmpeg, directory: string): Promise<string> {
  return renderSound(ffmpeg, directory, { maxSeconds: 10, targetLufs: -18 }).then(
    () => 'published',
    (error: unknown) => (error instanceof SoundRefused ? error.reason : String(error)),
  );
}

if (import.meta.main) {
  const [name, directory = ''] = process.argv.slice(2);
  const engine = ENGINES.find((known) => known === name);
  if (engine === undefined) throw new Error(`no engine ${name}`);
  const ffmpeg = await openEngine(engine);
  const cpuMsAtStart = await readProcessorMs(process.pid);
  const outcome = await findOutcome(ffmpeg, directory);
  await ffmpeg.close();
  const cpuMs = (await readProcessorMs(process.pid)) - cpuMsAtStart;
  console.log(JSON.stringify({ outcome, cpuMs }));
}
