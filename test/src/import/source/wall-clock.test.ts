import { expect, test } from 'bun:test';
import { InvalidInput } from '../../../../src/domain/errors.ts';
import { parseWallClock, wallClockToInstant } from '../../../../src/import/source/wall-clock.ts';

function instant(text: string, zone: string): string {
  const wallClock = parseWallClock(text);
  if (wallClock === undefined) throw new Error('no date');
  return wallClockToInstant(zone)(wallClock).toISOString();
}

test('a wall clock is read in its zone, whatever the zone of the machine', () => {
  expect(instant('2026-07-01 12:00:00', 'Europe/Warsaw')).toBe('2026-07-01T10:00:00.000Z');
  expect(instant('2026-12-01 12:00:00', 'Europe/Warsaw')).toBe('2026-12-01T11:00:00.000Z');
  expect(instant('2026-12-01 12:00:00.1234567', 'UTC')).toBe('2026-12-01T12:00:00.123Z');
  expect(instant('2026-12-01 00:30:00', 'Asia/Kolkata')).toBe('2026-11-30T19:00:00.000Z');
  expect(instant('2026-12-01 12:30', 'UTC')).toBe('2026-12-01T12:30:00.000Z');
  expect(instant('2026-12-01', 'Europe/Warsaw')).toBe('2026-11-30T23:00:00.000Z');
  expect(instant('1971-01-01 00:00:00', 'UTC')).toBe('1971-01-01T00:00:00.000Z');
  expect(instant('2045-07-01 12:00:00', 'UTC')).toBe('2045-07-01T12:00:00.000Z');
});

test('the days on which the clock is changed', () => {
  expect(instant('2026-03-29 01:59:59', 'Europe/Warsaw')).toBe('2026-03-29T00:59:59.000Z');
  expect(instant('2026-03-29 03:00:00', 'Europe/Warsaw')).toBe('2026-03-29T01:00:00.000Z');
  // Skipped in spring: read as if the clock had not been put forward.
  expect(instant('2026-03-29 02:30:00', 'Europe/Warsaw')).toBe('2026-03-29T01:30:00.000Z');
  // Occurs twice in autumn: the first one counts.
  expect(instant('2026-10-25 02:30:00', 'Europe/Warsaw')).toBe('2026-10-25T00:30:00.000Z');
  expect(instant('2026-10-25 03:00:00', 'Europe/Warsaw')).toBe('2026-10-25T02:00:00.000Z');
});

test('zero dates are no dates, and dates that no calendar has are refused', () => {
  for (const none of [
    null,
    undefined,
    '',
    '0000-00-00 00:00:00',
    '0001-01-01 00:00:00',
    '1970-01-01 00:00:01',
    '2026-00-00',
    '2026-00-10',
    '2026-05-00',
  ]) {
    expect(parseWallClock(none)).toBeUndefined();
  }
  for (const wrong of [
    '2026-02-30 00:00:00',
    '2026-13-01',
    'yesterday',
    'on 2026-11-21',
    '2026-11-21 10:00:00 PM',
    '1763719200',
    '2026-11-21 10:99:00',
    '2026-11-21 10:60:00',
    '2026-11-21 10:00:61',
    '2026-11-21 10:00:60',
    '2026-11-21 25:00:00',
    '2026-11-21 24:00:00',
    '2026-12-31 99:00:00',
  ]) {
    expect(() => parseWallClock(wrong)).toThrow(InvalidInput);
  }
  expect(instant('2026-11-21 23:59:59', 'UTC')).toBe('2026-11-21T23:59:59.000Z');
  expect(() => wallClockToInstant('Europe/Atlantis')).toThrow(InvalidInput);
});

test('a refused text is quoted, up to 64 characters', () => {
  expect(() => parseWallClock('2026-02-30')).toThrow('"2026-02-30" is not a date');
  expect(() => parseWallClock('x'.repeat(100))).toThrow(/^"x{64}" is not a date$/);
  expect(() => wallClockToInstant('Europe/Atlantis')).toThrow(
    '"Europe/Atlantis" is not a time zone: use UTC',
  );
});
