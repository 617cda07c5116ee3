import { expect, test } from 'bun:test';
import { Glob } from 'bun';
import { LOCKS } from '../../../src/db/locks.ts';

test('no two locks have the same number, and no other file makes up one', async () => {
  const numbers = Object.values(LOCKS);
  expect(new Set<number>(numbers).size).toBe(numbers.length);
  const strangers: string[] = [];
  for (const file of new Glob('{src,api,bot,media}/**/*.{ts,tsx}').scanSync('.')) {
    if (/advisory_(xact_)?lock(_shared)?\((?!\$|hashtext\(\$)/.test(await Bun.file(file).text()))
      strangers.push(file);
  }
  expect(strangers).toEqual([]);
});
