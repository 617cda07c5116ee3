import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { renderSound } from '../../../media/rendering/render.ts';
import { anAudio, silence, sine, toWav } from '../../support/audio/audio.ts';
import {
  encode,
  JUDGED_ENGINE,
  makeFolder,
  makeUpload,
  openEngine,
} from '../../support/audio/ffmpeg-engines.ts';

setDefaultTimeout(240_000);

const folder = await makeFolder('tracks');
afterAll(folder.remove);
const ffmpeg = await openEngine(JUDGED_ENGINE);
afterAll(() => ffmpeg.close());

const VORBIS = ['-c:a', 'libvorbis', '-f', 'matroska'];
const tone = toWav(anAudio({ seconds: 8, channels: 1, shape: sine(440, 0.3) }), 's16');

/**
 * A recording with several tracks, as OBS makes them.
 * @param lengths the seconds of tone in each; 0 is a silent one.
 * @param flagged the number of the track that is flagged as the default.
 */
function record(lengths: number[], flagged?: number): Promise<Uint8Array> {
  const filters = lengths.map((seconds, index) =>
    seconds === 0 ? `[in${index}]volume=0[t${index}]` : `[in${index}]atrim=end=${seconds}[t${index}]`,
  );
  const inputs = lengths.map((_, index) => `[in${index}]`).join('');
  return encode(tone, 'mka', [
    ...['-filter_complex', [`[0:a]asplit=${lengths.length}${inputs}`, ...filters].join(';')],
    ...lengths.flatMap((_, index) => ['-map', `[t${index}]`]),
    ...lengths.flatMap((_, index) => [`-disposition:a:${index}`, index === flagged ? 'default' : '0']),
    ...VORBIS,
  ]);
}

async function lengthOf(bytes: Uint8Array): Promise<number> {
  const directory = await makeUpload(folder.path, bytes);
  return (await renderSound(ffmpeg, directory, { maxSeconds: 10, targetLufs: -18 })).durationMs / 1000;
}

test.each([
  ['the flagged track', [1, 2, 3], 1, 2],
  ['the first track when none is flagged', [1, 2, 3], undefined, 1],
  ['the second track when the first is silent', [0, 2, 3], 0, 2],
  ['the first track that can be heard when the flagged one is silent', [1, 0, 3], 1, 1],
  ['the fourth track when the others are silent', [0, 0, 0, 4], 0, 4],
])('takes %s', async (_, lengths, flagged, seconds) => {
  expect(await lengthOf(await record(lengths, flagged))).toBeCloseTo(seconds, 1);
});

test('takes the second track when the first cannot be decoded', async () => {
  const bytes = Buffer.from(await record([1, 2], 0));
  bytes.write('A_VORBIX', bytes.indexOf('A_VORBIS'));
  expect(await lengthOf(bytes)).toBeCloseTo(2, 1);
});

test.each([
  ['the first four tracks are silent', () => record([0, 0, 0, 0, 5], 0)],
  ['the only track is silent', () => encode(toWav(silence(1), 's16'), 'mka', VORBIS)],
])('refuses a recording as silent when %s', async (_, make) => {
  await expect(lengthOf(await make())).rejects.toMatchObject({ name: 'SoundRefused', reason: 'silent' });
});

test('keeps all of a recording that was paused for two minutes', async () => {
  const pause = 'asetpts=PTS+gt(T\\,4)*120/TB';
  expect(await lengthOf(await encode(tone, 'mka', ['-af', pause, ...VORBIS]))).toBeCloseTo(8, 1);
});
