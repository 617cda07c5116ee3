import { Database as SqliteDatabase } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { Unavailable } from '../../../../src/domain/errors.ts';
import { openSqliteSource } from '../../../../src/import/source/sqlite.ts';
import { createSourceFiles } from '../../../support/import/source-file.ts';
import { countTurns } from '../../../support/machine/event-loop.ts';
import { mountSmallDisk } from '../../../support/machine/small-disk.ts';
import { createTestFolder } from '../../../support/service/program.ts';

const folder = createTestFolder();
const createSource = createSourceFiles();
const createFile = (statements: string) => createSource(statements).replace('sqlite:', '');

/** Another process that holds the whole file until it is released, as a game server's plugin does for a while. */
async function holdFile(path: string): Promise<{ release: () => Promise<unknown> }> {
  const script = `
    const { Database } = require('bun:sqlite');
    const file = new Database(${JSON.stringify(path)});
    file.run('begin exclusive');
    console.log('held');
    await Bun.stdin.text();
    file.run('commit');`;
  const child = Bun.spawn([process.execPath, '-e', script], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  await child.stdout.getReader().read();
  return {
    release: async () => {
      await child.stdin.end();
      await child.exited;
    },
  };
}

/** Far below the five seconds after which a held file is given up. */
const HELD_MS = 50;

const NUMBERS = 'create table numbers as select 1 as n union all select 2';

test('the event loop turns while another process holds the file, and the read succeeds once it lets go', async () => {
  const path = createFile(NUMBERS);
  const source = await openSqliteSource(path);
  const { release } = await holdFile(path);
  const reading = source.select('select n from numbers');
  expect(await Promise.race([reading, Bun.sleep(HELD_MS)])).toBeUndefined();
  await release();
  expect(await reading).toEqual([{ n: '1' }, { n: '2' }]);
  await source.close();
});

test('the event loop turns while a file is opened that another process holds', async () => {
  const path = createFile(NUMBERS);
  const { release } = await holdFile(path);
  const opening = openSqliteSource(path);
  expect(await Promise.race([opening, Bun.sleep(HELD_MS)])).toBeUndefined();
  await release();
  await (await opening).close();
});

test('the event loop turns while a read takes long', async () => {
  const source = await openSqliteSource(createFile(NUMBERS));
  const statement =
    'with recursive count(n) as (select 1 union all select n + 1 from count where n < 8000000) select max(n) as n from count';
  const reading = async () => expect(await source.select(statement)).toEqual([{ n: '8000000' }]);
  expect(await countTurns(reading)).toBeGreaterThan(10);
  await source.close();
});

test('a file that is missing is named in one line', async () => {
  const path = join(folder, 'absent.sqlite');
  await expect(openSqliteSource(path)).rejects.toEqual(
    new Unavailable(`Cannot read sqlite:${path}: there is no such file`),
  );
});

test('a file that stays held is given up after five seconds, in one line', async () => {
  const path = createFile(NUMBERS);
  const source = await openSqliteSource(path);
  const { release } = await holdFile(path);
  const startMs = performance.now();
  const failure = await source.select('select n from numbers').catch((error: unknown) => error);
  expect(performance.now() - startMs).toBeGreaterThan(4500);
  expect(failure).toEqual(new Unavailable(`Cannot read sqlite:${path}: database is locked`));
  await release();
  await source.close();
});

test('a source that is closed answers no more, and does not wait', async () => {
  const path = createFile(NUMBERS);
  const source = await openSqliteSource(path);
  const { release } = await holdFile(path);
  const reading = source.select('select n from numbers');
  await source.close();
  await expect(reading).rejects.toThrow('it was closed');
  await expect(source.select('select n from numbers')).rejects.toThrow(Unavailable);
  await release();
});

test('answers belong to their questions, and every value is its text', async () => {
  const source = await openSqliteSource(createFile(NUMBERS));
  const asked = await Promise.all(
    [
      source.select('select 76561198000000003 as id, null as none, 1.5 as number'),
      source.select('select from'),
      source.select("select ? as text, x'c485' as bytes", ["it's"]),
    ].map((answer) => answer.catch((error: Error) => error.message)),
  );
  expect(asked).toEqual([
    [{ id: '76561198000000003', none: null, number: '1.5' }],
    expect.stringContaining('syntax error'),
    [{ text: "it's", bytes: 'ą' }],
  ]);
  await source.close();
});

test('reads a WAL file in a read-only folder while nothing is in its WAL, and else says what to copy', async () => {
  const disk = await mountSmallDisk(join(folder, 'read-only'), 4 * 1024 * 1024);
  if (!disk.isMounted) return;
  const closed = join(disk.path, 'closed 100%.sqlite');
  const open = join(disk.path, 'open.sqlite');
  const file = new SqliteDatabase(closed);
  file.run('pragma journal_mode = wal');
  file.run('create table numbers as select 9007199254740995 as n');
  copyFileSync(closed, open);
  copyFileSync(`${closed}-wal`, `${open}-wal`);
  file.close();
  disk.makeReadOnly();
  const source = await openSqliteSource(closed);
  expect(await source.select('select n from numbers')).toEqual([{ n: '9007199254740995' }]);
  await source.close();
  await expect(openSqliteSource(open)).rejects.toThrow(
    `Cannot read sqlite:${open}: its newest changes are in ${open}-wal, and this user may not write to its folder: ` +
      'copy both files to a folder that they may write to',
  );
});
