/** The forms of a noun by the plural categories of its language (CLDR); a missing one is `other`. */
export type NounForms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string };

/** Reused, because creating one takes longer than using it. */
const rules = { en: new Intl.PluralRules('en'), pl: new Intl.PluralRules('pl') };

/** The form of a noun that goes with a number: in Polish 1 `serwer`, 2 `serwery`, 5 `serwerów`. */
export function pluralForm(language: 'en' | 'pl', amount: number, forms: NounForms): string {
  return forms[rules[language].select(amount)] ?? forms.other;
}
