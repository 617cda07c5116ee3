/** In code points, as the columns of the sources count. */
export const MAX_NAME_LENGTH = 128;
export const MAX_REASON_LENGTH = 2000;

/** PostgreSQL does not accept NUL in text. */
const NUL = String.fromCharCode(0);

/**
 * Prepares a text of a source for storage: removes NUL and unpaired surrogates, and cuts it. The rest stays unchanged, markup
 * and invisible characters included: it is escaped when shown.
 * @param longest in code points.
 */
export function cleanText(text: string | null | undefined, longest: number): string {
  if (text === null || text === undefined) return '';
  const sound = (text.includes(NUL) ? text.replaceAll(NUL, '') : text).toWellFormed().trim();
  const repaired = repairMojibake(sound);
  if (repaired.length <= longest) return repaired;
  // A code point has at most two UTF-16 units, so the rest of a very long text is not needed.
  return [...repaired.slice(0, 2 * longest)].slice(0, longest).join('').trimEnd();
}

/** What is wrong with some texts that cannot be repaired, in words for the report of an import. */
export function listDamages(texts: readonly string[]): string[] {
  return DAMAGES.filter(([isDamaged]) => texts.some(isDamaged)).map(([, damage]) => damage);
}

const DAMAGES: readonly [isDamaged: (text: string) => boolean, damage: string][] = [
  [
    // A word of only letters from À to ÿ, such as `Âàñÿ`. That is never certain, so such text stays as it is.
    (text) => /[À-ÿ]{3}/.test(text) && /(?<!\p{L})[À-ÿ]{3,}(?!\p{L})/u.test(text),
    'with text that looks like Windows-1251 in a latin1 table: it cannot be repaired',
  ],
  [
    (text) => text.includes('\ufffd'),
    'with text that has the character U+FFFD where others were lost: it cannot be repaired',
  ],
];

/**
 * Repairs UTF-8 that was decoded as Windows-1252 (from before the tables were utf8mb4), if that is certain: every
 * non-ASCII character belongs to a valid UTF-8 sequence, and there are at least two sequences. A single one may be what
 * the player typed.
 */
function repairMojibake(text: string): string {
  if (!/[\u00c2-\u00f4]/.test(text)) return text;
  const bytes = Array.from(text, (character) => WINDOWS_1252.indexOf(character));
  const sequences = bytes.filter((byte) => byte >= 0xc2).length;
  if (bytes.includes(-1) || sequences < 2) return text;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes));
  } catch {
    return text;
  }
}

/** The character of each byte in the encoding that MySQL calls latin1. */
const WINDOWS_1252 = new TextDecoder('windows-1252').decode(
  Uint8Array.from({ length: 256 }, (_, byte) => byte),
);
