import { expect, setDefaultTimeout, test } from 'bun:test';
import { startProgram } from './support/program.ts';

setDefaultTimeout(60_000);

const readme = await Bun.file('README.md').text();
const commands = [...readme.matchAll(/^bun run cli (.*)$/gm)].map(([, command = '']) => command);

test('each command of the README stands on a line of its own, which a shell reads as that command', () => {
  expect(commands.length).toBeGreaterThan(15);
  expect(commands.filter((command) => /[|;&`$()]/.test(command))).toEqual([]);
});

test("the operator's tool knows each of them", async () => {
  for (const command of commands) {
    const words = command.split(' ');
    const path = words.slice(0, words[1] === 'import' ? 3 : 2);
    const help = startProgram('src/cli.ts', {}, [...path, '--help']);
    expect([command, await help.exited]).toEqual([command, 0]);
    expect(help.stdout()).toStartWith(`Usage: cli ${path.join(' ')} `);
  }
});
