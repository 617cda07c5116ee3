/** Letters that are written from right to left, as in Hebrew and Arabic: the blocks where Unicode keeps them. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** What turns the direction of the text around it: embeddings, overrides, isolates and marks. */
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * A name as part of a sentence: one that is written from right to left is isolated (FSI and PDI), so that it moves neither
 * the words nor the numbers around it. Others are left as they are, but for signs that would turn the rest around. Where
 * markup can stand, `<bdi>` does the same.
 * @see https://www.unicode.org/reports/tr9/#Explicit_Directional_Isolates
 */
export function isolate(name: string): string {
  const plain = name.replace(DIRECTION_CONTROLS, '');
  return RIGHT_TO_LEFT.test(plain) ? `\u2068${plain}\u2069` : plain;
}
