/**
 * Letters, digits, punctuation and symbols, but for those that are drawn as nothing: fillers (default-ignorable, such as
 * U+3164), the braille blank, the null notehead and the object replacement character. Marks alone have nothing to sit on.
 */
const VISIBLE = /[[\p{L}\p{N}\p{P}\p{S}]--[\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]]/v;

/** Whether anybody can see anything of a text: no name consists of spaces, zero-width characters, fillers or marks alone. */
export function hasVisibleCharacter(text: string): boolean {
  return VISIBLE.test(text);
}
