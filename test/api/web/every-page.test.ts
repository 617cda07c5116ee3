import { describe, expect, test } from 'bun:test';
import { Glob } from 'bun';
import { createTestDatabase } from '../../support/database/database.ts';
import { PSEUDO, speakPseudoLanguage } from '../../support/languages/pseudo-language.ts';
import { startTestService } from '../../support/service/service.ts';
import type { Page } from '../../support/web/browser.ts';
import { openEveryPage, seedEveryPage } from '../../support/web/every-page.ts';
import { unescapeHtml } from '../../support/web/page-text.ts';

/** Names that try to break out of text, attributes, raw-text elements, comments, URLs and their own line. */
const HOSTILE = [
  '"><script>alert(1)</script>',
  "'onload='alert(1)' x='",
  '" onmouseover="alert(1)" x="',
  '</textarea></title></style><img src=x onerror=alert(1)>',
  '<!--<svg/onload=alert(1)>--!><a href=javascript:alert(1)>x</a>',
  'javascript:alert(1)//',
  '&quot;&gt;&lt;script&gt;&#x3c;b&#x3e;',
  '`{{alert(1)}}<% alert(1) %>`',
  '\u202e\u2066<b>right to left\u2069\u202c</b>\u{e0041}',
];
const LANGUAGES = ['en', 'pl'];
/** Pages that show no text that a user chose: only their structure is compared. */
const SILENT =
  /^(sign-in|missing|missing server|signed out|no such user|no appeals|moderators' guide|token refused|webhook refused|form refused|sign-in refused)/;
const URL_ATTRIBUTES = ['href', 'src', 'action', 'formaction', 'xlink:href', 'data'];

/** Opens every page, in a database where everybody and everything is called `text`. */
async function openPagesOf(text: string, language: string): Promise<Map<string, Page>> {
  const { db, requestDb } = await createTestDatabase({ max: 3 });
  await seedEveryPage(db, text);
  const opened = await openEveryPage(requestDb, text, { language });
  return new Map(opened.map(({ name, page }) => [name, page]));
}

/** Every element with the names of its attributes, in order. */
function outlineOf({ text }: Page): string[] {
  return listElements(text).map(({ tag, attributes }) => `${tag} ${Object.keys(attributes).join(' ')}`);
}

type ParsedElement = { tag: string; attributes: Record<string, string> };

function listElements(html: string): ParsedElement[] {
  const elements: ParsedElement[] = [];
  const parser = new HTMLRewriter().on('*', {
    element: (element) => {
      elements.push({ tag: element.tagName, attributes: Object.fromEntries(element.attributes) });
    },
  });
  parser.transform(html);
  return elements;
}

/** What a browser would execute, or fetch from other hosts. */
function listExecutable({ text }: Page): string[] {
  return listElements(text).flatMap(({ tag, attributes }) => {
    if (tag === 'script' && attributes.src === undefined) return ['a script within the page'];
    return Object.entries(attributes)
      .filter(([name, value]) => {
        if (name.startsWith('on') || name === 'style' || name === 'srcdoc') return true;
        if (tag === 'script' && name === 'src') return !value.startsWith('/account/assets/');
        return (
          URL_ATTRIBUTES.includes(name) && !/^(\/(?!\/)|\?|#|https:\/\/|steam:\/\/connect\/127\.)/.test(value)
        );
      })
      .map(([name, value]) => `<${tag} ${name}="${value}">`);
  });
}

const harmless = new Map<string, Map<string, Page>>();
for (const language of LANGUAGES) harmless.set(language, await openPagesOf('Ala', language));

test('every page is opened', () => {
  for (const pages of harmless.values()) {
    expect(pages.size).toBe(61);
    for (const [name, page] of pages)
      expect([name, page.text.startsWith('<!doctype html>')]).toEqual([name, true]);
  }
});

describe.each(HOSTILE)('a name like %j', (text) => {
  test('no page takes a hostile name for markup', async () => {
    // Each language with every other name: both take what users chose the same way.
    const language = LANGUAGES[HOSTILE.indexOf(text) % LANGUAGES.length] ?? '';
    const pages = await openPagesOf(text, language);
    expect(pages.size).toBe(61);
    for (const [name, page] of pages) {
      const same = harmless.get(language)?.get(name);
      expect([name, page.status]).toEqual([name, same?.status ?? 0]);
      expect([name, outlineOf(page)]).toEqual([name, same ? outlineOf(same) : []]);
      expect([name, listExecutable(page)]).toEqual([name, []]);
      if (!SILENT.test(name)) expect([name, unescapeHtml(page.text).includes(text)]).toEqual([name, true]);
    }
  });
});

test('only our own guides go into a page unescaped', async () => {
  const files: string[] = [];
  for (const file of new Glob('api/**/*.{ts,tsx}').scanSync('.')) {
    if (/dangerouslySetInnerHTML|'hono\/html'/.test(await Bun.file(file).text())) files.push(file);
  }
  expect(files.sort()).toEqual(['api/web/guide/page.tsx', 'api/web/moderation/guide-page.tsx']);
});

/** What people read or hear of a page, in text and attributes; not programs, nor the links to other languages. */
function readableTexts(html: string): string[] {
  const page = html
    .replace(/<(code|pre|script|style)\b.*?<\/\1>/gs, ' ')
    .replace(/<a [^>]*hreflang=.*?<\/a>/gs, ' ')
    .replace(/<wbr\s*\/?>/g, '')
    .replaceAll('&quot;', '"');
  const attributes = page.matchAll(
    / (?:title|aria-label|placeholder|alt|data-(?:copied|failed|label|lost|marker-label|play|refused-by-proxy|stop|too-large|uploading))="([^"]*)"/g,
  );
  const previews = page.matchAll(
    /<meta (?:name="description"|property="og:(?:title|description)") content="([^"]*)"/g,
  );
  return [page.replace(/<[^>]*>/g, ' '), ...[...attributes, ...previews].map(([, value = '']) => value)];
}

/** The site, the version, the time zone, the end of a token, a webhook's name, and programming languages. */
const NAMES =
  /^(?:Zagrywka|[\d.]+-dev|\(?UTC\)?|curl|PHP|TypeScript|HTML|\(….{4}\)|https:\/\/hooks\S+|penalty\.created)$/;

/** The words in Latin letters of a page. */
function findForeignWords(html: string): string[] {
  const words = readableTexts(html).flatMap((text) => text.match(/[^\s"⟦⟧]*[a-z][^\s"⟦⟧]*/gi) ?? []);
  return [...new Set(words.filter((word) => !NAMES.test(word)))];
}

test('a new language is its entry and its texts: no page shows a word of another', async () => {
  using _ = speakPseudoLanguage();
  const { db, requestDb } = await createTestDatabase({ max: 3 });
  const text = 'Ωμέγα';
  await seedEveryPage(db, text);
  const pages = await openEveryPage(requestDb, text, { language: PSEUDO });
  expect(pages.filter(({ page }) => page.status >= 500)).toEqual([]);
  for (const { name, page } of pages) {
    expect(page.text).toContain(`<html lang="${PSEUDO}">`);
    expect([name, findForeignWords(page.text)]).toEqual([name, []]);
  }
});

test('the guide comes in a new language too, and links to the other languages', async () => {
  using _ = speakPseudoLanguage();
  const { url } = await createTestDatabase({ max: 3 });
  const env = { SITE_NAME: 'Zagrywka', PUBLIC_URL: 'https://hooks.example.org' };
  const service = await startTestService({ databaseUrl: url, env });
  const { text: html } = await service.ask(`/swagger/${PSEUDO}`);
  expect(html).toMatch(/<a [^>]*href="\/swagger" lang="en"[^>]*>English</);
  expect(html).toMatch(/<a [^>]*href="\/swagger\/pl" lang="pl"[^>]*>Polski</);
  expect(findForeignWords(html)).toEqual([]);
});
