/** The first moment of a day such as `2026-11-21` in a time zone. @param timeZone its IANA name. */
export function startOfDay(day: string, timeZone: string): Date {
  return toDate(Temporal.PlainDate.from(day).toZonedDateTime(timeZone));
}

/** The last millisecond of a day in a time zone. */
export function endOfDay(day: string, timeZone: string): Date {
  const next = Temporal.PlainDate.from(day).add({ days: 1 }).toZonedDateTime(timeZone);
  return toDate(next.subtract({ milliseconds: 1 }));
}

/** The first moments of the last days in a time zone, that of today last. */
export function listDays(now: Date, { count, timeZone }: { count: number; timeZone: string }): Date[] {
  const today = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(timeZone);
  return Array.from({ length: count }, (_, index) =>
    toDate(today.subtract({ days: count - 1 - index }).startOfDay()),
  );
}

/** What a time zone is called at a time, such as `CET`. @param tag the BCP 47 tag of the language. */
export function zoneNameOf(tag: string, timeZone: string, at: Date): string {
  const parts = new Intl.DateTimeFormat(tag, { timeZone, timeZoneName: 'short' }).formatToParts(at);
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? timeZone;
}

function toDate({ epochMilliseconds }: Temporal.ZonedDateTime): Date {
  return new Date(epochMilliseconds);
}

/** The hour of the day in a time zone, 0 to 23. @param timeZone its IANA name. */
export function hourOf(at: Date, timeZone: string): number {
  return Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(timeZone).hour;
}
