import { describe, expect, test } from 'bun:test';
import { parseCustomId, toCustomId, tryParsePositive } from '../../../bot/interactions/custom-id.ts';

describe('custom ids', () => {
  test('custom ids carry a name and arguments, and never exceed 100 characters', () => {
    expect(parseCustomId(toCustomId('record.page', 'next', '123', 2))).toEqual({
      name: 'record.page',
      args: ['next', '123', '2'],
    });
    expect(() => toCustomId('x', 'y'.repeat(100))).toThrow('longer than 100');
  });

  test('a number in them is accepted only if it looks like one', () => {
    expect(tryParsePositive('12')).toBe(12);
    for (const arg of [undefined, '', '0', '-1', '1e3', ' 1', '01', '9999999999', 'x'])
      expect(tryParsePositive(arg)).toBeUndefined();
  });
});
