/**
 * Letters, digits, punctuation and symbols, except those that are drawn as nothing: fillers (default-ignorable, such as
 * U+3164), the braille blank, the null notehead and the object replacement character. Combining marks do not count.
 */
const VISIBLE = /[[\p{L}\p{N}\p{P}\p{S}]--[\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]]/v;

/** Whether a text has a visible character: not only spaces, zero-width characters, fillers or combining marks. */
export function hasVisibleCharacter(text: string): boolean {
  return VISIBLE.test(text);
}
