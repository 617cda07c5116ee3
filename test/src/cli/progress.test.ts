import { expect, test } from 'bun:test';
import { describeProgress, showProgress } from '../../../src/cli/progress.ts';

function outputOf(isTTY: boolean) {
  const written: string[] = [];
  let nowMs = 0;
  const display = showProgress({ isTTY, write: (text) => written.push(text) }, () => nowMs);
  return { written, display, passMs };

  function passMs(ms: number): void {
    nowMs += ms;
  }
}

test('progress names rows, rate and time left', () => {
  expect(describeProgress({ read: 120_000, share: 0.25 }, 5)).toBe(
    '120000 rows, 24000 rows/s, 25 %, 15s left',
  );
  expect(describeProgress({ read: 1000, share: 0.01 }, 60)).toBe('1000 rows, 17 rows/s, 1 %, 1h 39m left');
  expect(describeProgress({ read: 10, share: undefined }, 2)).toBe('10 rows, 5 rows/s');
});

test('progress on a terminal rewrites one line, and whole lines push it down', () => {
  const { written, display, passMs } = outputOf(true);
  display.update({ read: 1, share: undefined });
  passMs(1000);
  display.update({ read: 10, share: undefined });
  display.line('skipped line 2');
  display.end();
  expect(written).toEqual([
    '\r\u001b[2K10 rows, 10 rows/s',
    '\r\u001b[2Kskipped line 2\n10 rows, 10 rows/s',
    '\r\u001b[2K',
  ]);
});

test('whole lines escape what a terminal would interpret: they quote rows of other databases', () => {
  const { written, display } = outputOf(false);
  display.line('set aside: line 2: the type "\u009b2J\u202e" is not known');
  expect(written).toEqual(['set aside: line 2: the type "\\u009b2J\\u202e" is not known\n']);
});

test('elsewhere a plain line is written every few seconds', () => {
  const { written, display, passMs } = outputOf(false);
  for (let read = 1; read <= 11; read++) {
    passMs(1000);
    display.update({ read, share: undefined });
  }
  display.end();
  expect(written).toEqual(['5 rows, 1 rows/s\n', '10 rows, 1 rows/s\n']);
});
