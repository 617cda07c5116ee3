import { afterAll } from 'bun:test';
import { findFreePort } from '../machine/free-port.ts';
import { createTestFolder } from '../service/program.ts';
import { waitFor } from '../wait.ts';

/** A Redis of this test file's own, which may be killed. */
export type RedisServer = {
  url: string;
  start: () => Promise<void>;
  signal: (signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') => void;
  /** Runs `redis-cli` with these words. */
  tell: (...words: string[]) => void;
};

/** @returns undefined without the program `redis-server`; where CI is set, that is a failure. */
export async function startRedisServer(): Promise<RedisServer | undefined> {
  if (!Bun.which('redis-server')) {
    if (process.env.CI) throw new Error('redis-server is missing: install the package redis-server');
    console.warn('SKIPPED: no redis-server here, so its faults are not tried');
    return undefined;
  }
  const port = findFreePort();
  const folder = createTestFolder();
  let server: Bun.Subprocess | undefined;
  const cli = (...words: string[]) =>
    Bun.spawnSync(['redis-cli', '-h', '127.0.0.1', '-p', String(port), ...words]);
  const redis: RedisServer = {
    url: `redis://127.0.0.1:${port}`,
    start: async () => {
      const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder.path];
      server = Bun.spawn(['redis-server', ...options], { stdout: 'ignore', stderr: 'ignore' });
      await waitFor(() => cli('ping').stdout.toString().startsWith('PONG'));
    },
    signal: (signal) => server?.kill(signal),
    tell: (...words) => {
      cli(...words);
    },
  };
  afterAll(async () => {
    server?.kill('SIGKILL');
    await server?.exited;
    await folder.remove();
  });
  await redis.start();
  return redis;
}
