import { describe, expect, test } from 'bun:test';
import { isRangeOfSame, isUnchanged } from '../../../api/http/conditional.ts';

const MODIFIED_AT = new Date('2026-11-21T10:00:00Z');
const DATE = MODIFIED_AT.toUTCString();
const LATER = new Date('2026-11-21T10:00:01Z').toUTCString();
const EARLIER = new Date('2026-11-21T09:59:59Z').toUTCString();

describe('If-None-Match', () => {
  for (const etag of ['"a"', 'W/"a"']) {
    test.each(['"a"', 'W/"a"', '"b", "a"', 'W/"b",W/"a" ', '*', ' * ', `"${'b'.repeat(4000)}", "a"`])(
      `%p matches ${etag}`,
      (list) => {
        expect(isUnchanged(new Headers({ 'if-none-match': list }), { etag })).toBe(true);
      },
    );

    test.each(['"b"', 'a', '', '"a', '"aa"', '"b", *', 'w/"a"', '"b", "b"', 'x, x'])(
      `%p does not match ${etag}`,
      (list) => {
        expect(isUnchanged(new Headers({ 'if-none-match': list }), { etag })).toBe(false);
      },
    );
  }

  test('ignores an If-None-Match beyond 8192 characters, unless it is the tag itself', () => {
    const long = `${'"b", '.repeat(2000)}"a"`;
    expect(isUnchanged(new Headers({ 'if-none-match': long }), { etag: '"a"' })).toBe(false);
  });

  test('takes precedence over If-Modified-Since', () => {
    const headers = new Headers({ 'if-none-match': '"b"', 'if-modified-since': LATER });
    expect(isUnchanged(headers, { etag: '"a"', modifiedAt: MODIFIED_AT })).toBe(false);
  });
});

test.each([
  [DATE, true],
  [LATER, true],
  [EARLIER, false],
  ['yesterday', false],
  ['2030', false],
  ['tomorrow 2031', false],
  ['', false],
])('If-Modified-Since %p', (since, isSame) => {
  const headers = new Headers({ 'if-modified-since': since });
  expect(isUnchanged(headers, { etag: '"a"', modifiedAt: MODIFIED_AT })).toBe(isSame);
  expect(isUnchanged(headers, { etag: '"a"' })).toBe(false);
});

test.each([
  ['"a"', true],
  [DATE, true],
  ['W/"a"', false],
  ['"b"', false],
  [LATER, false],
])('If-Range %p', (condition, isSame) => {
  const headers = new Headers({ 'if-range': condition });
  expect(isRangeOfSame(headers, { etag: '"a"', modifiedAt: MODIFIED_AT })).toBe(isSame);
});
