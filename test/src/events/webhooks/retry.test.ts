import { expect, test } from 'bun:test';
import { pauseAfterFailureMs } from '../../../../src/events/webhooks/retry.ts';

test('pauses grow from five seconds to an hour, 24 hours in all', () => {
  const pauses: number[] = [];
  for (
    let pause = pauseAfterFailureMs(1);
    pause !== undefined;
    pause = pauseAfterFailureMs(pauses.length + 1)
  ) {
    pauses.push(pause / 1000);
  }
  expect(pauses.slice(0, 12)).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
  expect(Math.max(...pauses)).toBe(3600);
  expect(pauses.reduce((sum, pause) => sum + pause)).toBe(24 * 3600);
});
