import { expect, test } from 'bun:test';
import { PAGES, readPage } from '../support/docs/pages.ts';
import { startProgram } from '../support/service/program.ts';

const written = PAGES.flatMap((page) =>
  [...readPage(page).matchAll(/^ *bun run cli (.*)$/gm)].map(([, command = '']) => command),
);

test('each command of the pages stands on a line of its own, which a shell reads as that command', () => {
  expect(written.length).toBeGreaterThan(15);
  expect(written.filter((command) => /[|;&`$()]/.test(command))).toEqual([]);
});

test("the pages name every command of the operator's tool, and no other", async () => {
  const commands = await listCommands([]);
  const isUsed = (command: string, line: string) => `${line} `.startsWith(`${command} `);
  expect(commands.filter((command) => !written.some((line) => isUsed(command, line)))).toEqual([]);
  expect(written.filter((line) => !commands.some((command) => isUsed(command, line)))).toEqual([]);
});

/** Every command that does something, such as `servers add`, as the help of each group lists them. */
async function listCommands(group: string[]): Promise<string[]> {
  const program = startProgram('src/cli.ts', {}, [...group, '--help']);
  expect(await program.exited).toBe(0);
  const [, list] = program.stdout().split('\nCommands:\n');
  if (list === undefined) return [group.join(' ')];
  const names = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name = '']) => name);
  const found = names.filter((name) => name !== 'help').map((name) => listCommands([...group, name]));
  return (await Promise.all(found)).flat();
}
