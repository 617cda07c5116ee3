import { expect, test } from 'bun:test';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { withFileLock } from '../../../../src/db/embedded/data-folder.ts';
import { Unavailable } from '../../../../src/domain/errors.ts';
import { mountSmallDisk } from '../../../support/machine/small-disk.ts';
import { createTestFolder, startProgram } from '../../../support/service/program.ts';

const folder = createTestFolder();
const disk = await mountSmallDisk(join(folder, 'disk'), 64 * 1024);

/** A separate process that runs `work` under the lock. */
async function startHolder(file: string, work: string) {
  const script = join(folder, `${crypto.randomUUID()}.ts`);
  const source = new URL('../../../../src/db/embedded/data-folder.ts', import.meta.url).pathname;
  await Bun.write(
    script,
    `import { withFileLock } from ${JSON.stringify(source)};
     await withFileLock(${JSON.stringify(file)}, async () => { ${work} });`,
  );
  return startProgram(script, {});
}

test('work of one process runs one after another', async () => {
  const file = join(folder, 'one.lock');
  let running = 0;
  let most = 0;
  const work = async () => {
    running += 1;
    most = Math.max(most, running);
    await Bun.sleep(5);
    running -= 1;
    return running;
  };
  const results = await Promise.all(Array.from({ length: 10 }, () => withFileLock(file, work)));
  expect([most, ...results]).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
});

test('what the work throws is thrown, and the lock is free again', async () => {
  const file = join(folder, 'throws.lock');
  const failing = withFileLock(file, async () => {
    throw new RangeError('no');
  });
  await expect(failing).rejects.toThrow(RangeError);
  expect(await withFileLock(file, async () => 'free', { limitMs: 0 })).toBe('free');
});

test('work of several processes never runs at once', async () => {
  const file = join(folder, 'many.lock');
  const counter = join(folder, 'counter');
  await Bun.write(counter, '0');
  const add = `
    const before = Number(await Bun.file(${JSON.stringify(counter)}).text());
    await Bun.sleep(10);
    await Bun.write(${JSON.stringify(counter)}, String(before + 1));`;
  const holders = await Promise.all(Array.from({ length: 6 }, () => startHolder(file, add)));
  expect(await Promise.all(holders.map(({ exited }) => exited))).toEqual([0, 0, 0, 0, 0, 0]);
  expect(await Bun.file(counter).text()).toBe('6');
});

test('a living holder keeps others waiting, and a killed one holds nothing', async () => {
  const file = join(folder, 'killed.lock');
  const holder = await startHolder(file, `console.log('held'); await Bun.sleep(60_000);`);
  await holder.waitFor('held');
  const refused = withFileLock(file, async () => 'never', { limitMs: 200 });
  await expect(refused).rejects.toThrow(Unavailable);
  holder.kill('SIGKILL');
  await holder.exited;
  expect(await withFileLock(file, async () => 'mine', { limitMs: 0 })).toBe('mine');
});

test('no content of the file holds the lock', async () => {
  for (const content of ['', '1', String(process.pid), '\0'.repeat(5000), 'SQLite format 3\0 and no more']) {
    const file = join(folder, 'content.lock');
    await Bun.write(file, content);
    expect(await withFileLock(file, async () => content, { limitMs: 1000 })).toBe(content);
  }
});

test.skipIf(!disk.isMounted)('a full disk neither stops it nor is filled by it', async () => {
  await Bun.write(join(disk.path, 'other'), new Uint8Array(64 * 1024)).catch(() => 0);
  const file = join(disk.path, 'full.lock');
  expect(await withFileLock(file, async () => 'held', { limitMs: 0 })).toBe('held');
  expect((await stat(file)).size).toBe(0);
  expect((await readdir(disk.path)).toSorted()).toEqual(['full.lock', 'other']);
});
