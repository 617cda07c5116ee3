import { expect, test } from 'bun:test';
import { join } from 'node:path';
import packageJson from '../../../package.json';
import { toDemoConfig } from '../../../src/demo/config.ts';
import { parseConfig } from '../../../src/runtime/config.ts';
import { createTestFolder } from '../../support/service/program.ts';

test('neither the demo nor the CLI with --demo reads .env, whose bot, sources and keys are the real ones', async () => {
  const folder = createTestFolder();
  const { demo, cli } = packageJson.scripts;
  const program = 'console.log(process.env.DISCORD_TOKEN, process.env.PORT, process.argv.slice(2).join("|"))';
  for (const [path, text] of [
    ['package.json', JSON.stringify({ scripts: { demo, cli } })],
    ['.env', 'DISCORD_TOKEN=real\nPORT=4000\n'],
    ['src/demo/main.ts', program],
    ['src/cli.ts', program],
  ] as const) {
    await Bun.write(join(folder, path), text);
  }
  const run = (args: string[], env: Record<string, string> = {}) =>
    Bun.spawnSync([process.execPath, 'run', '--silent', ...args], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', ...env },
    }).stdout.toString();
  expect(run(['demo'])).toBe('undefined undefined \n');
  expect(run(['demo'], { PORT: '5000' })).toBe('undefined 5000 \n');
  expect(run(['cli', '--demo', 'servers', 'list'])).toBe('undefined undefined --demo|servers|list\n');
  expect(run(['cli', 'servers', 'list', '--demo'], { PORT: '5000' })).toBe(
    'undefined 5000 servers|list|--demo\n',
  );
  expect(run(['cli', 'add', '--name', "it's  $HOME --demos"])).toBe(
    "real 4000 add|--name|it's  $HOME --demos\n",
  );
});

test('the demo has neither the database nor the sources of the service', () => {
  const url = 'mysql://user:password@127.0.0.1/x';
  const config = parseConfig({
    DATABASE_URL: 'postgres://127.0.0.1/x',
    SIMPLEADMIN_URL: url,
    SOURCEBANS_URL: url,
    IKS_URL: url,
    VIPCORE_URL: url,
  });
  expect(JSON.stringify(config)).toContain('127.0.0.1/x');
  expect(JSON.stringify(toDemoConfig(config))).not.toContain('127.0.0.1/x');
});
