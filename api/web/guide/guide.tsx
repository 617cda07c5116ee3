import type { JSX } from 'hono/jsx/jsx-runtime';
import { type Language, listLanguages } from '../../../src/domain/language.ts';
import { guidePathOf, LanguageLink, PlainBar } from '../layout/bar.tsx';
import type { Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { GUIDE_EN } from './en.tsx';
import type { Guide, GuideFacts } from './parts.tsx';
import { GUIDE_PL } from './pl.tsx';

/** The guide by language. */
export const GUIDES: Record<Language, Guide> = { en: GUIDE_EN, pl: GUIDE_PL };

type GuideProps = { site: Site; language: Language; facts: GuideFacts };

/**
 * The page: the guide, and below it the element that Swagger UI renders the reference into, with its own `<main>`. It is the
 * same for everybody, so its bar leads to the account page instead of saying who is signed in.
 */
export function GuidePage({ site, language, facts }: GuideProps): JSX.Element {
  const guide = GUIDES[language];
  const t = textsOf(language).shell;
  const others = listLanguages().filter((other) => other !== language);
  // In a layer, since the rules of Swagger UI, which come without one, must win.
  const siteStyles = `@import url(${site.assets.url('pages.css')}) layer(site);`;
  return (
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="dark light" />
        <title>{`${guide.title} · ${site.name}`}</title>
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
        <section class="guide" aria-label={guide.title}>
          <header>
            <h1>{guide.title}</h1>
            <p class="lead">{guide.lead}</p>
            <p>
              <a href="#reference">{guide.reference}</a>
            </p>
            <nav aria-label={guide.contents}>
              <ol>
                {guide.sections.map(({ id, title }) => (
                  <li>
                    <a href={`#${id}`}>{title}</a>
                  </li>
                ))}
              </ol>
            </nav>
          </header>
          {guide.sections.map(({ id, title, body }) => (
            <section id={id} aria-labelledby={`${id}-title`}>
              <h2 id={`${id}-title`}>{title}</h2>
              {body(facts)}
            </section>
          ))}
          <h2 id="reference">{guide.reference}</h2>
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
