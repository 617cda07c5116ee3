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
  'wall-clock': {
    file: 'src/import/source/wall-clock.ts',
    tests: ['./test/src/import/source/wall-clock.test.ts'],
  },
};
