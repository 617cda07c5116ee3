import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Elysia } from 'elysia';
import { raw } from 'hono/html';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { type Language, listLanguages } from '../../../src/domain/language.ts';
import { type EncodedBody, encodeBody, respondEncoded } from '../../http/encoding.ts';
import type { Policy } from '../../http/responses.ts';
import { guidePathOf, LanguageLink, PlainBar } from '../layout/bar.tsx';
import type { Site } from '../layout/layout.tsx';
import { textsOf } from '../locales/texts.ts';
import type { SecureResponse } from '../security-headers.ts';

/** Facts about this installation that the guide mentions, as `{publicUrl}`, `{publicLimit}` and so on. */
type GuideFacts = { publicUrl: string; version: string; limits: Record<Policy, number> };

/**
 * The guide by language, in Markdown: a title, an introduction, and sections `## Title {#id}`, of which the last one is the
 * heading of the reference. `{samples: first}` stands for the samples whose ids start with `first-`.
 */
export const GUIDES: Record<Language, string> = { en: readHere('en.md'), pl: readHere('pl.md') };

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'public, max-age=300',
  // Swagger UI has inline styles and pictures in `data:` URLs.
  'Content-Security-Policy': [
    "default-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
};

/**
 * The page at `/swagger`, and `/swagger/pl` in Polish: a guide and the reference below it. Script and style come from
 * this service and from no other host.
 */
export function openApiPage(facts: GuideFacts, { site, secure }: { site: Site; secure: SecureResponse }) {
  const app = new Elysia().get('/swagger/assets/:file', ({ params, request }) =>
    secure(respondAsset(params.file, request)),
  );
  for (const language of listLanguages()) {
    // By the address of the logo, which may be loaded later.
    const pages = new Map<string | undefined, EncodedBody>();
    const respondPage = ({ request }: { request: Request }) => {
      const page = pages.getOrInsertComputed(site.logo.url(), () =>
        encodeBody(`<!doctype html>\n${GuidePage({ site, language, facts })}`),
      );
      return secure(respondEncoded(request, page, HEADERS));
    };
    app.get(guidePathOf(language), respondPage);
  }
  return app;
}

type GuideProps = { site: Site; language: Language; facts: GuideFacts };

/**
 * The guide, and below it the element that Swagger UI renders the reference into, with its own `<main>`. The page is the
 * same for everybody, so its bar leads to the account page instead of saying who is signed in.
 */
function GuidePage({ site, language, facts }: GuideProps): JSX.Element {
  const { title, lead, sections, reference } = parseGuide(GUIDES[language]);
  const t = textsOf(language).shell;
  const samples = listSamples(facts.publicUrl);
  const others = listLanguages().filter((other) => other !== language);
  // In a layer, since the rules of Swagger UI, which come without one, must win.
  const siteStyles = `@import url(${site.assets.url('pages.css')}) layer(site);`;
  return (
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="dark light" />
        <title>{`${title} · ${site.name}`}</title>
        <style>{siteStyles}</style>
        <link rel="stylesheet" href="/swagger/assets/swagger-ui.css" />
        <link rel="stylesheet" href="/swagger/assets/guide.css" />
        <link rel="icon" href={site.logo.url() ?? site.assets.url('favicon.svg')} />
        <script src="/swagger/assets/dark.js"></script>
      </head>
      <body>
        <PlainBar site={site} locale={language} pathname={guidePathOf(language)}>
          {others.map((other) => (
            <LanguageLink language={other} href={guidePathOf(other)} />
          ))}
          <a class="sign-in" href="/account">
            {t.nav.account}
          </a>
        </PlainBar>
        <section class="guide" aria-label={title}>
          <header>
            <h1>{title}</h1>
            <p class="lead">{lead}</p>
            <p>
              <a href="#reference">{reference}</a>
            </p>
            <nav aria-label={t.contents}>
              <ol>
                {sections.map(({ id, title }) => (
                  <li>
                    <a href={`#${id}`}>{title}</a>
                  </li>
                ))}
              </ol>
            </nav>
          </header>
          {sections.map(({ id, title, text }) => (
            <section id={id} aria-labelledby={`${id}-title`}>
              <h2 id={`${id}-title`}>{title}</h2>
              {raw(renderText(text, facts, samples))}
            </section>
          ))}
          <h2 id="reference">{reference}</h2>
        </section>
        <div id="swagger-ui"></div>
        <footer class="foot">
          <p>{t.footer}</p>
        </footer>
        <script src="/swagger/assets/swagger-ui-bundle.js"></script>
        <script src="/swagger/assets/start.js"></script>
      </body>
    </html>
  );
}

function parseGuide(markdown: string) {
  const [intro = '', ...parts] = markdown.split(/^## (.+) \{#(.+)\}$/m);
  const [, title = '', lead = ''] = /^# (.+?)\n\s*(.+)/s.exec(intro.trimEnd()) ?? [];
  const sections = parts.flatMap((id, index) =>
    index % 3 === 1 ? [{ id, title: parts[index - 1] ?? '', text: parts[index + 1] ?? '' }] : [],
  );
  const reference = sections.pop()?.title ?? '';
  return { title, lead, sections, reference };
}

function renderText(text: string, { version, limits }: GuideFacts, samples: readonly Sample[]): string {
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
const START_SCRIPT = `SwaggerUIBundle({ url: '/swagger/json', dom_id: '#swagger-ui', deepLinking: true, validatorUrl: null });\n`;
/** Swagger UI has a dark mode, but the page has to switch it on. */
const DARK_SCRIPT = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();\n`;

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

type Source = { type: string; read: () => string | Uint8Array<ArrayBuffer> };

const SOURCES = new Map<string, Source>([
  ['start.js', { type: JAVASCRIPT, read: () => START_SCRIPT }],
  ['dark.js', { type: JAVASCRIPT, read: () => DARK_SCRIPT }],
  ['guide.css', { type: CSS, read: () => readHere('guide.css') }],
  ['swagger-ui.css', { type: CSS, read: () => readFromPackage('swagger-ui.css') }],
  ['swagger-ui-bundle.js', { type: JAVASCRIPT, read: () => readFromPackage('swagger-ui-bundle.js') }],
]);

/** Encoded at the first request for each file: Swagger UI is 2 MB, and most processes never send it. */
const encoded = new Map<string, EncodedBody>();

/** Sends a file of the page. */
function respondAsset(name: string, request: Request): Response {
  const source = SOURCES.get(name);
  if (!source) return Response.json({ success: false, message: 'Not found' }, { status: 404 });
  const body = encoded.getOrInsertComputed(name, () => encodeBody(source.read()));
  return respondEncoded(request, body, {
    'Content-Type': source.type,
    'Cache-Control': 'public, max-age=3600',
  });
}

function readFromPackage(name: string): Uint8Array<ArrayBuffer> {
  return readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));
}

function readHere(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}
