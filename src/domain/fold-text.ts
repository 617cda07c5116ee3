/**
 * Lower case without diacritics, so that `zoltan` finds `Zoltán` however it was composed, and `Ａｌａ` is `ala`. Characters
 * that only say how others are shown (joiners, direction marks) are left out.
 * The database folds names by the same rule, `fold_text` of the migration `player_names`.
 */
export function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replace(UNSEEN, '')
    .toLowerCase()
    .replace(UNDECOMPOSED, (letter) => PLAIN_LETTERS[letter] ?? letter);
}

/** Marks, which decomposition has set apart, and format characters. */
const UNSEEN = /[\p{M}\p{Cf}]/gu;

/** Lower-case letters that Unicode does not decompose, and what people type in their place. */
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
