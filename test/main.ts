import { availableParallelism } from 'node:os';
import { openTestServer } from './support/database/test-server.ts';

/** In milliseconds. Returning freed memory to the system at once takes a tenth of the processor time on virtual machines. */
const MIMALLOC_PURGE_DELAY = '10000';

/**
 * Runs `bun test` with the arguments given on twice as many processes as there are processors, as most tests wait most
 * of their time, with one PostgreSQL for all test files. A file that is run without this starts its own.
 */
const server = await openTestServer();
// Ctrl-C ends this process; the server still has to be stopped.
process.on('SIGINT', () => {});
const tests = Bun.spawn(
  [
    process.execPath,
    'test',
    `--parallel=${2 * availableParallelism()}`,
    '--timeout',
    '300000',
    ...process.argv.slice(2),
  ],
  {
    env: { ...process.env, TEST_POSTGRES_URL: server.url, MIMALLOC_PURGE_DELAY },
    stdio: ['inherit', 'inherit', 'inherit'],
  },
);
process.on('SIGTERM', () => tests.kill());
const code = await tests.exited;
await server.stop();
process.exit(code);
