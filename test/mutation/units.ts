/** The units of `bun run mutate`: files whose mistakes would go unnoticed for long, and their own tests. */
export const UNITS: Readonly<Record<string, { file: string; tests: readonly string[] }>> = {
  penalty: { file: 'src/domain/penalty.ts', tests: ['./test/src/domain/penalty.test.ts'] },
  'rate-limiter': {
    file: 'api/http/limits/rate-limiter.ts',
    // Without the test of a million addresses, which takes seconds and is about memory alone.
    tests: [
      './test/api/http/limits/rate-limiter.test.ts',
      './test/api/http/limits/shared-logs.test.ts',
      "-t '^(?!.*million)'",
    ],
  },
  'steam-id': { file: 'src/domain/steam-id.ts', tests: ['./test/src/domain/steam-id.test.ts'] },
  loudness: { file: 'media/rendering/gain.ts', tests: ['./test/media/rendering/gain.test.ts'] },
  'loudness-meter': {
    file: 'media/rendering/measurement.ts',
    // Without the long clips of EBU Tech 3341 and the comparisons with ffmpeg, which take many seconds.
    tests: ['./test/media/rendering/measurement.test.ts', "-t '^(?!.*(EBU|ebur128))'"],
  },
  'k-weighting': {
    file: 'media/rendering/k-weighting.ts',
    tests: ['./test/media/rendering/k-weighting.test.ts'],
  },
  'true-peak': { file: 'media/rendering/true-peak.ts', tests: ['./test/media/rendering/true-peak.test.ts'] },
  'wall-clock': {
    file: 'src/import/source/wall-clock.ts',
    tests: ['./test/src/import/source/wall-clock.test.ts'],
  },
};
