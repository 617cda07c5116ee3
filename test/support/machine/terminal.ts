/** Programs at a pseudo terminal, by `script` of util-linux. */
export const hasTerminal = process.platform === 'linux' && Bun.which('script') !== null;
if (!hasTerminal) console.warn('SKIPPED: tests at a terminal, since there is no `script` of util-linux');

/** Runs a shell command whose standard streams are a terminal. */
export function startAtTerminal(command: string, env: Record<string, string>) {
  const child = Bun.spawn(['script', '--quiet', '--flush', '--return', '--command', command, '/dev/null'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TERM: 'xterm', ...env },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let screen = '';
  const read = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) screen += decoder.decode(chunk, { stream: true });
  })();
  return {
    /** Everything written so far, with the terminal's line ends made plain. */
    screen: () => screen.replaceAll('\r\n', '\n'),
    exited: Promise.all([child.exited, read]).then(([code]) => code),
    /** Presses Ctrl-C. */
    interrupt: () => {
      child.stdin.write('\x03');
      child.stdin.flush();
    },
    /** Closes the terminal, as a lost connection of ssh does. */
    hangUp: () => child.kill('SIGKILL'),
    /** Types keys: `\n` is Enter, `\x04` Ctrl-D. */
    type: (keys: string) => {
      child.stdin.write(keys);
      child.stdin.flush();
    },
  };
}
