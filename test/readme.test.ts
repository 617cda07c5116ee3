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
  const paths = commands.map((command) => command.split(' ').slice(0, command.includes(' import ') ? 3 : 2));
  const groups = Map.groupBy(paths, (path) => path.slice(0, -1).join(' '));
  await Promise.all(
    [...groups].map(async ([group, members]) => {
      const help = startProgram('src/cli.ts', {}, [...group.split(' '), '--help']);
      expect(await help.exited).toBe(0);
      for (const path of members) expect(help.stdout()).toContain(`\n  ${path.at(-1)} `);
    }),
  );
});
