const UNIT_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

/** What {@link tryParseTimeSpan} reads, for messages. */
export const TIME_SPAN_RULE = 'a number from 1 to 9999 and m, h, d or w, such as 90d';

/** Reads `90d`, `12h`, `30m` or `4w`; undefined for anything else. @returns milliseconds. */
export function tryParseTimeSpan(text: string): number | undefined {
  const [, count, unit = ''] = /^([1-9][0-9]{0,3})([mhdw])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  return unitMs === undefined ? undefined : Number(count) * unitMs;
}
