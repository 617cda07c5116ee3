import { distance } from 'fastest-levenshtein';

/**
 * Whether a name is another one misspelled: a few edits apart, or with its letters in a different order. Letter case and
 * the separators between words do not count.
 * @param maxEdits letters that may be missing, added or different.
 */
export function isMisspelling(name: string, meant: string, maxEdits: number): boolean {
  const [one, other] = [foldName(name), foldName(meant)];
  if (Math.abs(one.length - other.length) > maxEdits) return false;
  return distance(one, other) <= maxEdits || sortLetters(one) === sortLetters(other);
}

/** Lower case, without separators between words and without `[]` after a list. */
export function foldName(name: string): string {
  return name.toLowerCase().replace(/[-_.\s[\]]/g, '');
}

function sortLetters(text: string): string {
  return [...text].sort().join('');
}
