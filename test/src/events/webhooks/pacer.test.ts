import { expect, test } from 'bun:test';
import { createPacer } from '../../../../src/events/webhooks/pacer.ts';

test('a few calls settle in an iteration of the event loop, in their order, and others run in between', async () => {
  const pacer = createPacer({ perIteration: 2 });
  const seen: (number | string)[] = [];
  const work = async (number: number) => {
    await pacer.next();
    seen.push(number);
  };
  const all = Promise.all([1, 2, 3, 4, 5].map(work));
  const look = () => {
    seen.push('another');
    if (!seen.includes(5)) setImmediate(look);
  };
  setImmediate(look);
  await all;
  expect(seen).toEqual([1, 2, 'another', 3, 4, 'another', 5]);
});

test('a call after a pause settles too', async () => {
  const pacer = createPacer({ perIteration: 1 });
  await pacer.next();
  await new Promise((resolve) => setImmediate(resolve));
  await pacer.next();
});
