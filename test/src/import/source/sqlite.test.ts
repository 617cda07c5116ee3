import { Database as SqliteDatabase } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Unavailable } from '../../../../src/domain/errors.ts';
import { openSqliteSource } from '../../../../src/import/source/sqlite.ts';
import { createTestFolder } from '../../../support/service/program.ts';

const folder = createTestFolder();
afterAll(folder.remove);

let files = 0;
function createFile(...statements: string[]): string {
  files += 1;
  const path = join(folder.path, `${files}.sqlite`);
  const file = new SqliteDatabase(path);
  for (const statement of statements) file.run(statement);
  file.close();
  return path;
}

/** The longest time that the event loop did not turn while the work went on. */
async function longestHoldMs(work: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let lastMs = performance.now();
  const look = () => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const timer = setInterval(look, 5);
  await work();
  look();
  clearInterval(timer);
  return longestMs;
}

/** Another process that holds the whole file for some time, as a game server's plugin does. */
async function holdFile(path: string, heldMs: number): Promise<{ released: Promise<unknown> }> {
  const script = `
    const { Database } = require('bun:sqlite');
    const file = new Database(${JSON.stringify(path)});
    file.run('begin exclusive');
    console.log('held');
    await Bun.sleep(${heldMs});
    file.run('commit');`;
  const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' });
  await child.stdout.getReader().read();
  return { released: child.exited };
}

const NUMBERS = 'create table numbers as select 1 as n union all select 2';

describe('the event loop turns on', () => {
  test('while another process holds the file, and the read succeeds once it lets go', async () => {
    const path = createFile(NUMBERS);
    const source = await openSqliteSource(path);
    const { released } = await holdFile(path, 2500);
    const startMs = performance.now();
    const heldMs = await longestHoldMs(async () => {
      expect(await source.select('select n from numbers')).toEqual([{ n: '1' }, { n: '2' }]);
    });
    expect(performance.now() - startMs).toBeGreaterThan(1000);
    expect(heldMs).toBeLessThan(800);
    await released;
    await source.close();
  });

  test('while the file is opened that another process holds', async () => {
    const path = createFile(NUMBERS);
    const { released } = await holdFile(path, 2500);
    const heldMs = await longestHoldMs(async () => {
      const source = await openSqliteSource(path);
      await source.close();
    });
    expect(heldMs).toBeLessThan(800);
    await released;
  });

  test('while a read takes long', async () => {
    const source = await openSqliteSource(createFile(NUMBERS));
    const statement =
      'with recursive count(n) as (select 1 union all select n + 1 from count where n < 8000000) select max(n) as n from count';
    const startMs = performance.now();
    const heldMs = await longestHoldMs(async () => {
      expect(await source.select(statement)).toEqual([{ n: '8000000' }]);
    });
    expect(performance.now() - startMs).toBeGreaterThan(800);
    expect(heldMs).toBeLessThan(500);
    await source.close();
  });
});

test('a file that stays held is given up after five seconds, in one line', async () => {
  const path = createFile(NUMBERS);
  const source = await openSqliteSource(path);
  const { released } = await holdFile(path, 6500);
  const startMs = performance.now();
  const reading = source.select('select n from numbers');
  await expect(reading).rejects.toThrow(Unavailable);
  expect(performance.now() - startMs).toBeWithin(4500, 6400);
  expect(await reading.catch((error: Error) => error.message)).toBe(
    `the source sqlite:${path} fails: database is locked`,
  );
  await released;
  await source.close();
});

test('a source that is closed answers no more, and does not wait', async () => {
  const path = createFile(NUMBERS);
  const source = await openSqliteSource(path);
  const { released } = await holdFile(path, 1500);
  const reading = source.select('select n from numbers');
  await source.close();
  await expect(reading).rejects.toThrow('it was closed');
  await expect(source.select('select n from numbers')).rejects.toThrow(Unavailable);
  await released;
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
