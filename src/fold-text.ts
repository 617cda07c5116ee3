/**
 * Lower case without diacritics, so that `zoltan` finds `Zoltán` however it was composed.
 * `ł` has no decomposition in Unicode, so it is named here.
 */
export function foldText(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replaceAll('ł', 'l');
}
