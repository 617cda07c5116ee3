import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseConfig } from '../../../src/runtime/config.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { createTestFolder, startProgram } from '../../support/service/program.ts';

const folder = createTestFolder();
const REPORT = `
  import { findMisreadLines } from '${resolve('src/runtime/env-file.ts')}';
  console.log(JSON.stringify({ read: process.env, warnings: findMisreadLines(process.env) }));`;

/** What Bun reads of files in a folder, and what is warned of. */
async function readFiles(
  files: Record<string, string>,
  env: Record<string, string> = {},
): Promise<{ read: Record<string, string>; warnings: string[] }> {
  const cwd = join(folder, crypto.randomUUID());
  for (const [name, text] of Object.entries(files)) await Bun.write(join(cwd, name), text);
  const child = Bun.spawn(['bun', '-e', REPORT], { cwd, env: { PATH: process.env.PATH, ...env } });
  return JSON.parse(await new Response(child.stdout).text());
}

test('names each line that Bun reads otherwise than it looks, without its value', async () => {
  const lines = [
    ['A=#3b82f6', '', 'ends at a #'],
    ['B=Only Mirage #1', 'Only Mirage', 'ends at a #'],
    ['C=a#b', 'a', 'ends at a #'],
    ['export D = pa$word', 'pa', 'loses what follows a $'],
    ["E='pa$word'", 'pa', 'loses what follows a $'],
    ['F="pa$word"', 'pa', 'loses what follows a $'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: expanded by Bun.
    ['G=`pa${word}`', 'pa', 'loses what follows a $'],
    ['H=pa$word #1', 'pa', 'loses what follows a $'],
  ];
  const { read, warnings } = await readFiles({ '.env': lines.map(([line]) => line).join('\n') });
  for (const [index, [line = '', value = '', rule = '']] of lines.entries()) {
    const variable = /[A-Z]/.exec(line)?.[0] ?? '';
    expect([variable, read[variable]]).toEqual([variable, value]);
    expect(warnings[index]).toStartWith(`.env, line ${index + 1}: ${variable} ${rule}`);
  }
  expect(warnings).toHaveLength(lines.length);
});

test('no warning names lines that are read as they look', async () => {
  const text = [
    'A="#3b82f6"',
    "B='Only Mirage #1'",
    'C=value # a comment',
    'D= # a comment',
    'E=pa\\$word',
    "F='pa\\$word'",
    'G=pa%24word',
    'H=$A',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: expanded by Bun.
    'I=${NONE:-x}',
    'J=a$ $$',
    '# K=a#b',
    'L="two',
    'lines #1"',
    'not a line $x #y',
  ];
  const { read, warnings } = await readFiles({ '.env': text.join('\r\n') });
  expect(read).toMatchObject({ A: '#3b82f6', B: 'Only Mirage #1', E: 'pa$word', F: 'pa$word', H: '#3b82f6' });
  expect(warnings).toEqual([]);
});

test('no warning names lines of variables that the environment or another file sets', async () => {
  const files = { '.env': 'A=a#b\nB=a#b\nC=a#b', '.env.local': 'B=x', '.env.development': 'C=c#d' };
  const { warnings } = await readFiles(files, { A: 'x' });
  expect(warnings).toEqual([expect.stringMatching(/^\.env\.development, line 1: C ends at a #/)]);
});

/** The examples of `.env.example`, as they are copied, and what they are meant to set. */
const examples = [
  ...readFileSync('.env.example', 'utf8').matchAll(/^(?:# )?(([A-Z][A-Z0-9_]+)=("?)(.+?)\3)$/gm),
].map(([, line = '', variable = '', , value = '']) => ({ line, variable, value }));

test('every example of .env.example sets what it shows', async () => {
  expect(examples.length).toBeGreaterThan(30);
  // A variable with two examples, or with an example and a default, takes one file each.
  let rest = examples;
  while (rest.length > 0) {
    const file = [...new Map(rest.map((example) => [example.variable, example])).values()];
    const { read, warnings } = await readFiles({ '.env': file.map(({ line }) => line).join('\n') });
    expect(warnings).toEqual([]);
    for (const { variable, value } of file) expect([variable, read[variable]]).toEqual([variable, value]);
    parseConfig({ DISCORD_GUILD_ID: '1', ...read });
    rest = rest.filter((example) => !file.includes(example));
  }
});

test('a start reads the examples, and warns of a line before a bad setting', async () => {
  const { url } = await createTestDatabase();
  const cwd = join(folder, 'start');
  const file = `${examples.map(({ line }) => line).join('\n')}\nAPPEAL_URL=https://a.example/#b\n`;
  await Bun.write(join(cwd, '.env'), file);
  // Bun looks for the settings of JSX here.
  await symlink(resolve('tsconfig.json'), join(cwd, 'tsconfig.json'));
  const start = (env: Record<string, string>) => {
    const program = { ...env, HOST: '127.0.0.1', ROLES: 'api', DATABASE_URL: url, DISCORD_GUILD_ID: '1' };
    return startProgram(resolve('src/main.ts'), program, [], { through: ['env', '-C', cwd] });
  };
  const service = start({ PORT: '0' });
  const [, port] = await service.waitFor(/"port":(\d+).*HTTP server listening/);
  const page = await (await fetch(`http://127.0.0.1:${port}/account`)).text();
  expect(page).toContain('Only Mirage #1');
  const css = await (await fetch(`http://127.0.0.1:${port}/account/assets/pages.css`)).text();
  expect(css.toLowerCase()).toContain('#3b82f6');
  const line = file.split('\n').length - 1;
  const warning = `.env, line ${line}: APPEAL_URL ends at a #: put the value in quotes, or write %23 in an address`;
  const warned = service
    .stdout()
    .split('\n')
    .filter((each) => each.includes('"level":"warn"'));
  expect(warned.map((each) => JSON.parse(each).msg)).toContain(warning);
  expect(warned.join()).not.toContain('a.example');
  service.kill('SIGINT');
  await service.exited;

  const refused = start({ PORT: 'x' });
  expect(await refused.exited).toBe(1);
  expect(refused.stderr()).toBe(`${warning}\nPORT="x" isn't valid: use a whole number from 0 to 65535\n`);
});
