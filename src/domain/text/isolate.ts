/** The Unicode blocks of scripts that are written from right to left, such as Hebrew and Arabic. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
/** Characters that change the direction of the text around them: embeddings, overrides, isolates and marks. */
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text without the characters that change the direction of the text around them. */
export function withoutDirectionMarks(text: string): string {
  return text.replace(DIRECTION_CONTROLS, '');
}

/**
 * A name as part of a sentence: a right-to-left name is isolated (FSI and PDI), so that it does not reorder the words and
 * numbers around it. From other names only direction controls are removed. HTML uses `<bdi>` instead.
 * @see https://www.unicode.org/reports/tr9/#Explicit_Directional_Isolates
 */
export function isolate(name: string): string {
  const plain = withoutDirectionMarks(name);
  return RIGHT_TO_LEFT.test(plain) ? `\u2068${plain}\u2069` : plain;
}
