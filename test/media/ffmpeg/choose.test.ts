import { expect, test } from 'bun:test';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseFfmpeg } from '../../../media/ffmpeg/choose.ts';
import { SILENT_LOG } from '../../support/audio/ffmpeg-engines.ts';
import { createTestFolder } from '../../support/service/program.ts';

const folder = createTestFolder();

/** A program that says it is an ffmpeg of a version, and succeeds at everything. */
async function openProgram(version: string): Promise<string> {
  const path = join(folder, `ffmpeg-${version}`);
  await Bun.write(path, `#!/bin/sh\necho "ffmpeg version ${version}-0ubuntu0.22.04.1 Copyright"\n`);
  await chmod(path, 0o700);
  return path;
}

test('uses the configured program, if it is an ffmpeg of 5.1 or newer', async () => {
  const path = await openProgram('5.1.6');
  const { description } = await chooseFfmpeg(SILENT_LOG, { ffmpegPath: path });
  expect(description).toBe(`native 5.1.6-0ubuntu0.22.04.1 (${path})`);
});

test('refuses a configured program that is missing, no ffmpeg, or too old, naming the variable', async () => {
  for (const [ffmpegPath, reason] of [
    ['/nowhere/ffmpeg', '/nowhere/ffmpeg is not an executable file'],
    ['/bin/true', '/bin/true does not report its version'],
    [await openProgram('5.0.9'), '5.1 is needed'],
  ] as const) {
    const message = await chooseFfmpeg(SILENT_LOG, { ffmpegPath }).catch(String);
    expect(message).toStartWith(`InvalidInput: FFMPEG_PATH="${ffmpegPath}" isn't valid`);
    expect(message).toContain(reason);
  }
});
