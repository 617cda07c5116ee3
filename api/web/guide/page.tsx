import { Elysia } from 'elysia';
import { raw } from 'hono/html';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { type Language, listLanguages } from '../../../src/domain/language.ts';
import { type EncodedBody, encodeBody, respondEncoded } from '../../http/encoding.ts';
import { guidePathOf, LanguageLink, PlainBar } from '../layout/bar.tsx';
import type { Site } from '../layout/layout.tsx';
import { textsOf } from '../locales/texts.ts';
import type { SecureResponse } from '../security-headers.ts';
import { respondAsset } from './assets.ts';
import { GUIDES, type GuideFacts, listSamples, parseGuide, renderText } from './text.tsx';

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
        <PlainBar site={site} language={language} pathname={guidePathOf(language)}>
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
