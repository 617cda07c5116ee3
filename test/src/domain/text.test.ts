import { expect, test } from 'bun:test';
import { foldText, UNSEEN } from '../../../src/domain/text/fold-text.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { hasVisibleCharacter } from '../../../src/domain/text/visible-text.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { INVISIBLE_NAMES } from '../../support/invisible-names.ts';

/** Every character of the basic plane and of the plane with mathematical letters and emoji. */
const LAST_POINT = 0x1_ffff;

test.each([
  ['Zoltán', 'zoltan'],
  ['Zolta\u0301n', 'zoltan'],
  ['Łódź ŻÓŁĆ', 'lodz zolc'],
  ['de_Mirage 24/7', 'de_mirage 24/7'],
  ['Straße STRAẞE', 'strasse strasse'],
  ['Søren Đorđe Þór Æsir Œuvre', 'soren dorde thor aesir oeuvre'],
  ['Ａｌａ 𝓐𝓵𝓪 Ⓐⓛⓐ', 'ala ala ala'],
  ['İstanbul ISPARTA ısparta', 'istanbul isparta isparta'],
  ['ΟΔΥΣΣΕΥΣ Οδυσσεύς', 'οδυσσευσ οδυσσευσ'],
  ['Ёлка ЙОД', 'елка иод'],
  ['A\u200bl\u00ada', 'ala'],
  ['100%_\\', '100%_\\'],
])('%s is searched as %s', (text, folded) => {
  expect(foldText(text)).toBe(folded);
});

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

test.each(INVISIBLE_NAMES)('%j cannot be seen', (name) => {
  expect(hasVisibleCharacter(name)).toBe(false);
});

test.each(['a', ' ł ', '玩家', '-', '🎯', '❤️', '\u200bx', '\u3164.\u3164', '한', '\u2801', 'ﷺ', '১'])(
  '%j can be seen',
  (name) => {
    expect(hasVisibleCharacter(name)).toBe(true);
  },
);

test('folding folded text changes nothing', () => {
  const changed = everyCharacter().filter((character) => {
    const folded = foldText(character);
    return foldText(folded) !== folded;
  });
  expect(changed).toEqual([]);
});

test('the database folds as the program does: every character, by itself and within a word', async () => {
  const { connection } = await createTestDatabase();
  const rows: { text: string; folded: string }[] = [];
  // In batches: on a busy machine, all of them together would exceed the statement timeout.
  for (let first = 1; first <= LAST_POINT; first += 0x1000) {
    rows.push(
      ...(await connection<{ text: string; folded: string }[]>`
    select text, fold_text(text) as folded
    from generate_series(${first}::int, ${Math.min(first + 0xfff, LAST_POINT)}::int) as point, lateral (values (chr(point)), ('aΣ' || chr(point) || 'Σ b')) as given(text)
    where point not between ${0xd800}::int and ${0xdfff}::int`),
    );
  }
  expect(rows.length).toBeGreaterThan(2 * 0xf800 - 10);
  expect(rows.filter(({ text, folded }) => foldText(text) !== folded)).toEqual([]);
});

test('the migration removes the characters that the program removes: this line has the ranges', async () => {
  const migration = await Bun.file('src/db/migrations/0003_names.sql').text();
  const ranges = toRanges(Array.from({ length: 0x11_0000 }, (_, point) => point).filter(isUnseen));
  expect(/COLLATE "C", '(\[.*?\])'/.exec(migration)?.[1]).toBe(`[${ranges.join('')}]`);
});

function isUnseen(point: number): boolean {
  return String.fromCodePoint(point).search(UNSEEN) === 0;
}

/** @param points ascending. @returns as regular expressions of PostgreSQL write ranges. */
function toRanges(points: readonly number[]): string[] {
  const write = (point: number) =>
    point > 0xffff
      ? `\\U${point.toString(16).padStart(8, '0')}`
      : `\\u${point.toString(16).padStart(4, '0')}`;
  const firsts = points.filter((point, index) => points[index - 1] !== point - 1);
  const lasts = points.filter((point, index) => points[index + 1] !== point + 1);
  return firsts.map((first, index) => {
    const last = lasts[index] ?? first;
    const separator = last === first + 1 ? '' : '-';
    return last === first ? write(first) : `${write(first)}${separator}${write(last)}`;
  });
}

/** Except the null character, which PostgreSQL's texts cannot hold. */
function everyCharacter(): string[] {
  const characters: string[] = [];
  for (let point = 1; point <= LAST_POINT; point++) {
    if (point < 0xd800 || point > 0xdfff) characters.push(String.fromCodePoint(point));
  }
  return characters;
}
