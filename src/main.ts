import { parseConfig } from './config.ts';
import { InvalidInput, Unavailable } from './errors.ts';
import { createLogger } from './log.ts';
import { runService } from './service.ts';

/** `bun start`. A bad setting, a taken port or a database out of reach end it with one line and exit code 1. */
const stopping = new AbortController();
const signal = Promise.withResolvers<string>();
// Heard from the first moment: a service told to stop while it starts gives the start up.
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
    log.info({ signal: await signal.promise }, 'stopping');
    await service.stop();
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
