import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { LANGUAGES } from '../../../src/domain/language.ts';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';
import type { AssetName, Assets } from './assets.ts';
import { Bar, type Community } from './bar.tsx';
import { NoticeLine } from './card.tsx';

/** What is the same on all pages. */
export type Site = Community & {
  assets: Assets;
  /** `PUBLIC_URL` */
  publicUrl: string;
};

type LayoutProps = {
  site: Site;
  visit: Visit;
  /** Empty: only the name of the site. */
  title: string;
  /** The link preview of this page; pages without one are not indexed by search engines either. */
  preview?: Preview | undefined;
  /** Scripts of this page, which run before pages.js. */
  scripts?: readonly AssetName[];
  /** After how many seconds a browser without scripts reloads the page. */
  refreshSeconds?: number | undefined;
  /** The target of a skip link at the top of the page. */
  skipTo?: { id: string; label: string } | undefined;
  /** Ids of the cards that show their own notices; all other notices are shown at the top of the page. */
  cards?: readonly string[];
  children?: Child;
};

type Preview = {
  description: string;
  /** A path on this site, with the leading `/`. */
  imagePath?: string;
};

/** The layout of every page: head, navigation bar, notice, content and footer. */
export function Layout(props: LayoutProps): JSX.Element {
  const { site, visit, title, preview, scripts = [], refreshSeconds, cards = [], skipTo, children } = props;
  const t = textsOf(visit.language).shell;
  const fullTitle = title === '' ? site.name : `${title} · ${site.name}`;
  const logo = site.logo.url();
  const { intl, months } = LANGUAGES[visit.language];
  return (
    <html lang={visit.language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="dark light" />
        <title>{fullTitle}</title>
        {preview ? (
          <PreviewTags site={site} visit={visit} title={fullTitle} preview={preview} />
        ) : (
          <meta name="robots" content="noindex" />
        )}
        {logo === undefined ? (
          <link rel="icon" type="image/svg+xml" href={site.assets.url('favicon.svg')} />
        ) : (
          <link rel="icon" href={logo} />
        )}
        <link rel="stylesheet" href={site.assets.url('pages.css')} />
        {([...scripts, 'pages.js'] as const).map((name) => (
          <script type="module" src={site.assets.url(name)}></script>
        ))}
        {refreshSeconds !== undefined && (
          <noscript>
            <meta http-equiv="refresh" content={String(refreshSeconds)} />
          </noscript>
        )}
      </head>
      <body data-intl={intl} data-months={months} data-copied={t.copied}>
        {skipTo && (
          <a class="skip" href={`#${skipTo.id}`}>
            {skipTo.label}
          </a>
        )}
        <a class="skip" href="#content">
          {t.skipToContent}
        </a>
        <Bar site={site} visit={visit} />
        <main id="content" class="page">
          {visit.notice && !cards.includes(visit.notice.card ?? '') && <NoticeLine notice={visit.notice} />}
          {children}
        </main>
        <footer class="foot">
          <p>{t.footer}</p>
        </footer>
      </body>
    </html>
  );
}

type PreviewProps = { site: Site; visit: Visit; title: string; preview: Preview };

/** @see https://ogp.me */
function PreviewTags({ site, visit, title, preview }: PreviewProps): JSX.Element {
  const { description, imagePath } = preview;
  return (
    <>
      <meta name="description" content={description} />
      <meta property="og:type" content="website" />
      <meta property="og:site_name" content={site.name} />
      <meta property="og:title" content={title} />
      <meta property="og:description" content={description} />
      <meta property="og:url" content={site.publicUrl + visit.url.pathname} />
      <meta property="og:language" content={LANGUAGES[visit.language].openGraph} />
      {imagePath !== undefined && <meta property="og:image" content={site.publicUrl + imagePath} />}
    </>
  );
}
