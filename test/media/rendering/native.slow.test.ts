import { afterAll, expect, test } from 'bun:test';

/** The tests of these files, with the ffmpeg of the system. Read by what they import, so it is set before. */
process.env.JUDGED_ENGINE = 'native';
afterAll(() => {
  delete process.env.JUDGED_ENGINE;
});

test('CI has an ffmpeg, so that it is judged there', () => {
  expect(Bun.which('ffmpeg') !== null || !process.env.CI).toBe(true);
});

await import('./loudness.test.ts');
await import('./render.test.ts');
await import('./start.test.ts');
await import('./voice.test.ts');
