import type { PenaltyStatus, PenaltyType } from '../penalty.ts';

/** The grammatical gender of each type's Polish name: ban, wyciszenie głosu, blokada czatu, pełne wyciszenie, ostrzeżenie. */
const GENDERS = {
  ban: 'masculine',
  mute: 'neuter',
  gag: 'feminine',
  silence: 'neuter',
  warn: 'neuter',
} as const;
const STATUSES = {
  masculine: { ACTIVE: 'aktywny', EXPIRED: 'wygasł', UNBANNED: 'zdjęty', REMOVED: 'usunięty' },
  feminine: { ACTIVE: 'aktywna', EXPIRED: 'wygasła', UNBANNED: 'zdjęta', REMOVED: 'usunięta' },
  neuter: { ACTIVE: 'aktywne', EXPIRED: 'wygasło', UNBANNED: 'zdjęte', REMOVED: 'usunięte' },
} as const;

/** The status of a penalty in Polish, in agreement with the name of its type: `ban wygasł`, `ostrzeżenie wygasło`. */
export function polishPenaltyStatus(type: PenaltyType, status: PenaltyStatus | 'REMOVED'): string {
  return STATUSES[GENDERS[type]][status];
}

/** A length of time as it follows *na*, in the accusative: `1 godzina, 30 minut` becomes `1 godzinę, 30 minut`. */
export function toPolishAccusative(duration: string): string {
  return duration.replace(/(godzin|minut)a\b/g, '$1ę');
}
