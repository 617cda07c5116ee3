import { Command, type Option } from 'commander';
import packageJson from '../../package.json';
import { addBackupCommands } from './backup.ts';
import { addBotCommands } from './bot.ts';
import { addPenaltyCommands } from './penalties.ts';
import { addServerCommands } from './servers.ts';
import type { Session } from './session.ts';
import { addSoundCommands } from './sounds.ts';
import { addTokenCommands } from './tokens.ts';
import { addUserCommands } from './users.ts';
import { addWebhookCommands } from './webhooks.ts';

/** Every command of the operator's tool; errors are thrown as CommanderError. */
export function createProgram(session: Session): Command {
  const program = new StrictCommand('bun run cli')
    .description("The operator's tool: it works on the service's database, whether or not the service runs.")
    .version(packageJson.version)
    .option('--json', 'JSON on stdout')
    .option('--demo', 'work on the data of the demo')
    .showHelpAfterError('(see --help)')
    // Commander's own errors look like all others.
    .configureOutput({
      writeOut: (text) => session.output.print(text.replace(/\n$/, '')),
      writeErr: (text) => session.output.warn(text.replace(/\n$/, '')),
      outputError: (text, write) =>
        write(text.replace(/^error: (.)/, (_, first: string) => first.toUpperCase())),
    })
    .exitOverride();

  addServerCommands(program, session);
  addTokenCommands(program, session);
  addUserCommands(program, session);
  addPenaltyCommands(program, session);
  addBotCommands(program, session);
  addSoundCommands(program, session);
  addWebhookCommands(program, session);
  addBackupCommands(program, session);
  addHelpCommand(program);
  return program;
}

/** Reports an unknown option before a missing one, which commander does not: a misspelled option is often both. */
class StrictCommand extends Command {
  // Commander's own, with "Did you mean …?"; not in its types.
  declare unknownOption: (flag: string) => never;

  override createCommand(name?: string): Command {
    return new StrictCommand(name);
  }

  missingMandatoryOptionValue({ flags }: Option): void {
    const unknown = this.args.find((argument) => argument.startsWith('-'));
    if (unknown !== undefined) this.unknownOption(unknown);
    this.error(`error: required option '${flags}' not specified`);
  }
}

/** In place of commander's own, which shows the help of `tokens` for `help tokens create`. */
function addHelpCommand(program: Command): void {
  program
    .helpCommand(false)
    .command('help [command...]')
    .description('display help for command')
    .action((names: string[], _: unknown, help: Command) => {
      let shown = program;
      for (const name of names) {
        const child = shown.commands.find((command) => command.name() === name);
        shown = child ?? help.error(`error: unknown command '${names.join(' ')}'`);
      }
      shown.outputHelp();
    });
}
