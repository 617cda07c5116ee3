import { afterEach, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import { drawPlayerChart } from '../../../bot/charts/player-chart.ts';
import type { Picture } from '../../../src/draw.ts';
import { createDrawingProcess, type DrawingProcess } from '../../../src/drawing/drawing-process.ts';
import { SAMPLE_HISTORY, SAMPLE_RANGE } from '../../support/bot/history.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { insertServerWithHistory } from '../../support/database/server-history.ts';
import { findDrawingProcesses } from '../../support/drawing/drawing-processes.ts';
import { createTestFolder, startProgram } from '../../support/service/program.ts';
import { waitFor } from '../../support/wait.ts';

const PROGRAM = new URL('../../../src/draw.ts', import.meta.url);
const CHART = { kind: 'chart' as const, points: SAMPLE_HISTORY, range: SAMPLE_RANGE, locale: 'pl' };
const UNDRAWABLE = { ...CHART, range: { ...SAMPLE_RANGE, from: 'not a date' } } as unknown as Picture;

/** A user who exists by number alone, if this user may become one, and that one may read the program. */
const STRANGER = ['setpriv', '--reuid=23456', '--regid=23456', '--clear-groups'];
const mayBeStranger =
  Bun.which('setpriv') !== null &&
  Bun.spawnSync([...STRANGER, 'test', '-r', fileURLToPath(PROGRAM)]).exitCode === 0;
if (!mayBeStranger)
  console.warn('SKIPPED: drawing as a user without a name, whom this machine does not let read the program');

let warnings: string[] = [];
let drawing: DrawingProcess<Picture> | undefined;

function open(options: { idleMs?: number } = {}) {
  warnings = [];
  const log = pino({}, { write: (line: string) => void warnings.push(JSON.parse(line).msg) });
  drawing = createDrawingProcess<Picture>({ program: PROGRAM, log, ...options });
  return drawing;
}

afterEach(() => drawing?.stop());

async function findDrawer(): Promise<number> {
  const [pid, ...others] = await findDrawingProcesses(process.pid);
  if (pid === undefined || others.length > 0) throw new Error(`${others.length} processes draw`);
  return pid;
}

test('draws the same as this process would, many at a time in one process', async () => {
  const { draw } = open();
  const expected = new Uint8Array(await drawPlayerChart(CHART));
  const pictures = await Promise.all(Array.from({ length: 20 }, () => draw(CHART)));
  for (const picture of pictures) expect(picture).toEqual(expected);
  await findDrawer();
});

test('ends when no picture has been wanted for a while, without a warning, and is started for the next one', async () => {
  const { draw } = open({ idleMs: 1000 });
  // Found while it draws: on a busy machine, looking for it afterwards can take longer than it stays.
  const [first] = await Promise.all([findDrawer(), draw(CHART)]);
  await waitFor(async () => (await findDrawingProcesses(process.pid)).length === 0);
  const [second] = await Promise.all([findDrawer(), draw(CHART)]);
  expect(second).not.toBe(first);
  expect(warnings).toEqual([]);
});

test('a picture that cannot be drawn fails by itself', async () => {
  const { draw } = open();
  const [bad, good] = await Promise.allSettled([draw(UNDRAWABLE), draw(CHART)]);
  expect(bad).toMatchObject({
    status: 'rejected',
    reason: { message: 'the picture cannot be drawn', cause: expect.any(TypeError) },
  });
  expect(good.status).toBe('fulfilled');
});

test('when the process is killed, what it was drawing fails, and the next picture is drawn', async () => {
  const { draw } = open();
  await draw(CHART);
  const pid = await findDrawer();
  process.kill(pid, 'SIGSTOP');
  const lost = draw(CHART);
  process.kill(pid, 'SIGKILL');
  await expect(lost).rejects.toThrow('the drawing process ended');
  expect(warnings).toEqual(['the drawing process ended by itself']);
  expect((await draw(CHART)).length).toBeGreaterThan(1000);
});

test('a process that hangs is ended, and the next picture is drawn', async () => {
  const { draw } = open();
  await draw(CHART);
  const pid = await findDrawer();
  process.kill(pid, 'SIGSTOP');
  await expect(draw(CHART)).rejects.toThrow('the drawing process ended');
  expect(warnings).toEqual(['the drawing process hung and was killed']);
  expect((await draw(CHART)).length).toBeGreaterThan(1000);
  expect(await findDrawer()).not.toBe(pid);
});

test('goes on at a signal to the whole group, and knows nothing of the environment', async () => {
  const { draw } = open();
  await draw(CHART);
  const pid = await findDrawer();
  process.kill(pid, 'SIGTERM');
  process.kill(pid, 'SIGINT');
  await draw(CHART);
  expect(await findDrawer()).toBe(pid);
  expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('PATH=');
});

test.skipIf(!mayBeStranger)(
  'draws under a user without a name or a home, as containers have them',
  async () => {
    const program = startProgram('test/support/drawing/draw-once.ts', { HOME: '/' }, [], {
      through: STRANGER,
    });
    expect([await program.exited, program.stderr()]).toEqual([0, '']);
    expect(Number(program.stdout())).toBeGreaterThan(1000);
  },
);

test('the service draws through it, and it ends with the service, however that ends', async () => {
  const { db, url } = await createTestDatabase();
  await insertServerWithHistory(db, { slug: 'one', name: 'One', now: new Date() });
  const folder = createTestFolder();
  const service = startProgram('src/main.ts', {
    DATABASE_URL: url,
    PORT: '0',
    DATA_DIR: folder.path,
    STORAGE_DIR: folder.path,
    ROLES: 'api',
  });
  try {
    const [, port] = await service.waitFor(/"port":(\d+)/);
    expect((await fetch(`http://127.0.0.1:${port}/servers/one/banner.png`)).status).toBe(200);
    const [pid = 0] = await findDrawingProcesses(service.pid);
    expect(readFileSync(`/proc/${pid}/maps`, 'utf8')).toContain('skia');
    expect(readFileSync(`/proc/${service.pid}/maps`, 'utf8')).not.toContain('skia');
    service.kill('SIGKILL');
    await service.exited;
    // Of a process that has ended, nothing is left to read.
    await waitFor(async () => (await Bun.$`cat /proc/${pid}/cmdline`.nothrow().quiet().text()) === '');
  } finally {
    service.kill('SIGKILL');
    await folder.remove();
  }
});
