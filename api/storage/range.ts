/** Both ends included. */
export type ByteRange = { start: number; end: number };

/**
 * Reads a `Range` header with a single byte range. Undefined for none, for a malformed one and for several ranges: the
 * response is then the whole file (RFC 9110 section 14.2).
 */
export function tryParseRange(
  header: string | null,
  length: number,
): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '') {
    const suffix = Math.min(Number(last), length);
    return suffix === 0 ? 'unsatisfiable' : { start: length - suffix, end: length - 1 };
  }
  const start = Number(first);
  const end = last === '' ? length - 1 : Math.min(Number(last), length - 1);
  if (last !== '' && start > Number(last)) return undefined;
  return start >= length ? 'unsatisfiable' : { start, end };
}
