import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmod, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseFfmpeg } from '../../../media/ffmpeg/choose.ts';
import {
  type Ffmpeg,
  type FfmpegJob,
  type FfmpegLimits,
  RENDER_LIMITS,
} from '../../../media/ffmpeg/ffmpeg.ts';
import { createNativeFfmpeg } from '../../../media/ffmpeg/native.ts';
import { withTimeLimit } from '../../../src/runtime/time-limit.ts';
import { anAudio, sine, toWav } from '../../support/audio/audio.ts';
import {
  ENGINES,
  HAS_NATIVE_FFMPEG,
  isOnThisMachine,
  openEngine,
  SILENT_LOG,
} from '../../support/audio/ffmpeg-engines.ts';
import { countTurns } from '../../support/machine/event-loop.ts';
import { countProcesses } from '../../support/machine/processes.ts';
import { createTestFolder } from '../../support/service/program.ts';
import { waitForProcess } from '../../support/wait.ts';

setDefaultTimeout(240_000);

const folder = createTestFolder();
await Bun.write(join(folder, 'tone.wav'), toWav(anAudio({ seconds: 1, shape: sine(440, 0.3) })));

const TO_MP3: FfmpegJob = {
  directory: folder,
  input: { name: 'tone.wav', options: ['-f', 'wav'] },
  output: { name: 'tone.mp3', options: ['-c:a', 'libmp3lame', '-f', 'mp3'] },
};
const ENDLESS: FfmpegJob = {
  directory: folder,
  input: { name: 'tone.wav', options: ['-stream_loop', '-1', '-f', 'wav'] },
  output: { options: ['-af', 'aresample=192000'] },
};

for (const engine of ENGINES) {
  describe.skipIf(!isOnThisMachine(engine))(`the ${engine} engine`, () => {
    let ffmpeg: Ffmpeg;
    beforeEach(async () => {
      ffmpeg = await openEngine(engine);
    });
    afterEach(() => ffmpeg.close());

    test('stops a call at its time limit, and serves the next one', async () => {
      await expect(run(ffmpeg, ENDLESS, { wallMs: 700 })).rejects.toHaveProperty('failure', 'timed-out');
      await run(ffmpeg, TO_MP3);
      expect(Bun.file(join(folder, 'tone.mp3')).size).toBeGreaterThan(1000);
    });

    test('stops a call whose file grows too large', async () => {
      const output = { name: 'large.f32', options: ['-f', 'f32le'] };
      const overrun = run(ffmpeg, { ...ENDLESS, output }, { fileBytes: 1_000_000 });
      await expect(overrun).rejects.toHaveProperty('failure', 'overran');
      expect(Bun.file(join(folder, 'large.f32')).size).toBeLessThanOrEqual(1_000_000);
    });

    test('ends a call that needs more and more memory', async () => {
      // To play an endless sound backwards, all of it has to be kept.
      const greedy = run(ffmpeg, { ...ENDLESS, output: { options: ['-af', 'areverse'] } });
      const failure = engine === 'native' ? 'rejected' : 'overran';
      await expect(greedy).rejects.toHaveProperty('failure', failure);
      await run(ffmpeg, TO_MP3);
    });

    test('leaves the event loop free while it works', async () => {
      const overrun = run(ffmpeg, ENDLESS, { wallMs: 1500 }).catch((error: unknown) => error);
      expect(await countTurns(() => overrun)).toBeGreaterThan(10);
      expect(await overrun).toHaveProperty('failure', 'timed-out');
    });

    test('says that ffmpeg refused its input', async () => {
      const refused = run(ffmpeg, { ...TO_MP3, input: { name: 'tone.wav', options: ['-f', 'flac'] } });
      await expect(refused).rejects.toHaveProperty('failure', 'rejected');
    });

    test('says so when the folder of the call is gone, and serves the next one', async () => {
      const lost = run(ffmpeg, { ...TO_MP3, directory: join(folder, 'gone') });
      await expect(lost).rejects.toBeInstanceOf(Error);
      await run(ffmpeg, TO_MP3);
    });

    test('ends a running call when it is closed', async () => {
      const running = run(ffmpeg, ENDLESS).catch((error: unknown) => error);
      await Bun.sleep(300);
      await ffmpeg.close();
      expect(await running).toHaveProperty('name', 'FfmpegError');
    });

    test('ends a call that is about to run when it is closed', async () => {
      const startedAt = performance.now();
      const beginning = run(ffmpeg, ENDLESS).catch((error: unknown) => error);
      // The call has begun: it opens its files, or writes its launcher.
      await Promise.resolve();
      await Promise.resolve();
      await ffmpeg.close();
      expect(await beginning).toHaveProperty('name', 'FfmpegError');
      expect(performance.now() - startedAt).toBeLessThan(RENDER_LIMITS.wallMs / 2);
    });
  });
}

describe.skipIf(!HAS_NATIVE_FFMPEG)('a native ffmpeg', () => {
  test('kills a native ffmpeg together with its children', async () => {
    const mark = `${60 + Math.random()}`;
    const ffmpeg = await openScript('with-children.sh', `sleep ${mark} & sleep ${mark}`);
    await expect(run(ffmpeg, TO_MP3, { wallMs: 500 })).rejects.toHaveProperty('failure', 'timed-out');
    const isSleep = async (pid: number) =>
      (await readFile(`/proc/${pid}/cmdline`, 'utf8')).includes(`sleep\0${mark}`);
    await waitForProcess(async () => (await countProcesses(isSleep)) === 0);
    await ffmpeg.close();
  });

  // In a container that forbids user namespaces there is no empty network to run in; the service logs that, too.
  const hasNamespaces = Bun.spawnSync(['unshare', '-rn', 'true']).success;
  if (!hasNamespaces) console.warn('SKIPPED: ffmpeg without a network, since namespaces are forbidden here');

  test('runs with limits on CPU, memory, file size and open files, nice, and without a network', async () => {
    const report = join(folder, 'confinement.txt');
    const ffmpeg = await openScript(
      'confined.sh',
      `{ cat /proc/self/limits; cut -d' ' -f19 /proc/self/stat; cat /proc/net/dev; } > ${report}`,
    );
    await run(ffmpeg, TO_MP3);
    const text = await readFile(report, 'utf8');
    expect(text).toMatch(/Max cpu time +20 /);
    expect(text).toMatch(/Max address space +805306368 /);
    expect(text).toMatch(/Max file size +67108864 /);
    expect(text).toMatch(/Max open files +64 /);
    expect(text).toMatch(/Max core file size +0 /);
    expect(text).toMatch(/^1\d$/m);
    if (hasNamespaces) expect(text.match(/^ *\w+:/gm)?.map((line) => line.trim())).toEqual(['lo:']);
    await ffmpeg.close();
  });

  test('dies with the service, however the service ends', async () => {
    const script = join(import.meta.dir, '../../support/audio/endless-ffmpeg.ts');
    const service = Bun.spawn(['bun', script, folder], { stdout: 'inherit', stderr: 'inherit' });
    await waitForProcess(async () => (await countFfmpegIn(folder)) === 1);
    service.kill('SIGKILL');
    await service.exited;
    await waitForProcess(async () => (await countFfmpegIn(folder)) === 0);
  });

  test('fails one call when the system cannot start ffmpeg, and serves the next', async () => {
    const ffmpeg = await openEngine('native');
    // Longer than the system allows for one argument.
    const tooLong = { ...TO_MP3, output: { name: 'tone.mp3', options: ['-metadata', 'x'.repeat(200_000)] } };
    const failure = run(ffmpeg, tooLong).catch((error: unknown) => error);
    expect(await withTimeLimit(failure, 5000)).toHaveProperty('message', expect.stringContaining('E2BIG'));
    await run(ffmpeg, TO_MP3);
    await ffmpeg.close();
  });
});

test('falls back to the embedded ffmpeg where the system has none', async () => {
  const ffmpeg = await chooseFfmpeg(SILENT_LOG, { systemName: 'no-such-ffmpeg' });
  expect(ffmpeg.description).toStartWith('embedded');
  await run(ffmpeg, TO_MP3);
  await ffmpeg.close();
});

async function run(ffmpeg: Ffmpeg, job: FfmpegJob, limits: Partial<FfmpegLimits> = {}): Promise<void> {
  await ffmpeg.run(job, { ...RENDER_LIMITS, ...limits });
}

/** Opens a script that answers the probes as ffmpeg does, but does this when it gets one of our files. */
async function openScript(name: string, behaviour: string): Promise<Ffmpeg> {
  const path = join(folder, name);
  await Bun.write(path, `#!/bin/sh\ncase "$*" in *tone.wav*) ${behaviour} ;; *) exec ffmpeg "$@" ;; esac\n`);
  await chmod(path, 0o700);
  const ffmpeg = await createNativeFfmpeg(SILENT_LOG, path);
  if (typeof ffmpeg === 'string') throw new Error(ffmpeg);
  return ffmpeg;
}

/** Processes of ffmpeg that work in the folder. */
async function countFfmpegIn(directory: string): Promise<number> {
  return countProcesses(async (pid) => {
    const program = await readlink(`/proc/${pid}/exe`);
    return program.endsWith('/ffmpeg') && (await readlink(`/proc/${pid}/cwd`)) === directory;
  });
}
