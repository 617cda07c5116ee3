import { runCommand } from './cli/run.ts';
import { parseConfig } from './runtime/config.ts';

/** `bun run cli`: the operator's tool. */

/** The exit codes that shells report for a program ended by a signal: 128 plus the signal's number. */
const INTERRUPTED = 130;
const TERMINATED = 143;

// Ctrl-C leaves no embedded database behind; a second one ends the process at once.
const interrupted = Promise.withResolvers<number>();
process.once('SIGINT', () => interrupted.resolve(INTERRUPTED));
process.once('SIGTERM', () => interrupted.resolve(TERMINATED));

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
