import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Visit } from '../request/visit.ts';
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
  /** Identifies the request in the log. */
  requestId?: string | undefined;
  /** The target of "Try again"; undefined: no such link. */
  retryPath?: string | undefined;
  /** The page of the form that failed. */
  formPath?: string | undefined;
  /** Whether the last link leads to the account page, instead of the home page. */
  leadsToAccount?: boolean;
};

/** An error message, with links to try again, and to the form or the home page. */
export function ErrorPage({
  site,
  visit,
  kind,
  message,
  requestId,
  retryPath,
  formPath,
  leadsToAccount = false,
}: MessageProps): JSX.Element {
  const t = textsOf(visit.locale).errors;
  const home = formPath !== undefined ? { href: formPath, text: t.toForm } : homeOf(visit, leadsToAccount);
  return (
    <Layout site={site} visit={visit} title={t.titles[kind]}>
      <section class="card narrow" aria-labelledby="error">
        <h1 id="error">{t.titles[kind]}</h1>
        <p role="alert">{message}</p>
        {requestId && <p class="hint">{t.requestId(requestId)}</p>}
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

function homeOf(visit: Visit, leadsToAccount: boolean): { href: string; text: string } {
  const { errors, status } = textsOf(visit.locale);
  return leadsToAccount ? { href: '/account', text: errors.home } : { href: '/', text: status.allServers };
}
