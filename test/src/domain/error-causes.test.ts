import { expect, test } from 'bun:test';
import { errorCauses, errorCode, hasErrorCode } from '../../../src/domain/errors.ts';

test('an error is followed by its causes', () => {
  const root = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
  const query = new Error('query failed', { cause: root });
  expect(errorCauses(query)).toEqual([query, root]);
  expect(errorCauses(query).map(errorCode)).toEqual(['', 'ECONNREFUSED']);
});

test('a value that is not an error has no causes, and a circle ends', () => {
  expect(errorCauses('text')).toEqual([]);
  const circular = new Error('first');
  circular.cause = new Error('second', { cause: circular });
  expect(errorCauses(circular).map(({ message }) => message)).toEqual(['first', 'second']);
});

test('a code is found on an error and on any of its causes', () => {
  const wrapped = new Error('query failed', { cause: Object.assign(new Error('twice'), { code: '23505' }) });
  expect([errorCode(wrapped), errorCode(wrapped.cause), errorCode('text')]).toEqual(['', '23505', '']);
  expect([hasErrorCode(wrapped, ['23505']), hasErrorCode(wrapped, ['40P01'])]).toEqual([true, false]);
});
