import { inlineCode, TimestampStyles, type TimestampStylesString, time } from 'discord.js';
import { isolate } from '../../src/domain/text/isolate.ts';
import { hasVisibleCharacter } from '../../src/domain/text/visible-text.ts';

/**
 * Control and formatting characters: NUL, right-to-left marks, zero-width characters. The group is kept: an emoji with
 * its joiner (U+200D) to another emoji, or with the tags that make it the flag of a region.
 * @see https://www.unicode.org/reports/tr51/#Emoji_Sequences
 */
const INVISIBLE =
  /(\p{ExtPict}\p{EMod}?\ufe0f?(?:\u200d(?=\p{ExtPict})|[\u{e0030}-\u{e007a}]{2,6}\u{e007f})?)|[\p{Cc}\p{Cf}\u2028\u2029\u115f\u1160\u2800\u3164\uffa0]/gu;
/**
 * The characters of Discord's Markdown, mentions, timestamps, emoji and links; list markers only at a line's start. Links
 * to invitations and gifts need no `https://`.
 */
const MARKUP =
  /[\\`*_~|>#[\]<@]|:(?=\/\/|[\w~+-]+:)|^[-+](?= )|(?<=^[0-9]+)\.(?= )|(?<=discord(?:app)?)\.(?=(?:gg|com|gift|new)\/)/gi;
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** A name or reason as one plain line: no control characters, single spaces; `fallback` when nothing visible is left. */
export function toPlainLine(text: string, fallback = ''): string {
  const line = text.replace(/\s+/g, ' ').replace(INVISIBLE, '$1').replace(/ +/g, ' ').trim();
  return hasVisibleCharacter(line) ? line : fallback;
}

/** Cuts to at most `max` UTF-16 units, never within a character, and marks the cut. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  let start = '';
  for (const { segment } of graphemes.segment(text)) {
    if (start.length + segment.length > max - 1) break;
    start += segment;
  }
  return `${start.trimEnd()}…`;
}

/**
 * Makes text of others safe where Discord reads Markdown: one line, in which nothing is formatted, linked or mentioned, and
 * which does not change the direction of the text around it.
 * The library's `escapeMarkdown` leaves mentions, timestamps, emoji and bare links as they are.
 * @param max of the text before escaping; the result is at most twice as long.
 */
export function escapeText(text: string, { max = 128, fallback = '' } = {}): string {
  const line = toPlainLine(text, fallback);
  // Room for the two bidi isolation characters.
  const visible = cut(line, isolate(line) === line ? max : max - 1);
  return isolate(visible.replace(MARKUP, '\\$&'));
}

/** How long ago or ahead an instant is, which Discord keeps up to date: "2 hours ago". */
export function relativeTime(at: Date): string {
  return time(at, TimestampStyles.RelativeTime);
}

/** An instant in the reader's own time zone, and how long ago or ahead it is: "20 November 2026 (a day ago)". */
export function absoluteAndRelativeTime(at: Date, style: TimestampStylesString): string {
  return `${time(at, style)} (${relativeTime(at)})`;
}

/** Text in a code span, where only backticks have a meaning. */
export function code(text: string): string {
  return inlineCode(toPlainLine(text).replaceAll('`', "'"));
}

/**
 * Joins as many lines as fit, and says how many did not.
 * @param max length of the result in UTF-16 units, the last line included.
 * @param hidden the number of further lines that are not in `lines`; they count as left out.
 */
export function joinLines(
  lines: readonly string[],
  { max, more, hidden = 0 }: { max: number; more: (amount: number) => string; hidden?: number },
): string {
  const whole = [...lines, ...(hidden > 0 ? [more(hidden)] : [])].join('\n');
  if (whole.length <= max) return whole;
  const room = max - more(lines.length + hidden).length - 1;
  const head: string[] = [];
  let length = 0;
  for (const line of lines) {
    length += line.length + 1;
    if (length > room) break;
    head.push(line);
  }
  return [...head, more(lines.length - head.length + hidden)].join('\n');
}
