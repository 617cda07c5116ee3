import { createInterface } from 'node:readline/promises';
import { errorCode, InvalidInput } from '../domain/errors.ts';

/**
 * Asks the operator to confirm something that cannot be undone with `y` or `yes`.
 * @throws {InvalidInput} for any other reply, and without a terminal: scripts give `--yes`.
 */
export async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new InvalidInput("Without a terminal this can't be confirmed: use --yes");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const reply = await terminal.question(`${question} [y/N] `).catch((error: unknown) => {
      // Ctrl-C, or Ctrl-D for the end of the input.
      if (errorCode(error) === 'ABORT_ERR') return '';
      throw error;
    });
    if (!/^y(es)?$/i.test(reply.trim())) throw new InvalidInput('Nothing was changed');
  } finally {
    terminal.close();
  }
}
