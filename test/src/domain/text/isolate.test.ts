import { expect, test } from 'bun:test';
import { isolate } from '../../../../src/domain/text/isolate.ts';

test.each([
  ['Rzeźnik_1 🎮', 'Rzeźnik_1 🎮'],
  ['', ''],
  ['אלוף', '\u2068אלוף\u2069'],
  ['King ملك', '\u2068King ملك\u2069'],
  // Characters that would override or end the isolation of the rest.
  ['\u202egnik', 'gnik'],
  ['ש\u2069\u2069x', '\u2068שx\u2069'],
])('%j stands in a sentence without turning it', (name, isolated) => {
  expect(isolate(name)).toBe(isolated);
});
