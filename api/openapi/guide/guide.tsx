import type { JSX } from 'hono/jsx/jsx-runtime';
import { DEFAULT_LANGUAGE, LANGUAGES, type Language, listLanguages } from '../../../src/domain/language.ts';
import { GUIDE_EN } from './en.tsx';
import type { Guide, GuideFacts } from './parts.tsx';
import { GUIDE_PL } from './pl.tsx';

/** The guide by language. */
export const GUIDES: Record<Language, Guide> = { en: GUIDE_EN, pl: GUIDE_PL };

/** Where the guide is shown in a language. */
export function guidePathOf(language: Language): string {
  return language === DEFAULT_LANGUAGE ? '/swagger' : `/swagger/${language}`;
}

/** The page: the guide, and below it the element that Swagger UI renders the reference into, with its own `<main>`. */
export function GuidePage({ language, facts }: { language: Language; facts: GuideFacts }): JSX.Element {
  const guide = GUIDES[language];
  const others = listLanguages().filter((other) => other !== language);
  return (
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{guide.title}</title>
        <link rel="stylesheet" href="/swagger/assets/swagger-ui.css" />
        <link rel="stylesheet" href="/swagger/assets/guide.css" />
        <link rel="icon" href="/swagger/assets/favicon-32x32.png" />
        <script src="/swagger/assets/dark.js"></script>
      </head>
      <body>
        <section class="guide" aria-label={guide.title}>
          <header>
            <h1>{guide.title}</h1>
            <p class="lead">{guide.lead}</p>
            <p>
              <a href="#reference">{guide.reference}</a>
              {others.map((other) => (
                <>
                  {' · '}
                  <a href={guidePathOf(other)} lang={other}>
                    {LANGUAGES[other].name}
                  </a>
                </>
              ))}
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
        <script src="/swagger/assets/swagger-ui-bundle.js"></script>
        <script src="/swagger/assets/start.js"></script>
      </body>
    </html>
  );
}
