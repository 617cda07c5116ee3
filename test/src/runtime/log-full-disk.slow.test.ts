import { afterAll, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mountSmallDisk } from '../../support/machine/small-disk.ts';
import { createTestFolder, startProgram } from '../../support/service/program.ts';

const folder = createTestFolder();
const disk = await mountSmallDisk(join(folder.path, 'disk'), 65_536);
afterAll(async () => {
  disk.unmount();
  await folder.remove();
});

test.skipIf(!disk.isMounted)(
  'a log on a full disk makes nothing fail, keeps a megabyte, and goes on when there is room',
  async () => {
    const logFile = join(disk.path, 'service.log');
    const script = join(folder.path, 'script.ts');
    const logger = new URL('../../../src/runtime/log.ts', import.meta.url).pathname;
    await Bun.write(
      script,
      `import { createLogger } from ${JSON.stringify(logger)};
      const log = createLogger('info');
      const filler = 'x'.repeat(1000);
      for (let number = 0; number < 3000; number++) log.info({ number, filler }, 'a line');
      for (let rest = 0; rest < 100; rest++) log.info('');
      Bun.spawnSync(['mount', '-o', 'remount,size=4194304', ${JSON.stringify(disk.path)}]);
      log.info('dropped, for there was no room before');
      log.info('there is room again');`,
    );
    const program = startProgram(script, {}, [], {
      through: ['sh', '-c', `exec "$@" > ${logFile}`, 'sh'],
    });
    expect([await program.exited, program.stderr()]).toEqual([0, '']);
    const text = await readFile(logFile, 'utf8');
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)).toMatchObject({ msg: 'there is room again' });
    const numbers = lines.flatMap(({ number }) => number ?? []);
    expect(numbers).toEqual([...numbers.keys()]);
    // What fits on the disk, and the megabyte that waits.
    expect(numbers.length).toBeGreaterThan(900);
    expect(numbers.length).toBeLessThan(1200);
  },
);
