import { describe, expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mountSmallDisk } from '../../support/machine/small-disk.ts';
import { hasTerminal, startAtTerminal } from '../../support/machine/terminal.ts';
import { createTestFolder, serviceEnv, startProgram } from '../../support/service/program.ts';
import { waitForProcess } from '../../support/wait.ts';

const folder = createTestFolder();
const disk = await mountSmallDisk(join(folder, 'disk'), 65_536);

/** A program that writes through the service's logger. */
async function aProgram(script: string): Promise<string> {
  const file = join(folder, `${crypto.randomUUID()}.ts`);
  const source = new URL('../../../src/runtime/log.ts', import.meta.url).pathname;
  await Bun.write(file, `import { createLogger } from ${JSON.stringify(source)};\n${script}`);
  return file;
}

/** What a terminal shows of it. */
async function screenOf(script: string, env: Record<string, string> = {}): Promise<string[]> {
  const program = startAtTerminal(`bun ${await aProgram(script)}`, env);
  expect(await program.exited).toBe(0);
  return program.screen().trimEnd().split('\n');
}

const TIME = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d /;

describe.skipIf(!hasTerminal)('at a terminal', () => {
  test('a line is read by people: time, level, message, fields', async () => {
    const lines = await screenOf(`
      const log = createLogger('info');
      log.info({ host: '0.0.0.0', port: 3000, isUp: true, none: null, list: [1, 'a b'], empty: '' }, 'HTTP server listening');
      log.warn('add one: cli servers add --name "My server"');
      log.debug('never');`);
    expect(lines.map((line) => line.replace(TIME, 'TIME '))).toEqual([
      'TIME info  HTTP server listening  host=0.0.0.0 port=3000 isUp=true none=null list=[1,"a b"] empty=""',
      'TIME warn  add one: cli servers add --name "My server"',
    ]);
    expect(lines[0]).toMatch(TIME);
  });

  test('an error has its causes and stack below its line', async () => {
    const lines = await screenOf(`
      const cause = Object.assign(new Error('connect postgres://user:hunter2@db.example/x'), { code: 'ECONNREFUSED' });
      createLogger('info').error({ err: new TypeError('Failed query', { cause }), errorId: 7 }, 'a request failed');`);
    expect(lines[0]?.replace(TIME, '')).toBe('error a request failed  errorId=7');
    expect(lines[1]).toBe('    TypeError: Failed query');
    expect(lines[2]).toMatch(/^ {8}at .*\.ts:\d+:\d+/);
    const because = lines.findIndex((line) => line.includes('caused by'));
    expect(lines[because]).toBe('    caused by Error: connect postgres://…@db.example/x  code=ECONNREFUSED');
    expect(lines[because + 1]).toMatch(/^ {8}at /);
    expect(lines.join()).not.toContain('hunter2');
  });

  test('text that others chose moves no cursor, begins no line and reverses no text', async () => {
    const hostile = 'a\u001b[2Jb\r\n2026-11-21 10:00:00 info  forged\u202eright\u009bleft\u0000';
    const lines = await screenOf(
      `createLogger('info').info({ name: ${JSON.stringify(hostile)}, ${JSON.stringify(hostile)}: 1 }, ${JSON.stringify(hostile)});
       createLogger('info').error({ err: new Error(${JSON.stringify(hostile)}) }, 'x');`,
    );
    expect(lines.join('\n')).not.toMatch(/[^\P{C}\n]/u);
    expect(lines.filter((line) => line.includes('forged') && line.startsWith('2026-11-21 10:00'))).toEqual(
      [],
    );
    expect(lines[0]).toContain('a\\u001b[2Jb\\r\\n2026-11-21');
  });

  test('what the first start advises can be pasted into a shell', async () => {
    const env = serviceEnv(join(folder, 'data'), '', { NO_COLOR: '1' });
    const service = startAtTerminal('exec bun src/main.ts', env);
    await waitForProcess(() => service.screen().includes('tokens create'));
    const commands = [...service.screen().matchAll(/bun run (cli .*)$/gm)].map(([, command = '']) => command);
    expect(commands).toHaveLength(2);
    const filledIn = commands.map((command) =>
      command.replace('HOST:PORT', '203.0.113.7:27015').replace('YOUR_STEAMID', '76561198000000001'),
    );
    const [added, made] = await Promise.all(filledIn.map((command) => pasted(command, env)));
    expect(added).toEqual({
      code: 0,
      stdout: expect.stringContaining('Added my-server (203.0.113.7:27015)\n'),
      stderr: '',
    });
    expect(made).toEqual({ code: 0, stdout: expect.stringMatching(/^\w+_\w{36}\n$/), stderr: '' });
    service.interrupt();
    expect(await service.exited).toBe(0);
    expect(service.screen()).toMatch(/info {2}stopped\n$/);
  });
});

test('elsewhere lines are JSON, and the advice can be pasted all the same', async () => {
  const service = startProgram('src/main.ts', serviceEnv(join(folder, 'other'), ''));
  await service.waitFor('tokens create');
  service.kill('SIGTERM');
  expect(await service.exited).toBe(0);
  const lines = service.stdout().trimEnd().split('\n');
  for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
  expect(service.stdout()).toContain(`bun run cli servers add --name 'My server' --address HOST:PORT"`);
  expect(service.stdout()).not.toContain('\\"');
});

test.skipIf(!disk.isMounted)(
  'a log on a full disk makes nothing fail, keeps a megabyte, and goes on when there is room',
  async () => {
    const logFile = join(disk.path, 'service.log');
    const script = await aProgram(`
      const log = createLogger('info');
      const filler = 'x'.repeat(1000);
      for (let number = 0; number < 3000; number++) log.info({ number, filler }, 'a line');
      for (let rest = 0; rest < 100; rest++) log.info('');
      Bun.spawnSync(['mount', '-o', 'remount,size=4194304', ${JSON.stringify(disk.path)}]);
      log.info('dropped, for there was no room before');
      log.info('there is room again');`);
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

/** Runs a line in a shell, as if pasted. */
async function pasted(line: string, env: Record<string, string>) {
  const child = Bun.spawn(['sh', '-c', line.replace(/^cli /, 'bun src/cli.ts ')], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, stdout, stderr };
}
