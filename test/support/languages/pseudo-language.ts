import { GUIDES } from '../../../api/web/guide/text.tsx';
import { PAGE_TEXTS } from '../../../api/web/locales/texts.ts';
import { MODERATOR_GUIDES } from '../../../api/web/moderation/guide-page.tsx';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { LANGUAGES } from '../../../src/domain/language.ts';

/** The code of the pseudo-language. */
export const PSEUDO = 'qps';
/** Discord's locale that is served in it. It also formats dates and numbers, since it has no Latin letters. */
export const PSEUDO_LOCALE = 'uk';

/**
 * Adds a third language until it is disposed of, as CONTRIBUTING.md says: its entry in the table, and its texts. They are
 * the English ones in accented letters, a third longer and in brackets, so a Latin letter that is left comes from no table.
 */
export function speakPseudoLanguage(): Disposable {
  const entry = {
    name: toPseudo('Pseudo'),
    intl: PSEUDO_LOCALE,
    months: 'short',
    omitsOne: false,
    openGraph: 'uk_UA',
    discord: [PSEUDO_LOCALE],
  };
  const { commands, ...texts } = BOT_TEXTS.en;
  const additions: [table: object, value: unknown][] = [
    [LANGUAGES, entry],
    [PAGE_TEXTS, translate(PAGE_TEXTS.en)],
    [BOT_TEXTS, { ...Object(translate(texts)), commands: translate(commands, toCommandText) }],
    [GUIDES, translateMarkdown(GUIDES.en)],
    [MODERATOR_GUIDES, translateMarkdown(MODERATOR_GUIDES.en)],
  ];
  for (const [table, value] of additions) Object.assign(table, { [PSEUDO]: value });
  return {
    [Symbol.dispose]: () => {
      for (const [table] of additions) Reflect.deleteProperty(table, PSEUDO);
    },
  };
}

const LETTERS = new Map(
  [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'].map((letter, index) => [
    letter,
    [...'ȧƀƈḓḗƒɠħīĵķŀḿƞǿƥɋřşŧŭṽẇẋẏẑȦƁƇḒḖƑƓĦĪĴĶĿḾȠǾƤɊŘŞŦŬṼẆẊẎẐ'][index] ?? letter,
  ]),
);

/** Vowels are doubled, which makes English about a third longer. */
function accent(text: string): string {
  return text.replace(/[aeiou]/gi, '$&$&').replace(/[a-z]/gi, (letter) => LETTERS.get(letter) ?? letter);
}

function toPseudo(text: string): string {
  return text === '' ? '' : `⟦${accent(text)}⟧`;
}

/** Names of commands and options are lower-case letters and hyphens, at most 32. */
function toCommandText(text: string): string {
  return /^[a-z-]+$/.test(text) ? accent(text) : toPseudo(text);
}

/** The same texts in the pseudo-language. What a text is given, such as a name, stays as it is. */
function translate(value: unknown, change = toPseudo): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((each) => translate(each, change));
  if (typeof value === 'function') {
    return (...args: unknown[]) => {
      const text = String(value(...args));
      const given = args.flatMap((arg) => (typeof arg === 'object' && arg ? Object.values(arg) : [arg]));
      // Not a key of the texts, such as `ban`.
      const data = given.filter((arg) => typeof arg === 'string' && /[^a-z]/.test(arg)).map(String);
      const parts =
        data.length === 0 ? [text] : text.split(new RegExp(`(${data.map(RegExp.escape).join('|')})`));
      return `⟦${parts.map((part, index) => (index % 2 === 1 ? part : accent(part))).join('')}⟧`;
    };
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, translate(each, change)]));
}

/** Programs, names of the API, addresses and what the guide fills in stay. */
function translateMarkdown(markdown: string): string {
  return markdown
    .split(/(`[^`]*`|\]\([^)]*\)|\{[^}]*\})/)
    .map((part, index) => (index % 2 === 0 ? accent(part) : part))
    .join('');
}
