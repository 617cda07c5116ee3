import { expect, test } from 'bun:test';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import packageJson from '../../../package.json';
import { toDemoConfig } from '../../../src/demo/config.ts';
import { parseConfig } from '../../../src/runtime/config.ts';
import { createTestFolder } from '../../support/service/program.ts';

test('the demo reads no .env file, whose bot, sources and keys are the real ones', async () => {
  const folder = createTestFolder();
  await mkdir(join(folder.path, 'src/demo'), { recursive: true });
  const { demo } = packageJson.scripts;
  await Promise.all([
    writeFile(join(folder.path, 'package.json'), JSON.stringify({ scripts: { demo } })),
    writeFile(join(folder.path, '.env'), 'DISCORD_TOKEN=real\nPORT=4000\n'),
    writeFile(
      join(folder.path, 'src/demo/main.ts'),
      'console.log(process.env.DISCORD_TOKEN, process.env.PORT)',
    ),
  ]);
  const run = (env: Record<string, string>) =>
    Bun.spawnSync([process.execPath, 'run', '--silent', 'demo'], {
      cwd: folder.path,
      env: { PATH: process.env.PATH ?? '', ...env },
    }).stdout.toString();
  expect(run({})).toBe('undefined undefined\n');
  expect(run({ PORT: '5000' })).toBe('undefined 5000\n');
  await folder.remove();
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
