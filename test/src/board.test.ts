import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test';
import pino from 'pino';
import { type Board, createBoard } from '../../src/board.ts';

const lines: { msg: string }[] = [];
const log = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) });

/** A table that may be out of reach. */
const table = { rows: ['a'], isAway: false, reads: 0 };
const boards: Board<string>[] = [];
const changes: string[] = [];

async function openBoard(): Promise<Board<string>> {
  const board = await createBoard({
    name: 'things',
    log,
    read: async () => {
      table.reads += 1;
      if (table.isAway) throw new Error('away');
      return [...table.rows];
    },
    build: (rows) => rows.join('+'),
  });
  board.onChange((value) => void changes.push(value));
  boards.push(board);
  return board;
}

/** Lets time pass, and whatever it sets off come to its end. */
async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

beforeEach(() => {
  jest.useFakeTimers();
  Object.assign(table, { rows: ['a'], isAway: false, reads: 0 });
  lines.length = 0;
  changes.length = 0;
});
afterEach(() => {
  for (const board of boards.splice(0)) board.stop();
  jest.useRealTimers();
});

describe('a board', () => {
  test('fails to open when nothing can be read', async () => {
    table.isAway = true;
    expect(openBoard()).rejects.toThrow('away');
  });

  test('shows what was read, and calls back only when it changed', async () => {
    const board = await openBoard();
    expect(board.current()).toBe('a');
    board.invalidate();
    await pass(100);
    expect([table.reads, changes]).toEqual([2, []]);
    table.rows = ['a', 'b'];
    board.invalidate();
    await pass(100);
    expect([board.current(), changes]).toEqual(['a+b', ['a+b']]);
  });

  test('answers a burst of notifications by one read', async () => {
    const board = await openBoard();
    for (let i = 0; i < 1000; i++) board.invalidate();
    await pass(100);
    expect(table.reads).toBe(2);
  });

  test('sees a change within two seconds even when nothing told it', async () => {
    const board = await openBoard();
    table.rows = ['b'];
    await pass(2000);
    expect(board.current()).toBe('b');
  });

  test('shows for an hour and longer what was read before the database went away, and says so once', async () => {
    const board = await openBoard();
    table.isAway = true;
    for (let second = 0; second < 3600; second += 2) {
      await pass(2000);
      expect(board.current()).toBe('a');
    }
    expect(table.reads).toBeGreaterThan(1500);
    expect(lines.map(({ msg }) => msg)).toEqual([
      'the things cannot be read: going on with what was read last',
    ]);
    table.isAway = false;
    table.rows = ['c'];
    await pass(2000);
    expect([board.current(), changes]).toEqual(['c', ['c']]);
  });

  test('reads no more once it is stopped', async () => {
    const board = await openBoard();
    board.invalidate();
    board.stop();
    await pass(10_000);
    expect(table.reads).toBe(1);
  });
});
