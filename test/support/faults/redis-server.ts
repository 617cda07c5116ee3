import { atEnd } from '../cleanup.ts';
import { findFreePort } from '../machine/free-port.ts';
import { createTestFolder } from '../service/program.ts';
import { waitForProcess } from '../wait.ts';

/**
 * Starts a Redis of this test file's own, which may be killed.
 * @returns undefined without the program `redis-server`; where CI is set, that is a failure.
 */
export async function startRedisServer() {
  if (!Bun.which('redis-server')) {
    if (process.env.CI) throw new Error('redis-server is missing: install the package redis-server');
    console.warn('SKIPPED: no redis-server here, so its faults are not tried');
    return undefined;
  }
  const port = findFreePort();
  const folder = createTestFolder();
  const url = `redis://127.0.0.1:${port}`;
  let server: Bun.Subprocess | undefined;
  let operator: Bun.RedisClient | undefined;
  const redis = {
    url,
    start: async () => {
      const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
      server = Bun.spawn(['redis-server', ...options], { stdout: 'ignore', stderr: 'ignore' });
      operator?.close();
      operator = await waitForProcess(() => connectTo(url), { what: 'Redis responds' });
    },
    signal: (signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT') => server?.kill(signal),
    /**
     * Sends a command over a separate connection, open since the start, so that it also gets through when Redis takes no
     * more.
     * @throws when the response is not OK.
     */
    tell: async (command: string) => {
      const [name = '', ...words] = command.split(' ');
      const reply = await operator?.send(name, words);
      if (reply !== 'OK') throw new Error(`Redis responds to ${command} with ${reply}`);
    },
  };
  atEnd(async () => {
    operator?.close();
    server?.kill('SIGKILL');
    await server?.exited;
  });
  await redis.start();
  return redis;
}

/** @returns undefined while there is no response. */
async function connectTo(url: string): Promise<Bun.RedisClient | undefined> {
  const client = new Bun.RedisClient(url, { autoReconnect: false, connectionTimeout: 1000 });
  try {
    await client.connect();
    await client.send('PING', []);
    return client;
  } catch {
    client.close();
    return undefined;
  }
}
