import { expect, test } from 'bun:test';
import { createTestDatabase } from '../../support/database/database.ts';
import { addPseudoLanguage, PSEUDO } from '../../support/languages/pseudo-language.ts';
import { startTestService } from '../../support/service/service.ts';
import { openEveryPage, seedEveryPage } from '../../support/web/every-page.ts';

addPseudoLanguage();
const { db, url } = await createTestDatabase();

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

/** The site, the time zone, the end of a token, what a webhook is called, and programming languages. */
const NAMES =
  /^(?:Zagrywka|\(?UTC\)?|curl|PHP|TypeScript|HTML|\(….{4}\)|https:\/\/hooks\S+|penalty\.created)$/;

/** The words in Latin letters of a page. */
function findForeignWords(html: string): string[] {
  const words = readableTexts(html).flatMap((text) => text.match(/[^\s"⟦⟧]*[a-z][^\s"⟦⟧]*/gi) ?? []);
  return [...new Set(words.filter((word) => !NAMES.test(word)))];
}

test('a new language is its entry and its texts: no page shows a word of another', async () => {
  const text = 'Ωμέγα';
  await seedEveryPage(db, text);
  const pages = await openEveryPage(db, text, { language: PSEUDO });
  expect(pages.filter(({ page }) => page.status >= 500)).toEqual([]);
  for (const { name, page } of pages) {
    expect(page.text).toContain(`<html lang="${PSEUDO}">`);
    expect([name, findForeignWords(page.text)]).toEqual([name, []]);
  }
});

test('the guide comes in it too, and links to the other languages', async () => {
  const env = { SITE_NAME: 'Zagrywka', PUBLIC_URL: 'https://hooks.example.org' };
  const service = await startTestService({ databaseUrl: url, env });
  const { text: html } = await service.ask(`/swagger/${PSEUDO}`);
  expect(html).toMatch(/<a [^>]*href="\/swagger" lang="en"[^>]*>English</);
  expect(html).toMatch(/<a [^>]*href="\/swagger\/pl" lang="pl"[^>]*>Polski</);
  expect(findForeignWords(html)).toEqual([]);
});
