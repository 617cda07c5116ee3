/** Picks the form of a word that goes with a number, by the language's own rules (CLDR). */
export function plural(
  rules: Intl.PluralRules,
  count: number,
  forms: { one: string; few?: string; many?: string; other: string },
): string {
  const form = rules.select(count);
  if (form === 'one') return forms.one;
  if (form === 'few') return forms.few ?? forms.other;
  if (form === 'many') return forms.many ?? forms.other;
  return forms.other;
}

const MINUTES_OF = { week: 10_080, day: 1440, hour: 60, minute: 1 } as const;

/** A length of time in words, its two largest units: `1 day 12 hours`. Years and months have no fixed length and are not used. */
export function durationInWords(language: string, minutes: number): string {
  const parts: string[] = [];
  let rest = Math.max(0, Math.trunc(minutes));
  for (const unit of ['week', 'day', 'hour', 'minute'] as const) {
    const amount = Math.floor(rest / MINUTES_OF[unit]);
    rest -= amount * MINUTES_OF[unit];
    if (amount === 0 && !(unit === 'minute' && parts.length === 0)) continue;
    parts.push(new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(amount));
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}
