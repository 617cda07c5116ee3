import { InvalidInput } from '../errors.ts';
import { hasVisibleCharacter } from './visible-text.ts';

/** In code points, after trimming. */
export type TextLimits = { minimum: number; maximum: number };

/** A text that is too short, too long, or has no visible characters. */
export class WrongLength extends InvalidInput {
  override name = 'WrongLength';

  constructor(readonly limits: TextLimits) {
    super(`The text has ${limits.minimum} to ${limits.maximum} characters`);
  }
}

/** Control characters except line breaks: PostgreSQL refuses NUL, and the others are invisible. */
const CONTROLS = /[^\P{Cc}\n]/gu;
/** More than two blank lines: a text of 2,000 of them would fill a page. */
const BLANK_LINES = /\n(?:[^\S\n]*\n){3,}/g;

/**
 * A text that somebody wrote, as it is stored: trimmed, with `\n` as line break and at most two blank lines in a row, without
 * other control characters.
 * @throws {WrongLength}
 */
export function parseWrittenText(text: string, limits: TextLimits): string {
  const lines = text.replace(/\r\n?/g, '\n').replaceAll('\t', ' ').replace(CONTROLS, '');
  const written = lines.replace(BLANK_LINES, '\n\n\n').trim();
  const { length } = [...written];
  const fits = length >= limits.minimum && length <= limits.maximum;
  if (!fits || !hasVisibleCharacter(written)) throw new WrongLength(limits);
  return written;
}
