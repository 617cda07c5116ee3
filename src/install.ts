import { access, constants, mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileLock } from './db/embedded/lock.ts';
import { DomainError, InvalidInput } from './domain/errors.ts';

/**
 * `bun src/install.ts [--production]`: installs the packages of the lock file, unless they are installed already.
 * The scripts of package.json run it first, so it may only use Bun itself. One process installs at a time, because two
 * in one folder break each other. `--production` leaves out development tools unless they are installed already.
 */

/** What is installed: everything, or what the service needs. */
type Scope = 'everything' | 'production';
type Installed = { fingerprint: string; scope: Scope };

type Manifest = {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  patchedDependencies?: Record<string, string>;
};

const PACKAGES = 'node_modules';
const NOTE = join(PACKAGES, '.installed.json');
const LOCK = join(PACKAGES, '.install.lock');
const WAIT_LIMIT_MS = 15 * 60_000;

process.chdir(join(import.meta.dir, '..'));
const wanted: Scope = process.argv.includes('--production') ? 'production' : 'everything';
try {
  const manifest: Manifest = await Bun.file('package.json').json();
  const fingerprint = await readFingerprint(manifest);
  if (!(await isInstalled(manifest, fingerprint)) && !(await isSealed(manifest))) {
    await mkdir(PACKAGES, { recursive: true });
    await withFileLock(LOCK, { limitMs: WAIT_LIMIT_MS }, async () => {
      if (!(await isInstalled(manifest, fingerprint))) await install(manifest, fingerprint);
    });
  }
} catch (error) {
  if (!(error instanceof DomainError)) throw error;
  console.error(error.message);
  process.exit(1);
}

/** A hash of everything that determines what is installed. */
async function readFingerprint({ patchedDependencies = {} }: Manifest): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256');
  hasher.update(`${Bun.version} ${process.platform} ${process.arch}\n`);
  for (const file of ['package.json', 'bun.lock', ...Object.values(patchedDependencies)]) {
    hasher.update(await Bun.file(file).bytes());
  }
  return hasher.digest('hex');
}

async function isInstalled(manifest: Manifest, fingerprint: string): Promise<boolean> {
  const note = await readNote();
  const isEnough = note?.scope === 'everything' || wanted === 'production';
  return note?.fingerprint === fingerprint && isEnough && (await hasPackages(namesIn(manifest, wanted)));
}

/** Whether the packages are installed in a read-only folder, as in an image. */
async function isSealed(manifest: Manifest): Promise<boolean> {
  const isWritable = await access(PACKAGES, constants.W_OK).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
  );
  return !isWritable && (await hasPackages(namesIn(manifest, wanted)));
}

async function readNote(): Promise<Installed | undefined> {
  return Bun.file(NOTE)
    .json()
    .catch(() => undefined);
}

function namesIn({ dependencies, devDependencies }: Manifest, scope: Scope): string[] {
  return Object.keys(scope === 'everything' ? { ...dependencies, ...devDependencies } : dependencies);
}

async function hasPackages(names: string[]): Promise<boolean> {
  const found = names.map((name) => access(join(PACKAGES, name, 'package.json')));
  return Promise.all(found).then(
    () => true,
    () => false,
  );
}

async function install(manifest: Manifest, fingerprint: string): Promise<void> {
  const hasTools =
    (await readNote())?.scope === 'everything' || (await hasPackages(Object.keys(manifest.devDependencies)));
  const scope: Scope = hasTools ? 'everything' : wanted;
  console.error('Installing packages …');
  const production = scope === 'production' ? ['--production'] : [];
  const child = Bun.spawn([process.execPath, 'install', '--frozen-lockfile', ...production], {
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const [code, output] = await Promise.all([child.exited, child.stderr.text()]);
  if (code !== 0) throw new InvalidInput(`The packages cannot be installed:\n${output.trim()}`);
  const note: Installed = { fingerprint, scope };
  const fresh = `${NOTE}.new`;
  await writeFile(fresh, JSON.stringify(note));
  await rename(fresh, NOTE);
}
