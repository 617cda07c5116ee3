import { runCommand } from './cli/run.ts';
import { parseConfig } from './runtime/config.ts';

/** `bun run cli`: the operator's tool. */

/** The exit codes that shells report for a program ended by a signal: 128 plus the signal's number. */
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

// Neither Ctrl-C nor a lost connection leaves an embedded database behind. A second Ctrl-C ends the process at once.
// SIGHUP may come twice, from the shell and from the terminal.
const interrupted = Promise.withResolvers<number>();
process.on('SIGHUP', () => interrupted.resolve(EXIT_CODES.SIGHUP));
process.once('SIGINT', () => interrupted.resolve(EXIT_CODES.SIGINT));
process.once('SIGTERM', () => interrupted.resolve(EXIT_CODES.SIGTERM));

const code = await runCommand(process.argv.slice(2), {
  configure: (defaults) => parseConfig(process.env, defaults),
  output: {
    isTerminal: process.stdout.isTTY,
    // Unlike process.stdout, the console has written everything before the process ends.
    print: console.log,
    warn: console.error,
    progress: process.stderr,
  },
  interrupted: interrupted.promise,
});
process.exit(code);
