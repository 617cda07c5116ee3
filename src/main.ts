import { InvalidInput, Unavailable } from './domain/errors.ts';
import { parseConfig } from './runtime/config.ts';
import { createLogger } from './runtime/log.ts';
import { runService } from './service/service.ts';

/** `bun start`. A bad setting, a taken port or a database out of reach end it with one line and exit code 1. */
const stopping = new AbortController();
const signal = Promise.withResolvers<string>();
// From the first moment on: a signal during the start aborts it.
for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.on(name, () => {
    stopping.abort();
    signal.resolve(name);
  });
}

try {
  const config = parseConfig(process.env);
  const log = createLogger(config.logLevel);
  try {
    const service = await runService(config, log, { signal: stopping.signal });
    const name = await signal.promise;
    log.info({ signal: name }, 'stopping');
    // Nobody balances over a process that is stopped from a terminal.
    await service.stop({ drainMs: name === 'SIGTERM' ? config.drainSeconds * 1000 : 0 });
  } catch (error) {
    if (error !== stopping.signal.reason) throw error;
  }
  log.info('stopped');
  process.exit(0);
} catch (error) {
  if (!(error instanceof InvalidInput || error instanceof Unavailable)) throw error;
  console.error(error.message);
  process.exit(1);
}
