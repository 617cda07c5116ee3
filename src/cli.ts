import { existsSync } from 'node:fs';
import { CommanderError } from 'commander';
import { createProgram } from './cli/program.ts';
import { createSession } from './cli/session.ts';
import { describeOutage } from './db/open-failure.ts';
import { toDemoConfig } from './demo/config.ts';
import { DomainError, NotFound } from './domain/errors.ts';
import { parseConfig } from './runtime/config.ts';
import { createLogger } from './runtime/log.ts';

/** The exit codes for wrong usage and for failures. */
const WRONG_USAGE = 2;
const FAILURE = 1;
/** The exit codes that shells report for a program ended by a signal: 128 plus the signal's number. */
const INTERRUPTED = 130;
const TERMINATED = 143;

/** Options that may stand alone: a call without a command prints help. */
const GLOBAL_OPTIONS = ['--json', '--demo'];

/** Logs less than the service, unless configured otherwise. */
const DEFAULTS = { LOG_LEVEL: 'warn' };

const session = createSession(() => {
  const configured = parseConfig(process.env, DEFAULTS);
  const isDemo = program.opts<{ demo?: boolean }>().demo === true;
  const config = isDemo ? toDemoConfig(configured) : configured;
  if (isDemo && !existsSync(config.dataDir)) {
    throw new NotFound(
      `There is no demo in ${config.dataDir}: start it with \`bun run demo\`, or set the DATA_DIR it was started with`,
    );
  }
  return { config, log: createLogger(config.logLevel, 2) };
});
const program = createProgram(session);

// Ctrl-C leaves no embedded database behind; a second one ends the process at once.
const interrupted = Promise.withResolvers<number>();
process.once('SIGINT', () => interrupted.resolve(INTERRUPTED));
process.once('SIGTERM', () => interrupted.resolve(TERMINATED));

process.exit(await run());

/** One line for what an operator can correct; everything for a fault of the program. */
function explain(error: unknown): unknown {
  if (error instanceof DomainError) return error.message;
  return describeOutage(error) ?? error;
}

async function run(): Promise<number> {
  try {
    if (process.argv.slice(2).every((argument) => GLOBAL_OPTIONS.includes(argument))) {
      program.outputHelp();
      return 0;
    }
    const done = program.parseAsync().then(() => Number(process.exitCode ?? 0));
    return await Promise.race([done, interrupted.promise]);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    console.error(explain(error));
    return FAILURE;
  } finally {
    await session.close();
  }
}
