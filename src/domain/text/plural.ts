import { type Language, perLanguage } from '../language.ts';

/** The forms of a noun by the plural categories of its language (CLDR); a missing one is `other`. */
export type NounForms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/** The form of a noun that goes with a number: in Polish 1 `serwer`, 2 `serwery`, 5 `serwerów`. */
export function pluralForm(language: Language, amount: number, forms: NounForms): string {
  return forms[rulesOf(language).select(amount)] ?? forms.other;
}

const rulesOf = perLanguage(({ intl }) => new Intl.PluralRules(intl));
