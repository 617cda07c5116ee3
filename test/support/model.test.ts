import { afterEach, expect, test } from 'bun:test';
import { drawSeed } from './model.ts';

const given = process.env.MODEL_SEED;
afterEach(() => {
  if (given === undefined) delete process.env.MODEL_SEED;
  else process.env.MODEL_SEED = given;
});

test('draws another seed each time, even within a millisecond', () => {
  delete process.env.MODEL_SEED;
  expect(new Set(Array.from({ length: 1000 }, drawSeed)).size).toBe(1000);
});

test('draws the seed of a run that is repeated', () => {
  process.env.MODEL_SEED = '42';
  expect([drawSeed(), drawSeed()]).toEqual([42, 42]);
});
