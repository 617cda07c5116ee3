/** What is created once for each language, such as a format of `Intl`: to create one takes longer than to use it a hundred times. */
export function perLanguage<T>(create: (language: 'en' | 'pl') => T): (language: 'en' | 'pl') => T {
  const created: { en?: T; pl?: T } = {};
  return (language) => {
    created[language] ??= create(language);
    return created[language];
  };
}
