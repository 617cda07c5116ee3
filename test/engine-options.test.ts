import { afterAll, expect, test } from 'bun:test';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import packageJson from '../package.json';
import { ENGINE_OPTIONS } from './support/service/engine-options.ts';

const VALUES = '268435456 1.2 33554432 50000 2000000 0 4';
const NONE = ENGINE_OPTIONS.map(() => 'none').join(' ');
const SHOW = `console.log(...${JSON.stringify(ENGINE_OPTIONS)}.map((name) => process.env[name] ?? 'none'))`;
const bin = await mkdtemp(join(tmpdir(), 'community-api-bin-'));
afterAll(() => rm(bin, { recursive: true }));

/** The options that `bun start` passes on, with a `bun` that may reject one of them as an engine without it does. */
async function optionsAtStart({ unknown }: { unknown?: string } = {}): Promise<string> {
  const file = join(bin, 'bun');
  await Bun.write(
    file,
    `#!/bin/sh
[ -n "$${unknown ?? 'NONE'}" ] && { echo 'invalid JSC environment variable' >&2; exit 1; }
[ "$1" = src/main.ts ] && echo ${ENGINE_OPTIONS.map((name) => `"\${${name}:-none}"`).join(' ')}
exit 0
`,
  );
  await chmod(file, 0o755);
  const env = { PATH: `${bin}${delimiter}${process.env.PATH}` };
  const child = Bun.spawn(['sh', '-c', packageJson.scripts.start], { env, stderr: 'inherit' });
  return (await child.stdout.text()).trim();
}

test('`bun start` keeps the engine small where it can, and starts without where it cannot', async () => {
  expect(await optionsAtStart()).toBe(VALUES);
  for (const unknown of ENGINE_OPTIONS) expect(await optionsAtStart({ unknown })).toBe(NONE);
});

test('the engine that the image is built on takes the options', async () => {
  const dockerfile = await Bun.file('Dockerfile').text();
  expect(/^FROM oven\/bun:([0-9.]+)/.exec(dockerfile)?.[1]).toBe(
    packageJson.packageManager.replace('bun@', ''),
  );
  const given = ENGINE_OPTIONS.map((name) => new RegExp(`${name}=([0-9.]+)`).exec(dockerfile)?.[1]);
  const env = Object.fromEntries(ENGINE_OPTIONS.map((name, index) => [name, given[index]]));
  const child = Bun.spawn([process.execPath, '-e', SHOW], { env, stderr: 'pipe' });
  expect([await child.stdout.text(), await child.stderr.text()]).toEqual([`${VALUES}\n`, '']);
});
