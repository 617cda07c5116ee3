import { expect, test } from 'bun:test';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/run.ts';
import { PAGES, readPage } from '../support/docs/pages.ts';

/** No command runs here. */
const output = { isTerminal: false, print: () => {}, warn: () => {}, progress: { write: () => {} } };
const configure = () => {
  throw new Error('nothing here reads the configuration');
};
const written = PAGES.flatMap((page) =>
  [...readPage(page).matchAll(/^ *bun run cli (.*)$/gm)].map(([, command = '']) => command),
);

test('each command of the pages stands on a separate line, which a shell reads as that command', () => {
  expect(written.length).toBeGreaterThan(15);
  expect(written.filter((command) => /[|;&`$()]/.test(command))).toEqual([]);
});

test("the pages name every command of the operator's tool, and no other", () => {
  const commands = listCommands(createProgram({ configure, output }).program);
  const isUsed = (command: string, line: string) => `${line} `.startsWith(`${command} `);
  expect(commands.filter((command) => !written.some((line) => isUsed(command, line)))).toEqual([]);
  expect(written.filter((line) => !commands.some((command) => isUsed(command, line)))).toEqual([]);
});

/** Every command that does something, such as `servers add`. */
function listCommands({ commands }: Command, group: readonly string[] = []): string[] {
  if (commands.length === 0) return [group.join(' ')];
  return commands.flatMap((command) => listCommands(command, [...group, command.name()]));
}
