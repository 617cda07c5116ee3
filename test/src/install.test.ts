import { afterAll, beforeEach, expect, test } from 'bun:test';
import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import packageJson from '../../package.json';
import { mountSmallDisk } from '../support/machine/small-disk.ts';
import { createTestFolder } from '../support/service/program.ts';

const folder = createTestFolder();
afterAll(folder.remove);

/** A checkout with one package for every use and one for development, neither of which needs a network. */
const checkout = join(folder.path, 'checkout');
const installs = join(folder.path, 'installs');
const manifest = {
  name: 'checkout',
  scripts: { postinstall: `echo installed >> ${installs}` },
  dependencies: { used: 'file:./packages/used' },
  devDependencies: { tool: 'file:./packages/tool' },
};

beforeEach(async () => {
  await rm(checkout, { recursive: true, force: true });
  for (const name of ['used', 'tool', 'added']) {
    await writeJson(`packages/${name}/package.json`, { name, version: '1.0.0' });
  }
  await writeJson('package.json', manifest);
  for (const file of ['src/install.ts', 'src/domain/errors.ts', 'src/db/embedded/lock.ts']) {
    await mkdir(join(checkout, file, '..'), { recursive: true });
    await cp(file, join(checkout, file));
  }
  await relock();
  await rm(join(checkout, 'node_modules'), { recursive: true, force: true });
  await rm(installs, { force: true });
});

async function writeJson(path: string, value: unknown): Promise<void> {
  await Bun.write(join(checkout, path), JSON.stringify(value));
}

/** Writes the lock file that belongs to package.json, and installs. */
async function relock(): Promise<void> {
  expect(await Bun.spawn(['bun', 'install', '--silent'], { cwd: checkout }).exited).toBe(0);
}

/** Another lock file, as in an updated checkout. */
async function update(): Promise<void> {
  const before = join(checkout, 'node_modules');
  const kept = join(folder.path, 'kept');
  await rm(kept, { recursive: true, force: true });
  await cp(before, kept, { recursive: true });
  await writeJson('package.json', {
    ...manifest,
    dependencies: { ...manifest.dependencies, added: 'file:./packages/added' },
  });
  await relock();
  await rm(before, { recursive: true });
  await cp(kept, before, { recursive: true });
  await rm(installs, { force: true });
}

async function install(...args: string[]) {
  const child = Bun.spawn(['bun', 'src/install.ts', ...args], {
    cwd: checkout,
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, stdout, stderr };
}

const QUIET = { code: 0, stdout: '', stderr: '' };
const SAID = { code: 0, stdout: '', stderr: 'Installing packages …\n' };

const installed = async () =>
  (await readdir(join(checkout, 'node_modules'))).filter((name) => !name.startsWith('.')).toSorted();
const countInstalls = async () =>
  (await Bun.file(installs).exists()) ? (await Bun.file(installs).text()).trim().split('\n').length : 0;

test('many at once on a fresh checkout install once, and all go on', async () => {
  const ended = await Promise.all(Array.from({ length: 12 }, () => install()));
  expect(ended.filter(({ stderr }) => stderr === '')).toEqual(Array.from({ length: 11 }, () => QUIET));
  expect(ended.filter(({ stderr }) => stderr !== '')).toEqual([SAID]);
  expect(await installed()).toEqual(['tool', 'used']);
  expect(await countInstalls()).toBe(1);
});

test('nothing is installed again until the lock file is another one, or a package is missing', async () => {
  expect(await install()).toEqual(SAID);
  expect(await install()).toEqual(QUIET);
  expect(await install('--production')).toEqual(QUIET);
  expect(await countInstalls()).toBe(1);
  await update();
  expect(await install()).toEqual(SAID);
  expect(await installed()).toEqual(['added', 'tool', 'used']);
  await rm(join(checkout, 'node_modules/tool'), { recursive: true });
  expect(await install('--production')).toEqual(QUIET);
  expect(await install()).toEqual(SAID);
  expect(await installed()).toEqual(['added', 'tool', 'used']);
});

test('the service needs no tools of development, and takes none away', async () => {
  expect(await install('--production')).toEqual(SAID);
  expect(await installed()).toEqual(['used']);
  expect(await install('--production')).toEqual(QUIET);
  expect(await install()).toEqual(SAID);
  expect(await installed()).toEqual(['tool', 'used']);
  await update();
  expect(await install('--production')).toEqual(SAID);
  expect(await installed()).toEqual(['added', 'tool', 'used']);
  expect(await install()).toEqual(QUIET);
});

test('tools that were installed by hand stay, too', async () => {
  await relock();
  expect(await install('--production')).toMatchObject({ code: 0 });
  expect(await installed()).toEqual(['tool', 'used']);
});

test('packages that are there and cannot be changed are used as they are', async () => {
  const disk = await mountSmallDisk(join(checkout, 'node_modules'), 1024 * 1024);
  if (!disk.isMounted) return;
  try {
    await relock();
    disk.makeReadOnly();
    expect([await install('--production'), await install()]).toEqual([QUIET, QUIET]);
  } finally {
    disk.unmount();
  }
});

test('what cannot be installed ends with 1 and says why, and is tried again', async () => {
  await writeJson('package.json', { ...manifest, dependencies: { added: 'file:./packages/added' } });
  for (let time = 0; time < 2; time++) {
    const { code, stdout, stderr } = await install();
    expect([code, stdout]).toEqual([1, '']);
    expect(stdout + stderr).toContain('lockfile had changes, but lockfile is frozen');
  }
});

test('every command of package.json sees to its packages first, and prints nothing about itself', async () => {
  const scripts: Record<string, string> = packageJson.scripts;
  const commands = Object.keys(scripts).filter(
    (name) => !(name.startsWith('pre') && name.slice(3) in scripts),
  );
  expect(commands).toContain('start');
  const firstSteps = Object.fromEntries(commands.map((name) => [name, scripts[`pre${name}`]]));
  const everything = 'bun src/install.ts';
  const production = `${everything} --production`;
  expect(firstSteps).toEqual({
    ...Object.fromEntries(commands.map((name) => [name, everything])),
    demo: production,
    start: production,
    cli: production,
  });
  expect(await Bun.spawn(['bun', 'src/install.ts'], { stderr: 'ignore' }).exited).toBe(0);
  const child = Bun.spawn(['bun', 'run', 'cli', '--version'], { stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  expect([await child.exited, stdout, stderr]).toEqual([0, `${packageJson.version}\n`, '']);
});
