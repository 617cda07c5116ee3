import { existsSync } from 'node:fs';
import { CommanderError } from 'commander';
import { describeOutage } from '../db/open.ts';
import { toDemoConfig } from '../demo/config.ts';
import { DomainError, NotFound } from '../domain/errors.ts';
import type { Config } from '../runtime/config.ts';
import { createLogger } from '../runtime/log.ts';
import { createProgram } from './program.ts';
import { createSession, type Output } from './session.ts';

/** The exit codes for wrong usage and for failures. */
const WRONG_USAGE = 2;
const FAILURE = 1;

/** Options that may stand alone: a call without a command prints help. */
const GLOBAL_OPTIONS = ['--json', '--demo'];

/** Logs less than the service, unless configured otherwise. */
const DEFAULTS = { LOG_LEVEL: 'warn' };

type Call = {
  /** Reads the configuration, where it says nothing from these defaults. */
  configure: (defaults: Record<string, string>) => Config;
  output: Output;
  /** Resolved with an exit code to interrupt the command, which leaves no embedded database behind. */
  interrupted: Promise<number>;
};

/**
 * Runs one call of the operator's tool.
 * @returns its exit code.
 */
export async function runCommand(args: readonly string[], call: Call): Promise<number> {
  const { configure, output, interrupted } = call;
  const session = createSession(() => {
    const configured = configure(DEFAULTS);
    const isDemo = program.opts<{ demo?: boolean }>().demo === true;
    const config = isDemo ? toDemoConfig(configured) : configured;
    if (isDemo && !existsSync(config.dataDir)) {
      throw new NotFound(
        `There is no demo in ${config.dataDir}: start it with \`bun run demo\`, or set the DATA_DIR it was started with`,
      );
    }
    return { config, log: createLogger(config.logLevel, 2) };
  }, output);
  const program = createProgram(session);
  try {
    if (args.every((argument) => GLOBAL_OPTIONS.includes(argument))) {
      program.outputHelp();
      return 0;
    }
    const done = program.parseAsync(args, { from: 'user' }).then(() => (session.hasFailed() ? FAILURE : 0));
    return await Promise.race([done, interrupted]);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    output.warn(explain(error));
    return FAILURE;
  } finally {
    await session.close();
  }
}

/** One line for what an operator can correct; everything for a fault of the program. */
function explain(error: unknown): string {
  if (error instanceof DomainError) return error.message;
  return describeOutage(error) ?? Bun.inspect(error);
}
