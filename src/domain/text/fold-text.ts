/**
 * Lower case without diacritics, so that `zoltan` matches `Zoltán` in any Unicode normalization, and `Ａｌａ` is `ala`.
 * Format characters (joiners, direction marks) are removed.
 * The database folds names in the same way: function `fold_text` of the migration `0003_names`.
 */
export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replace(UNSEEN, '')
    .toLowerCase()
    .replace(UNDECOMPOSED, (letter) => PLAIN_LETTERS[letter] ?? letter);
}

/**
 * Combining marks, which NFKD has separated from their letters, and format characters. The migration has the same class as
 * ranges, which a test generates from this.
 */
export const UNSEEN = /[\p{M}\p{Cf}]/gu;

/** Lower-case letters that Unicode does not decompose, and what people type instead. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ...pair('łøđðħŧıƀɓƈɖɗǥɠɨɉƙƚɫɵƥɍʂƭʉʋⱥȼɇƶȥŋς', 'loddhtibbcddggijklloprstuvacezznσ'),
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
};

const UNDECOMPOSED = new RegExp(`[${Object.keys(PLAIN_LETTERS).join('')}]`, 'g');

function pair(letters: string, plain: string): Record<string, string> {
  return Object.fromEntries([...letters].map((letter, index) => [letter, plain[index] ?? letter]));
}
