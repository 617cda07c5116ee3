import type { Language } from '../../../../src/domain/language.ts';
import { perLanguage } from '../../../../src/domain/text/per-language.ts';
import type { Texts } from '../../layout/locales/en.ts';

/** Formats a share as `99.98%`, rounded down: a server that was offline for a moment never shows 100%. */
export function formatShare(locale: Language, share: number): string {
  const floored = Math.floor(share * 10_000 + 1e-6) / 10_000;
  return shareFormat(locale).format(floored);
}

const shareFormat = perLanguage(
  (tag) => new Intl.NumberFormat(tag, { style: 'percent', maximumFractionDigits: 2 }),
);

/** Formats a duration as `12 h 30 min`; only minutes below an hour, only hours from a day on. */
export function formatHours(
  seconds: number,
  { hours: inHours, minutes: inMinutes }: Texts['server'],
): string {
  const minutes = Math.max(1, Math.round(seconds / 60));
  if (minutes < 60) return inMinutes(minutes);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24 || minutes % 60 === 0) return inHours(hours);
  return `${inHours(hours)} ${inMinutes(minutes % 60)}`;
}
