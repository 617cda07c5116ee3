import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, chown, mkdir, rm, statfs } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Glob } from 'bun';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { copyClusterTemplate } from '../../support/database/test-server.ts';
import { mountSmallDisk } from '../../support/machine/small-disk.ts';
import { createTestFolder, runProgram, startProgram } from '../../support/service/program.ts';
import { waitForProcess } from '../../support/wait.ts';

const database = await createTestDatabase();
const proxy = await startDatabaseProxy(database.url);
const folder = createTestFolder();
const full = await mountSmallDisk(join(folder, 'full'), 1024 * 1024);
const readOnly = await mountSmallDisk(join(folder, 'read-only'), 1024 * 1024);

const file = join(folder, 'file');
await Bun.write(file, 'no folder');
const sound = join(folder, 'occupied');
await mkdir(sound);
await Bun.write(join(sound, 'roundsound'), 'no folder');
readOnly.makeReadOnly();

const good = {
  DATABASE_URL: database.url,
  DATA_DIR: join(folder, 'data'),
  STORAGE_DIR: join(folder, 'storage'),
  HOST: '127.0.0.1',
  PORT: '0',
};

/** The output and exit code of a program that cannot start. */
async function failure(
  program: string,
  env: Record<string, string>,
  args: string[] = [],
  options: Parameters<typeof startProgram>[3] = {},
) {
  const { code, stderr } = await runProgram(program, { ...good, ...env }, args, options);
  return { code, stderr };
}

const line = (text: string) => ({ code: 1, stderr: `${text}\n` });

test('Ctrl-C while the first start sets its database up ends it silently, and the next start works', async () => {
  const DATA_DIR = join(folder, 'interrupted');
  const env = { ...good, DATABASE_URL: '', DATA_DIR, ROLES: 'api' };
  const first = startProgram('src/main.ts', env, [], { through: ['setsid'] });
  const catalogues = new Glob('postgres.new-*/base/1/*');
  await waitForProcess(() => existsSync(DATA_DIR) && [...catalogues.scanSync(DATA_DIR)].length > 50, {
    everyMs: 5,
  });
  // As a terminal does: to every process of the group.
  process.kill(-first.pid, 'SIGINT');
  expect({ code: await first.exited, stderr: first.stderr() }).toEqual({ code: 0, stderr: '' });
  const second = startProgram('src/main.ts', env);
  await second.waitFor(/"port":\d+/);
  second.kill('SIGINT');
  expect(await second.exited).toBe(0);
});

const taken = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() });
afterAll(() => taken.stop(true));
const { host } = new URL(database.url);
/** The database's address with another password or name. */
const otherwise = (change: Partial<URL>) => Object.assign(new URL(database.url), change).href;
const noHost = (name: string) =>
  `HOST=${name} is neither an address of this machine nor a name that resolves to one: use such an address, or 0.0.0.0 for all of them`;

type Refusal = [what: string, env: Record<string, string>, text: string];

test.each<Refusal>([
  // The first address is kept for documentation, the second for names that do not exist.
  ['an address of another machine', { HOST: '192.0.2.1' }, noHost('192.0.2.1')],
  ['an unknown name', { HOST: 'nowhere.invalid' }, noHost('nowhere.invalid')],
  ['an invalid name', { HOST: 'a..b' }, noHost('a..b')],
  [
    'a port that is taken',
    { PORT: String(taken.port) },
    `PORT=${taken.port} is taken on 127.0.0.1: stop whatever listens there or set another PORT`,
  ],
  [
    'an unsuitable ffmpeg',
    { FFMPEG_PATH: '/nowhere/ffmpeg', ROLES: 'api,bot,poller,media,sync' },
    'FFMPEG_PATH="/nowhere/ffmpeg" isn\'t valid: /nowhere/ffmpeg is not an executable file; use an ffmpeg of version 5.1 or newer, or leave it unset',
  ],
])('%s ends the start with one line, before anything else is started', async (what, env, text) => {
  const DATA_DIR = join(folder, what.replaceAll(' ', '-'));
  const ended = await runProgram('src/main.ts', { ...good, DATA_DIR, ...env });
  expect(ended).toEqual({ ...line(text), stdout: '' });
  expect(existsSync(DATA_DIR)).toBe(false);
});

test.each<Refusal>([
  ['an unknown name of the host of a poller', { HOST: 'a..b', ROLES: 'poller' }, noHost('a..b')],
  [
    'a database that does not exist',
    { DATABASE_URL: otherwise({ pathname: '/never_made' }) },
    `The database of DATABASE_URL cannot be used: database "never_made" does not exist (${host})`,
  ],
  [
    'a wrong password of the database',
    { DATABASE_URL: otherwise({ password: 'hunter2' }) },
    `The database of DATABASE_URL cannot be used: password authentication failed for user "postgres" (${host})`,
  ],
  [
    'an address to mirror that nobody can read',
    { SIMPLEADMIN_URL: 'mysql://u:hunter2@127.0.0.1/cs2?ssl-mode=disabled', ROLES: 'api,sync' },
    'SIMPLEADMIN_URL isn\'t valid: ssl-mode "disabled" is not known: use required, verify-ca or verify-identity',
  ],
])('%s ends the start with one line', async (_, env, text) => {
  expect(await failure('src/main.ts', env)).toEqual(line(text));
});

test('a start from another folder ends with one line that names the right one', async () => {
  const elsewhere = startProgram(resolve('src/main.ts'), good, [], { through: ['env', '-C', folder] });
  expect(await elsewhere.exited).toBe(1);
  expect(elsewhere.stderr()).toBe(`start this in its own folder: cd ${resolve('.')} && bun start\n`);
});

describe.skipIf(process.platform === 'win32')(
  'an embedded database that cannot start says why in one line',
  () => {
    const cases: [string, (dir: string) => Promise<unknown>, (dir: string) => string][] = [
      [
        'a folder with other files',
        async (dir) => {
          await rm(dir, { recursive: true });
          await mkdir(dir);
          await Bun.write(join(dir, 'notes.txt'), 'mine');
        },
        (dir) => `${dir} is not a database: move it away, or set another DATA_DIR`,
      ],
      [
        'a file in its place',
        async (dir) => {
          await rm(dir, { recursive: true });
          await Bun.write(dir, 'mine');
        },
        (dir) => `${dir} is not a database: move it away, or set another DATA_DIR`,
      ],
      [
        'data of another major version',
        (dir) => Bun.write(join(dir, 'PG_VERSION'), '17\n'),
        () =>
          'The embedded PostgreSQL does not start: FATAL: database files are incompatible with server. ' +
          'The data directory was initialized by PostgreSQL version 17, which is not compatible with this version 18.4. ' +
          'Back it up with the version of this program that made it, and restore the backup into an empty DATA_DIR',
      ],
      [
        'a folder that others may read',
        (dir) => chmod(dir, 0o755),
        (dir) =>
          `The embedded PostgreSQL does not start: FATAL: data directory "${dir}" has invalid permissions. ` +
          `Permissions should be u=rwx (0700) or u=rwx,g=rx (0750). Run: chmod 700 ${dir}`,
      ],
      [
        'lost WAL',
        (dir) => Bun.$`rm ${dir}/pg_wal/${{ raw: '0*' }}`,
        () =>
          'The embedded PostgreSQL does not start: PANIC: could not locate a valid checkpoint record at *. ' +
          'Its files are incomplete: restore a backup into an empty DATA_DIR',
      ],
      [
        'a lost password',
        (dir) => rm(`${dir}.password`),
        (dir) => `${dir}.password is missing: put it back, or restore a backup into an empty DATA_DIR`,
      ],
      [
        'another password',
        (dir) => Bun.write(`${dir}.password`, 'another'),
        (dir) => `${dir}.password does not have the password of the embedded PostgreSQL`,
      ],
    ];

    test.each(cases)('%s', async (name, spoil, expected) => {
      const DATA_DIR = join(folder, name.replaceAll(' ', '-'));
      await mkdir(DATA_DIR);
      await copyClusterTemplate(DATA_DIR);
      const dir = join(DATA_DIR, 'postgres');
      await spoil(dir);
      const before = readdirSync(DATA_DIR);
      const { code, stderr } = await failure('src/cli.ts', { DATABASE_URL: '', DATA_DIR }, [
        'servers',
        'list',
      ]);
      expect([code, stderr.replace(/[0-9A-F]+\/[0-9A-F]+/, '*')]).toEqual([1, `${expected(dir)}\n`]);
      expect(readdirSync(DATA_DIR).filter((file) => file.startsWith('postgres.new'))).toEqual([]);
      expect(readdirSync(DATA_DIR)).toEqual(expect.arrayContaining(before));
      // This server keeps running.
      if (name === 'another password')
        process.kill(Number.parseInt(await Bun.file(join(dir, 'postmaster.pid')).text(), 10), 'SIGINT');
    });
  },
);

describe('a folder that cannot be used ends the start with one line', () => {
  const embedded = { DATABASE_URL: '' };
  const list = ['servers', 'list'];
  const add = ['servers', 'add', '--name', 'One', '--address', '127.0.0.1:27015'];
  const start = (env: Record<string, string>) => failure('src/main.ts', env);
  const unusable = (setting: string, path: string, why: string) =>
    `${setting}="${path}" cannot be used: ${why}`;
  /** The output of the operator's tool: what it is about to do, and why it cannot. */
  const notCreated = (dir: string, text: string) => line(`Creating a new database in ${dir}\n${text}`);

  test('DATA_DIR is a file', async () => {
    const expected = line(unusable('DATA_DIR', file, 'it is a file, not a folder'));
    expect(await start({ DATA_DIR: file })).toEqual(expected);
    expect(await start({ DATA_DIR: file, ...embedded })).toEqual(expected);
    expect(await failure('src/cli.ts', { DATA_DIR: file, ...embedded }, list)).toEqual(expected);
    const below = join(file, 'demo');
    const lower = line(unusable('DATA_DIR', below, 'it lies below a file'));
    expect(await start({ DATA_DIR: below })).toEqual(lower);
    expect(await failure('src/demo/main.ts', { DATA_DIR: file })).toEqual(lower);
  });

  const long = join(folder, 'x'.repeat(300));
  test.each([
    ['STORAGE_DIR', 'is a file', file, 'it is a file, not a folder'],
    ['STORAGE_DIR', 'holds a file', sound, `${join(sound, 'roundsound')} is a file, not a folder`],
    ['STORAGE_DIR', 'cannot be created', '/proc/x', 'it cannot be created (ENOENT)'],
    ['STORAGE_DIR', 'has too long a name', long, 'it cannot be created (ENAMETOOLONG)'],
    ['DATA_DIR', 'cannot be created', '/proc/x', 'it cannot be created (ENOENT)'],
    ['DATA_DIR', 'has too long a name', long, 'it cannot be created (ENAMETOOLONG)'],
  ])('%s that %s ends the start in one line', async (setting, _, path, why) => {
    expect(await start({ [setting]: path })).toEqual(line(unusable(setting, path, why)));
  });

  test('DATA_DIR has characters that a shell would interpret', async () => {
    for (const name of ['a"b', 'a$(touch b)', 'a`b`', 'a\nb']) {
      const DATA_DIR = join(folder, name);
      const refused = await failure('src/cli.ts', { DATA_DIR, ...embedded }, add);
      expect(refused).toEqual(
        notCreated(
          DATA_DIR,
          `DATA_DIR=${JSON.stringify(DATA_DIR)} cannot be used: PostgreSQL does not start in a path with ", $, \` or a line break`,
        ),
      );
      expect(readdirSync(DATA_DIR)).toEqual([]);
    }
  });

  test.skipIf(!readOnly.isMounted)('ends the start in one line when a folder cannot be written', async () => {
    const { path } = readOnly;
    const because = 'it is on a file system that is read-only';
    const ofData = unusable('DATA_DIR', path, because);
    expect(await start({ DATA_DIR: path })).toEqual(line(ofData));
    expect(await start({ DATA_DIR: path, ...embedded })).toEqual(line(ofData));
    expect(await failure('src/cli.ts', { DATA_DIR: path, ...embedded }, add)).toEqual(
      notCreated(path, ofData),
    );
    expect(await start({ STORAGE_DIR: path })).toEqual(line(unusable('STORAGE_DIR', path, because)));
  });

  test('ends the start in one line when a folder is not writable by this user', async () => {
    const locked = join(folder, 'locked');
    await mkdir(locked, { mode: 0o555 });
    // Root may write everywhere, unless it has lost that privilege.
    const isRoot = process.getuid?.() === 0;
    const through = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];
    expect(await failure('src/main.ts', { DATA_DIR: locked, ...embedded }, [], { through })).toEqual(
      line(unusable('DATA_DIR', locked, 'it is not writable by this user')),
    );
    const foreign = join(folder, 'foreign');
    const database = join(foreign, 'postgres');
    await mkdir(database, { recursive: true });
    await chmod(database, 0o000);
    expect(await failure('src/cli.ts', { DATA_DIR: foreign, ...embedded }, list, { through })).toEqual(
      line(unusable('DATA_DIR', foreign, `${database} is not writable by this user`)),
    );
  });

  test.skipIf(process.getuid?.() !== 0)('their user has an id without a name', async () => {
    const nameless = join(folder, 'nameless');
    await mkdir(nameless);
    await chown(nameless, 54_321, 54_321);
    const through = [
      ...['setpriv', '--reuid=54321', '--regid=54321', '--clear-groups'],
      // It may enter the folders that this program is in.
      ...['--securebits=+no_setuid_fixup', '--inh-caps=+dac_read_search', '--ambient-caps=+dac_read_search'],
    ];
    expect(await failure('src/cli.ts', { DATA_DIR: nameless, ...embedded }, add, { through })).toEqual(
      notCreated(
        nameless,
        'The embedded PostgreSQL needs a user with a name, and user id 54321 has none: add such a user, ' +
          "or install libnss-systemd for an account of systemd's DynamicUser",
      ),
    );
  });

  test.skipIf(!full.isMounted)(
    'ends the start in one line when the disk is full, and the next start finds room',
    async () => {
      const env = { DATA_DIR: join(full.path, 'data'), ...embedded };
      await mkdir(env.DATA_DIR);
      const { bavail, bsize } = await statfs(full.path);
      await Bun.write(join(full.path, 'other'), new Uint8Array(bavail * bsize));
      const password = join(env.DATA_DIR, 'postgres.password');
      expect(await failure('src/cli.ts', env, add)).toEqual(
        notCreated(env.DATA_DIR, unusable('DATA_DIR', env.DATA_DIR, 'it is on a disk that is full')),
      );
      // There is room for the first files, but not for all that initdb creates.
      full.resize(8 * 1024 * 1024);
      const announced = `Creating a new database in ${env.DATA_DIR}`;
      const { code, stderr } = await failure('src/cli.ts', env, add);
      expect([code, stderr.trimEnd().split('\n')]).toEqual([
        1,
        [announced, expect.stringContaining('No space left on device')],
      ]);

      full.resize(200 * 1024 * 1024);
      expect(await failure('src/cli.ts', env, add)).toEqual({ code: 0, stderr: `${announced}\n` });
      expect((await Bun.file(password).text()).trim()).not.toBe('');
    },
  );
});

describe('a database that is lost in the middle of the start ends it with one line', () => {
  afterEach(() => proxy.restore());
  const lostAt = (url: string) => line(`The database of DATABASE_URL is unreachable: ${new URL(url).host}`);
  const lost = lostAt(proxy.url);

  test.each([
    '__drizzle_migrations',
    'insert into "users"',
    'from "servers"',
    'session_secret',
    'round_sounds',
  ])('a database that is lost at %s ends the start with one line', async (text) => {
    proxy.failAt(text, 'cut');
    const env = { DATABASE_URL: proxy.url, OWNER_STEAMIDS: '76561198000000001', ROLES: 'api,media,sync' };
    expect(await failure('src/main.ts', env)).toEqual(lost);
  });

  test('ends a start with one line when the database freezes', async () => {
    // At once, since each waits until a silent connection is given up.
    const freezeAt = async (text: string) => {
      const { url, failAt } = await startDatabaseProxy((await createTestDatabase()).url);
      failAt(text, 'freeze');
      expect([text, await failure('src/main.ts', { DATABASE_URL: url, ROLES: 'api' })]).toEqual([
        text,
        lostAt(url),
      ]);
    };
    await Promise.all(['__drizzle_migrations', 'from "servers"'].map(freezeAt));
  });

  test("ends a call of the operator's tool in one line when the database is lost", async () => {
    proxy.failAt('__drizzle_migrations', 'cut');
    expect(await failure('src/cli.ts', { DATABASE_URL: proxy.url }, ['servers', 'list'])).toEqual(lost);
    proxy.restore();
    proxy.failAt('from "servers"', 'cut');
    expect(await failure('src/cli.ts', { DATABASE_URL: proxy.url }, ['servers', 'list'])).toEqual(
      line('The database became unreachable: try again'),
    );
  });
});
