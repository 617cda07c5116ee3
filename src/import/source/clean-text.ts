/** In code points, which is what the columns of the sources count: 128 emoji are a name. */
export const LONGEST_NAME = 128;
export const LONGEST_REASON = 2000;

/** PostgreSQL keeps no NUL in a text. */
const NUL = String.fromCharCode(0);
/** Windows-1252, which MySQL calls latin1: what the bytes 0x80 to 0x9F stand for; gaps are the control characters. */
const HIGH_CHARACTERS =
  '\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f' +
  '\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178';

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/**
 * Makes a text of a source fit to keep: without NUL bytes, without halves of characters, cut between two visible
 * characters. Everything else stays as it is, mark-up and invisible characters included: whoever shows it escapes it.
 * @param longest in code points.
 */
export function cleanText(text: string | null | undefined, longest: number): string {
  if (text === null || text === undefined) return '';
  const sound = (text.includes(NUL) ? text.replaceAll(NUL, '') : text).toWellFormed().trim();
  const repaired = repairMojibake(sound);
  return repaired.length <= longest ? repaired : cutBetweenCharacters(repaired, longest);
}

function cutBetweenCharacters(text: string, longest: number): string {
  // A code point is at most two UTF-16 units, so the rest of a very long text need not be read.
  const points = [...text.slice(0, 2 * longest + 2)];
  if (points.length <= longest) return text;
  const head = points.slice(0, longest).join('');
  let end = 0;
  for (const { segment, index } of graphemes.segment(points.slice(0, longest + 1).join(''))) {
    if (index + segment.length > head.length) break;
    end = index + segment.length;
  }
  // A single character of many marks can be longer than the limit: it is cut all the same.
  return (end > 0 ? head.slice(0, end) : head).trimEnd();
}

/**
 * Undoes UTF-8 that was read as Windows-1252 (from before the tables were utf8mb4), when it is certain: every
 * character that is not ASCII belongs to a well-formed UTF-8 sequence, and there are at least two sequences. One alone
 * may be a player's own choice of letters.
 */
function repairMojibake(text: string): string {
  if (!/[\u00c2-\u00f4]/.test(text)) return text;
  const bytes = new Uint8Array(text.length);
  let sequences = 0;
  for (let index = 0; index < text.length; index++) {
    const byte = toWindows1252(text.charCodeAt(index));
    if (byte === undefined) return text;
    if (byte >= 0xc2) sequences += 1;
    bytes[index] = byte;
  }
  if (sequences < 2) return text;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return text;
  }
}

function toWindows1252(code: number): number | undefined {
  if (code < 0x80 || (code >= 0xa0 && code <= 0xff)) return code;
  const high = HIGH_CHARACTERS.indexOf(String.fromCharCode(code));
  return high === -1 ? undefined : 0x80 + high;
}
