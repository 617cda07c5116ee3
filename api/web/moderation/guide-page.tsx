import { readFileSync } from 'node:fs';
import { raw } from 'hono/html';
import type { Language } from '../../../src/domain/language.ts';
import { textsOf } from '../locales/texts.ts';
import { Frame, type Handler } from './frame.tsx';

/** The pages of docs/ for moderators, by language. */
export const MODERATOR_GUIDES: Record<Language, string> = {
  en: readGuide('moderation.md'),
  pl: readGuide('moderation.pl.md'),
};

/**
 * The page for moderators, as docs/ has it, without pictures and links to other pages of docs/, and with the number of days in
 * place of the setting's name; its last section is about appeals.
 */
export const showGuide: Handler = async ({ site, appeals }, visit) => {
  const guide = MODERATOR_GUIDES[visit.language];
  const { againAfter } = textsOf(visit.language).appeals;
  const shown = appeals
    ? guide.replace(againAfter('`APPEAL_AGAIN_DAYS`'), againAfter(appeals.againDays))
    : guide.slice(0, guide.lastIndexOf('\n## '));
  const html = Bun.markdown
    .html(shown.replace(/^!\[.*\n/gm, ''))
    .replace(/<a href="[\w-]+\.md[^"]*">(.*?)<\/a>/gs, '$1')
    // Below the heading of the moderation pages.
    .replace(/<(\/?)h([12])>/g, (_, slash: string, level: string) => `<${slash}h${Number(level) + 1}>`);
  return (
    <Frame site={site} visit={visit} tab="guide">
      <article class="card prose" aria-label={textsOf(visit.language).moderation.tabs.guide}>
        {raw(html)}
      </article>
    </Frame>
  );
};

function readGuide(name: string): string {
  return readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
}
