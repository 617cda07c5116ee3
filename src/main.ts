import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { InvalidInput, Unavailable } from './domain/errors.ts';
import { parseConfig } from './runtime/config.ts';
import { findMisreadLines } from './runtime/env-file.ts';
import { createLogger } from './runtime/log.ts';

/** `bun start`. A bad setting, a port in use or an unreachable database ends it with one line and exit code 1. */
const stopping = new AbortController();
const signal = Promise.withResolvers<string>();
/** Ends the process like a signal. */
const REPLACED = 'replaced';
/** A process under `nohup` ignores SIGHUP, which says that the terminal was closed; a handler would end that. */
const signals = ['SIGTERM', 'SIGINT', ...(ignoresHangups() ? [] : (['SIGHUP'] as const))] as const;
// Registered first, so that a signal aborts the start.
for (const name of signals) {
  process.on(name, () => {
    stopping.abort();
    signal.resolve(name);
  });
}

// Printed before an error about a setting, which one of these lines may have caused.
const misread = findMisreadLines(process.env);
try {
  if (!existsSync('tsconfig.json')) {
    // Bun compiles JSX by the tsconfig.json of the folder in which it is started.
    throw new InvalidInput(`start this in its own folder: cd ${resolve(import.meta.dir, '..')} && bun start`);
  }
  const { runService } = await import('./service/service.ts');
  const config = parseConfig(process.env);
  const log = createLogger(config.logLevel);
  for (const warning of misread.splice(0)) log.warn(warning);
  for (const { variable, meant } of config.misspelled) {
    log.warn(`${variable} is not a setting and is ignored: did you mean ${meant}?`);
  }
  try {
    const onReplaced = () => signal.resolve(REPLACED);
    const service = await runService(config, log, { signal: stopping.signal, onReplaced });
    const name = await signal.promise;
    if (name === REPLACED) {
      log.fatal('the database was replaced by a restored backup: start this process again');
      await service.stop();
      process.exit(1);
    }
    log.info({ signal: name }, 'stopping');
    // SIGINT and SIGHUP come from a terminal, where no load balancer needs time to notice.
    await service.stop({ drainMs: name === 'SIGTERM' ? config.drainSeconds * 1000 : 0 });
  } catch (error) {
    if (error !== stopping.signal.reason) throw error;
  }
  log.info('stopped');
  process.exit(0);
} catch (error) {
  if (!(error instanceof InvalidInput || error instanceof Unavailable)) throw error;
  for (const line of [...misread, error.message]) console.error(line);
  process.exit(1);
}

/** Of other systems than Linux, only that a process without a terminal may ignore them is known. */
function ignoresHangups(): boolean {
  try {
    const [, mask = '0'] = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return !process.stdout.isTTY;
  }
}
