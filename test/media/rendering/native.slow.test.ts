import { afterAll, expect, test } from 'bun:test';

/** The tests of these files, with the ffmpeg of the system. Read by what they import, so it is set before. */
process.env.JUDGED_ENGINE = 'native';
afterAll(() => {
  delete process.env.JUDGED_ENGINE;
});

const hasFfmpeg = Bun.which('ffmpeg') !== null;
test('CI has an ffmpeg, so that it is judged there', () => {
  expect(hasFfmpeg || !process.env.CI).toBe(true);
});

if (hasFfmpeg) {
  for (const file of ['decode', 'loudness', 'render', 'voice']) await import(`./${file}.test.ts`);
}
