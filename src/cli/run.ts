import { Command, CommanderError } from 'commander';
import packageJson from '../../package.json';
import { describeOutage } from '../db/open.ts';
import { DomainError } from '../domain/errors.ts';
import { describeError } from '../runtime/log.ts';
import { TOOL } from '../runtime/tool.ts';
import { addBackupCommands } from './backup.ts';
import { addBotCommands } from './bot.ts';
import { type Context, createContext, FAILURE } from './context.ts';
import { addMirrorCommands } from './mirrors.ts';
import { addPenaltyCommands } from './penalties.ts';
import { addServerCommands } from './servers.ts';
import { addSoundCommands } from './sounds.ts';
import { addTokenCommands } from './tokens.ts';
import { addUserCommands } from './users.ts';
import { addWebhookCommands } from './webhooks.ts';

/** The exit code of wrong usage. */
const WRONG_USAGE = 2;

/** Options that are valid without a command; any other call without one prints help. */
const GLOBAL_OPTIONS = ['--json', '--demo'];

type Call = Parameters<typeof createContext>[1] & {
  /** Resolved with an exit code to interrupt the command, which leaves no embedded database behind. */
  interrupted: Promise<number>;
};

/**
 * Runs one call of the operator's tool.
 * @returns its exit code.
 */
export async function runCommand(args: readonly string[], { interrupted, ...call }: Call): Promise<number> {
  const { program, context } = createProgram(call);
  try {
    if (args.every((argument) => GLOBAL_OPTIONS.includes(argument))) {
      program.outputHelp();
      return 0;
    }
    const outcome = program.parseAsync(args, { from: 'user' }).then(context.exitCode);
    return await Promise.race([outcome, interrupted]);
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    call.output.warn(explain(error));
    return FAILURE;
  } finally {
    await context.close();
  }
}

/** One line for what an operator can correct; everything for a fault of the program. */
function explain(error: unknown): string {
  if (error instanceof DomainError) return error.message;
  return describeOutage(error) ?? describeError(error);
}

/** Every command of the operator's tool; errors are thrown as CommanderError. */
export function createProgram(call: Omit<Call, 'interrupted'>): { program: Command; context: Context } {
  const { output } = call;
  const program = new Command(TOOL)
    .description("The operator's tool: it works on the service's database, whether or not the service runs.")
    .version(packageJson.version)
    .option('--json', 'JSON on stdout')
    .option('--demo', 'work on the data of the demo')
    .showHelpAfterError('(see --help)')
    // Commander's own errors look like all others.
    .configureOutput({
      writeOut: (text) => output.print(text.replace(/\n$/, '')),
      writeErr: (text) => output.warn(text.replace(/\n$/, '')),
      outputError: (text, write) =>
        write(text.replace(/^error: (.)/, (_, first: string) => first.toUpperCase())),
    })
    .exitOverride();

  const context = createContext(program, call);
  addServerCommands(program, context);
  addTokenCommands(program, context);
  addUserCommands(program, context);
  addPenaltyCommands(program, context);
  addBotCommands(program, context);
  addMirrorCommands(program, context);
  addSoundCommands(program, context);
  addWebhookCommands(program, context);
  addBackupCommands(program, context);
  return { program, context };
}
