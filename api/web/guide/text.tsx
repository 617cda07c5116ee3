import { readFileSync } from 'node:fs';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Language } from '../../../src/domain/language.ts';
import type { Policy } from '../../http/responses.ts';

/** Facts about this installation that the guide mentions, as `{publicUrl}`, `{publicLimit}` and so on. */
export type GuideFacts = { publicUrl: string; version: string; limits: Record<Policy, number> };

/**
 * The guide by language, in Markdown: a title, an introduction, and sections `## Title {#id}`, of which the last one is the
 * heading of the reference. `{samples: first}` stands for the samples whose ids start with `first-`.
 */
export const GUIDES: Record<Language, string> = { en: readHere('en.md'), pl: readHere('pl.md') };

/** Cuts a guide into its title, introduction, sections, and the heading of the reference. */
export function parseGuide(markdown: string) {
  const [intro = '', ...parts] = markdown.split(/^## (.+) \{#(.+)\}$/m);
  const [, title = '', lead = ''] = /^# (.+?)\n\s*(.+)/s.exec(intro.trimEnd()) ?? [];
  const sections = parts.flatMap((id, index) =>
    index % 3 === 1 ? [{ id, title: parts[index - 1] ?? '', text: parts[index + 1] ?? '' }] : [],
  );
  const reference = sections.pop()?.title ?? '';
  return { title, lead, sections, reference };
}

/** Renders a section to HTML, with facts and samples in place of their placeholders. */
export function renderText(
  text: string,
  { version, limits }: GuideFacts,
  samples: readonly Sample[],
): string {
  return Bun.markdown
    .html(text)
    .replaceAll('<th>', '<th scope="col">')
    .replace(/<tr><td>(.*?)<\/td>/g, '<tr><th scope="row">$1</th>')
    .replaceAll('{version}', Bun.escapeHTML(version))
    .replaceAll('{publicLimit}', String(limits.public))
    .replaceAll('{protectedLimit}', String(limits.protected))
    .replace(/<p>\{samples: (.+)\}<\/p>/g, (_, group) =>
      samples
        .filter(({ id }) => id.startsWith(`${group}-`))
        .map((sample) => <SampleFigure {...sample} />)
        .join(''),
    );
}

/** A program that runs as pasted, against this installation. */
export type Sample = { id: string; language: string; code: string };

const SAMPLE_LANGUAGES: Record<string, string> = { sh: 'curl', php: 'PHP', ts: 'TypeScript', html: 'HTML' };

/** The samples of the guide: the blocks of `samples.md`, each with its language and id in the first line. */
export function listSamples(publicUrl: string): Sample[] {
  const blocks = readHere('samples.md').matchAll(/^```(\w+) (\S+)\n(.*?)\n```$/gms);
  return [...blocks].map(([, language = '', id = '', code = '']) => ({
    id,
    language: SAMPLE_LANGUAGES[language] ?? language,
    code: code.replaceAll('{publicUrl}', publicUrl),
  }));
}

function SampleFigure({ id, language, code }: Sample): JSX.Element {
  return (
    <figure>
      <figcaption>{language}</figcaption>
      {/* Focusable, so that it can be scrolled by keyboard. */}
      <pre id={id} tabindex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}

function readHere(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
