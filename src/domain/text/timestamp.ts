/** `2026-11-21T10:00:00+00:00`, the form of every timestamp but `created_at` of a user. */
export function formatTimestamp(at: Date): string {
  return `${at.toISOString().slice(0, 19)}+00:00`;
}

/** `2026-11-21T10:00:00Z`. */
export function formatTimestampZ(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}

const TIME =
  /^\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?<zone>[Zz]|[+-]\d{2}:?\d{2})?)?$/;

/** An ISO 8601 time, and whether it names its zone; without one it is UTC. A date is its first moment. */
export function tryParseTime(text: string): { time: Date; isDate: boolean; hasZone: boolean } | undefined {
  const match = TIME.exec(text);
  if (!match) return undefined;
  const isDate = text.length === 10;
  const hasZone = match.groups?.zone !== undefined;
  const time = new Date((hasZone || isDate ? text : `${text}Z`).toUpperCase().replace(' ', 'T'));
  // Of a date such as 30 February, `Date` makes another one.
  const lastDay = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
  if (Number.isNaN(time.getTime()) || Number(text.slice(8, 10)) > lastDay) return undefined;
  return { time, isDate, hasZone };
}

/** Whether PostgreSQL reads a time as it is written here: years of five digits and those before Christ it writes differently. */
export function hasCommonYear(time: Date): boolean {
  return /^(?!0000)[0-9]{4}-/.test(time.toISOString());
}

/** The last millisecond of a day in UTC. @param day its first moment. */
export function lastMomentOf(day: Date): Date {
  return new Date(day.getTime() + 86_400_000 - 1);
}
