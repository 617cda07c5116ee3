import { afterAll, expect, test } from 'bun:test';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import packageJson from '../package.json';

const OPTION = 'BUN_JSC_forceRAMSize';
const SHOW = `console.log(process.env.${OPTION} ?? 'none')`;
const bin = await mkdtemp(join(tmpdir(), 'community-api-bin-'));
afterAll(() => rm(bin, { recursive: true }));

/** The arguments that `bun start` passes on, with a `bun` that may reject the option as an engine without it does. */
async function optionAtStart({ isKnown }: { isKnown: boolean }): Promise<string> {
  const file = join(bin, 'bun');
  await Bun.write(
    file,
    `#!/bin/sh
[ -n "$${OPTION}" ] && ${isKnown ? 'false' : 'true'} && { echo 'invalid JSC environment variable' >&2; exit 1; }
[ "$1" = src/main.ts ] && echo "\${${OPTION}:-none}"
exit 0
`,
  );
  await chmod(file, 0o755);
  const env = { PATH: `${bin}${delimiter}${process.env.PATH}` };
  const child = Bun.spawn(['sh', '-c', packageJson.scripts.start], { env, stderr: 'inherit' });
  return (await child.stdout.text()).trim();
}

test('`bun start` limits the heap where the engine can, and starts without where it cannot', async () => {
  expect(await optionAtStart({ isKnown: true })).toBe('268435456');
  expect(await optionAtStart({ isKnown: false })).toBe('none');
});

test('the engine that the image is built on takes the option', async () => {
  const dockerfile = await Bun.file('Dockerfile').text();
  expect(/^FROM oven\/bun:([0-9.]+)/.exec(dockerfile)?.[1]).toBe(
    packageJson.packageManager.replace('bun@', ''),
  );
  const limit = new RegExp(`${OPTION}=([0-9]+)`).exec(dockerfile)?.[1];
  const child = Bun.spawn([process.execPath, '-e', SHOW], { env: { [OPTION]: limit }, stderr: 'pipe' });
  expect([await child.stdout.text(), await child.stderr.text()]).toEqual([`${limit}\n`, '']);
});
