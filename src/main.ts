import { parseConfig } from './config.ts';
import { InvalidInput, Unavailable } from './errors.ts';
import { createLogger } from './log.ts';
import { runService } from './service.ts';

/** `bun start`. A bad setting, a taken port or a database out of reach end it with one line and exit code 1. */
try {
  const config = parseConfig(process.env);
  const log = createLogger(config.logLevel);
  const service = await runService(config, log);
  let isStopping = false;
  const shutDown = async (signal: string) => {
    if (isStopping) return;
    isStopping = true;
    log.info({ signal }, 'stopping');
    await service.stop();
    log.info('stopped');
    process.exit(0);
  };
  process.on('SIGTERM', () => void shutDown('SIGTERM'));
  process.on('SIGINT', () => void shutDown('SIGINT'));
} catch (error) {
  if (!(error instanceof InvalidInput || error instanceof Unavailable)) throw error;
  console.error(error.message);
  process.exit(1);
}
