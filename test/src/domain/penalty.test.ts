import { describe, expect, test } from 'bun:test';
import { InvalidInput } from '../../../src/domain/errors.ts';
import {
  countsOnlineTime,
  FORMER_ADMIN,
  isByConsole,
  isByErasedAdmin,
  isPenaltyTime,
  knownEnd,
  lifterNameOf,
  liftReasonOf,
  MUTE_TYPES,
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  parsePenaltyStatus,
  parsePenaltyType,
  SOURCE_NAME,
  SOURCE_NAME_RULE,
  serverNameOf,
  statusAt,
} from '../../../src/domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { aSteamId } from '../../support/database/builders.ts';

test('types, statuses and what /mutes lists are those of the specification', () => {
  expect(PENALTY_TYPES).toEqual(['ban', 'mute', 'gag', 'silence', 'warn']);
  expect(MUTE_TYPES).toEqual(['gag', 'mute', 'silence']);
  expect(PENALTY_STATUSES).toEqual(['ACTIVE', 'EXPIRED', 'UNBANNED']);
});

describe('parsePenaltyStatus', () => {
  test('reads the seven spellings in any letter case, composed or decomposed', () => {
    for (const [status, words] of Object.entries({
      ACTIVE: ['ACTIVE', 'aktywny'],
      EXPIRED: ['EXPIRED', 'wygasły', 'wygasly'],
      UNBANNED: ['UNBANNED', 'odbanowany'],
    })) {
      for (const word of words) {
        const title = `${word[0]?.toUpperCase()}${word.slice(1).toLowerCase()}`;
        for (const text of [word, word.toLowerCase(), word.toUpperCase(), title])
          for (const form of ['NFC', 'NFD'])
            expect([text, parsePenaltyStatus(text.normalize(form))]).toEqual([text, status as PenaltyStatus]);
      }
    }
  });

  test.each([
    ['another word', ['', 'aktywna', 'unbanned,active', 'x'.repeat(100)]],
    ['white space', ['ACTIVE ', 'ACTIVE\n']],
    ['other accents', ['ÁCTIVE', 'A\u0301CTIVE', 'wygasłý', 'wygasl\u0301y', 'ódbanowany']],
    [
      'characters that look alike or are invisible',
      ['ＡＣＴＩＶＥ', 'ACTI\u200bVE', '\u200eACTIVE', 'a\u212atywny'],
    ],
    ['the letters i of Turkish', ['ACTıVE', 'ACTİVE']],
  ])('refuses a status with %s: %j', (_, texts) => {
    for (const text of texts) {
      expect(() => parsePenaltyStatus(text)).toThrow(
        new InvalidInput(
          `status ${JSON.stringify(text.slice(0, 64))} is not known: use ACTIVE, EXPIRED, UNBANNED (or aktywny, wygasły, odbanowany)`,
        ),
      );
    }
  });
});

describe('parsePenaltyType', () => {
  test.each(PENALTY_TYPES)('reads %s in any letter case', (type) => {
    expect(parsePenaltyType(type)).toBe(type);
    expect(parsePenaltyType(type.toUpperCase())).toBe(type);
  });

  test('refuses what this caller does not take, and says what it takes', () => {
    expect(parsePenaltyType('Gag', MUTE_TYPES)).toBe('gag');
    expect(() => parsePenaltyType('ban', MUTE_TYPES)).toThrow(
      new InvalidInput('type "ban" is not known: use gag, mute, silence'),
    );
    expect(() => parsePenaltyType('y'.repeat(100))).toThrow(
      new InvalidInput(`type "${'y'.repeat(64)}" is not known: use ban, mute, gag, silence, warn`),
    );
  });
});

test('a source is named by 1 to 64 letters, digits, . : _ -', () => {
  for (const name of ['a', 'simpleadmin:main', 'a.b_c-9', 'x'.repeat(64)])
    expect(SOURCE_NAME.test(name)).toBe(true);
  for (const name of ['', 'a b', 'ą', ' a', 'a ', 'a/b', 'x'.repeat(65)])
    expect(SOURCE_NAME.test(name)).toBe(false);
  expect(SOURCE_NAME_RULE).toBe('1 to 64 letters, digits, . : _ -');
});

test('a penalty has its times in the years 1971 to 9999, in UTC', () => {
  for (const time of ['1971-01-01T00:00:00Z', '2026-11-21T10:00:00Z', '9999-12-31T23:59:59Z']) {
    expect([time, isPenaltyTime(new Date(time))]).toEqual([time, true]);
  }
  for (const time of ['1970-12-31T23:59:59Z', '+010000-01-01T00:00:00Z', '0001-01-01T00:00:00Z', 'never']) {
    expect([time, isPenaltyTime(new Date(time))]).toEqual([time, false]);
  }
});

test('an ACTIVE penalty is EXPIRED from the moment of its end, and no other changes with time', () => {
  const end = new Date('2026-11-21T10:00:00Z');
  const before = new Date(end.getTime() - 1);
  const after = new Date(end.getTime() + 1);
  const statuses = [before, end, after].map((now) => statusAt('ACTIVE', end, now));
  expect(statuses).toEqual(['ACTIVE', 'EXPIRED', 'EXPIRED']);
  expect(statusAt('ACTIVE', null, after)).toBe('ACTIVE');
  expect(statusAt('UNBANNED', end, after)).toBe('UNBANNED');
  expect(statusAt('EXPIRED', end, before)).toBe('EXPIRED');
});

test('an active penalty with a duration and no end counts the time that the player is online', () => {
  const counting = { status: 'ACTIVE', durationMinutes: 1, endsAt: null } as const;
  expect(countsOnlineTime(counting)).toBe(true);
  expect(countsOnlineTime({ ...counting, durationMinutes: 0 })).toBe(false);
  expect(countsOnlineTime({ ...counting, endsAt: new Date('2026-11-21T10:00:00Z') })).toBe(false);
  expect(countsOnlineTime({ ...counting, status: 'EXPIRED' })).toBe(false);
});

test('the end of an EXPIRED penalty is not known if it is more than a minute in the future', () => {
  const now = new Date('2026-11-21T10:00:00Z');
  const inAMinute = new Date('2026-11-21T10:01:00Z');
  const later = new Date('2026-11-21T10:01:00.001Z');
  expect(knownEnd({ status: 'EXPIRED', endsAt: inAMinute }, now)).toBe(inAMinute);
  expect(knownEnd({ status: 'EXPIRED', endsAt: later }, now)).toBeNull();
  expect(knownEnd({ status: 'EXPIRED', endsAt: null }, now)).toBeNull();
  expect(knownEnd({ status: 'ACTIVE', endsAt: later }, now)).toBe(later);
});

test('the server of a penalty is its name, the number of one that is gone, or nothing for all of them', () => {
  expect(serverNameOf({ serverId: 3, serverName: 'Only Mirage' })).toBe('Only Mirage');
  expect(serverNameOf({ serverId: 3, serverName: null })).toBe('#3');
  expect(serverNameOf({ serverId: 0, serverName: null })).toBeUndefined();
});

describe('who gave a penalty', () => {
  const byUnknown = (adminName: string) => ({ adminName, adminSteamId: UNKNOWN_STEAM_ID });
  const byPlayer = (adminName: string) => ({ adminName, adminSteamId: aSteamId(1) });

  test('an admin without a SteamID is the console, named or not', () => {
    for (const name of ['Console', 'CONSOLE', '', '\u3164']) {
      expect([name, isByConsole(byUnknown(name)), isByConsole(byPlayer(name))]).toEqual([name, true, false]);
    }
    for (const name of ['Ala', 'Consoles', 'The Console']) {
      expect([name, isByConsole(byUnknown(name))]).toEqual([name, false]);
    }
  });

  test('an admin with the name stored for erased people is an erased admin', () => {
    expect(isByErasedAdmin(byUnknown(FORMER_ADMIN))).toBe(true);
    expect(isByErasedAdmin(byPlayer(FORMER_ADMIN))).toBe(false);
    expect(isByErasedAdmin(byUnknown('Ala'))).toBe(false);
    // Rows of earlier erasures have this name.
    expect(FORMER_ADMIN).toBe('Former admin');
  });
});

test('names who lifted a penalty in the reader’s language', () => {
  const words = { console: 'Konsola', formerAdmin: 'Były admin' };
  for (const [stored, shown] of [
    [FORMER_ADMIN, 'Były admin'],
    ['Console', 'Konsola'],
    ['CONSOLE', 'Konsola'],
    ['Consoles', 'Consoles'],
    ['The Console', 'The Console'],
    [null, ''],
  ] as const) {
    expect([stored, lifterNameOf({ liftedByName: stored }, words)]).toEqual([stored, shown]);
  }
});

test('the reason of a penalty is never shown as the reason of its lifting', () => {
  for (const [reason, liftReason, shown] of [
    ['Wallhack', 'Appeal', 'Appeal'],
    ['Wallhack', ' Wallhack ', ''],
    ['Wallhack', null, ''],
    ['', '', ''],
  ] as const)
    expect([liftReason, liftReasonOf({ reason, liftReason })]).toEqual([liftReason, shown]);
});
