import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Visit } from '../visit/visit.ts';
import { Layout, type Site } from './layout.tsx';
import type { Texts } from './locales/en.ts';
import { textsOf } from './locales/texts.ts';

/** Selects the heading. */
export type FailureKind = keyof Texts['errors']['titles'];

type MessageProps = {
  site: Site;
  visit: Visit;
  kind: FailureKind;
  message: string;
  /** Identifies the error in the log. */
  errorId?: string | undefined;
  /** The target of "Try again"; undefined: no such link. */
  retryPath?: string | undefined;
};

/** An error message, with links to try again and to the home page. */
export function ErrorPage({ site, visit, kind, message, errorId, retryPath }: MessageProps): JSX.Element {
  const { errors: t, status } = textsOf(visit.locale);
  const home = visit.url.pathname.startsWith('/account')
    ? { href: '/account', text: t.home }
    : { href: '/', text: status.allServers };
  return (
    <Layout site={site} visit={visit} title={t.titles[kind]}>
      <section class="card narrow" aria-labelledby="error">
        <h1 id="error">{t.titles[kind]}</h1>
        <p role="alert">{message}</p>
        {errorId && <p class="hint">{t.reference(errorId)}</p>}
        <p class="row">
          {retryPath !== undefined && (
            <a class="button button-primary" href={retryPath}>
              {t.retry}
            </a>
          )}
          <a class="button button-quiet" href={home.href}>
            {home.text}
          </a>
        </p>
      </section>
    </Layout>
  );
}
