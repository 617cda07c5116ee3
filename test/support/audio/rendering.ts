import { afterAll, expect } from 'bun:test';
import type { Ffmpeg } from '../../../media/ffmpeg/ffmpeg.ts';
import { type RenderedSound, renderSound } from '../../../media/rendering/render.ts';
import type { RoundSoundFailure } from '../../../src/domain/round-sound.ts';
import { createTestFolder } from '../service/program.ts';
import { JUDGED_ENGINE, makeUpload, openEngine } from './ffmpeg-engines.ts';

export const TARGET_LUFS = -18;

type RenderOptions = Partial<Parameters<typeof renderSound>[2]> & {
  /** {@link JUDGED_ENGINE} by default. */
  ffmpeg?: Ffmpeg;
};

/** The judged ffmpeg, and a folder for the uploads that a test file renders; both end with its tests. */
export async function openRendering() {
  const folder = createTestFolder();
  const judged = await openEngine(JUDGED_ENGINE);
  afterAll(() => judged.close());
  return {
    ffmpeg: judged,
    folder,
    /** Renders an upload, by default of up to ten seconds at {@link TARGET_LUFS}; `directory` has the files. */
    render: async (
      bytes: Uint8Array,
      { ffmpeg = judged, ...options }: RenderOptions = {},
    ): Promise<{ sound: RenderedSound; directory: string }> => {
      const directory = await makeUpload(folder, bytes);
      const sound = await renderSound(ffmpeg, directory, {
        maxSeconds: 10,
        targetLufs: TARGET_LUFS,
        ...options,
      });
      return { sound, directory };
    },
  };
}

/** Asserts that an upload is refused, and why. */
export async function expectRefusal(rendering: Promise<unknown>, reason: RoundSoundFailure): Promise<void> {
  await expect(rendering).rejects.toMatchObject({ name: 'SoundRefused', reason });
}
