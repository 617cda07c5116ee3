import { expect, test } from 'bun:test';
import { foldText } from '../../src/fold-text.ts';

test.each([
  ['Zoltán', 'zoltan'],
  ['Zolta\u0301n', 'zoltan'],
  ['Łódź ŻÓŁĆ', 'lodz zolc'],
  ['de_Mirage 24/7', 'de_mirage 24/7'],
])('%s is searched as %s', (text, folded) => {
  expect(foldText(text)).toBe(folded);
});
