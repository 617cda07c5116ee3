import { errorCode } from '../../../src/domain/errors.ts';

/** Below the ports that the system gives out itself, which another process could be given a moment later. */
const [FIRST, COUNT] = [10_000, 20_000];

/** A port nobody listens on, for what has to know its public address before it listens. */
export function findFreePort(): number {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    try {
      Bun.serve({ port, hostname: '127.0.0.1', fetch: () => new Response() }).stop(true);
      return port;
    } catch (error) {
      if (errorCode(error) !== 'EADDRINUSE') throw error;
    }
  }
}
