import type { JSX } from 'hono/jsx/jsx-runtime';
import { databaseTroubleOf } from '../../src/db/client.ts';
import { Blocked, Forbidden, InvalidInput, NotFound, Unavailable } from '../../src/domain/errors.ts';
import type { LogTrouble } from '../http/error-handler.ts';
import { requestIdOf } from '../http/request-id.ts';
import { Layout, type Site } from './layout/layout.tsx';
import type { Texts } from './locales/en.ts';
import { textsOf } from './locales/texts.ts';
import { placeOfForm, withDestination } from './request/destination.ts';
import { PageError } from './request/page-error.ts';
import { respondWithPage } from './request/page-response.ts';
import { isRead, type Visit, wantsJson } from './request/visit.ts';
import { findUnsent, type Unsent, UnsentText } from './unsent-text.tsx';

type FailureKind = keyof Texts['errors']['titles'];

/** The heading of the error page by HTTP status. */
const KINDS: Record<number, FailureKind> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'notFound',
  429: 'tooMany',
  503: 'unavailable',
};

type FailureDeps = {
  site: Site;
  log: { error: (fields: object, message: string) => void };
  logTrouble: LogTrouble;
};

/** Responds to an error from a handler: with a page in the visitor's language, or with JSON to our own scripts. */
export async function respondWithFailure(
  { site, log, logTrouble }: FailureDeps,
  visit: Visit,
  error: unknown,
): Promise<Response> {
  if (visit.request.signal.aborted) return new Response(null, { status: 499 });
  const failure = toPageError(error);
  const { status } = failure;
  const requestId = requestIdOf(visit.request);
  if (status === 500) log.error({ err: error, requestId }, 'a request for a page failed');
  logTrouble(error, visit.request);
  // For example a full disk.
  if (error instanceof Unavailable)
    log.error({ err: error, requestId }, 'a request for a page could not be served');
  const response = wantsJson(visit.request)
    ? Response.json({ success: false, message: failure.toMessage(textsOf(visit.language)) }, { status })
    : await respondWithPage(
        <ErrorPage site={site} visit={visit} failure={failure} unsent={await findUnsent(visit, failure)} />,
        status,
      );
  if (status === 429) response.headers.set('retry-after', String(failure.limit));
  if (status === 503) response.headers.set('retry-after', failure.key === 'busy' ? '2' : '30');
  return response;
}

type ErrorPageProps = { site: Site; visit: Visit; failure: PageError; unsent: Unsent | undefined };

/** An error message, with links to try again, and to the form or the home page. */
function ErrorPage({ site, visit, failure, unsent }: ErrorPageProps): JSX.Element {
  const texts = textsOf(visit.language);
  const t = texts.errors;
  const title = t.titles[kindOf(visit, failure)];
  const requestId = failure.status === 500 ? requestIdOf(visit.request) : undefined;
  const retryPath = retryPathOf(visit, failure);
  const formPath = formPathOf(visit, failure);
  const leadsToAccount = failure.key !== 'blocked' && visit.url.pathname.startsWith('/account');
  const home = leadsToAccount
    ? { href: '/account', text: t.home }
    : { href: '/', text: texts.penalties.allServers };
  const back = formPath !== undefined ? { href: formPath, text: t.toForm } : home;
  return (
    <Layout site={site} visit={visit} title={title}>
      <section class="card narrow" aria-labelledby="error">
        <h1 id="error">{title}</h1>
        <p role="alert">{failure.toMessage(texts)}</p>
        {requestId && <p class="hint">{t.requestId(requestId)}</p>}
        {unsent && <UnsentText unsent={unsent} visit={visit} />}
        <p class="row">
          {retryPath !== undefined && (
            <a class="button button-primary" href={retryPath} target={unsent && '_blank'}>
              {t.retry}
            </a>
          )}
          <a class="button button-quiet" href={back.href}>
            {back.text}
          </a>
        </p>
      </section>
    </Layout>
  );
}

function kindOf(visit: Visit, { key, status, isCorrectable }: PageError): FailureKind {
  if (key === 'no-server') return 'noServer';
  if (status === 405) return isRead(visit.request) ? 'notFound' : 'failed';
  const isAboutForm = !isRead(visit.request) && isCorrectable;
  return KINDS[status] ?? (isAboutForm ? 'form' : 'failed');
}

/**
 * The page of the form that was sent, or whose address was opened like a page. Undefined when an ordinary page failed, and
 * for a visitor who cannot open the form.
 */
function formPathOf({ request, url, session }: Visit, { status }: PageError): string | undefined {
  const isPage = isRead(request) && status !== 405;
  return isPage || !session ? undefined : placeOfForm(url.pathname);
}

/**
 * The target of "Try again": the same page if it is public or failed with 503, otherwise a new sign-in. Undefined where a
 * new attempt would fail too, as it would for blocked users: the account page and the sign-in show them the same error.
 */
function retryPathOf({ request, url, session, next }: Visit, { key, status }: PageError): string | undefined {
  if (key === 'blocked' || status === 404 || status === 405) return undefined;
  if (!url.pathname.startsWith('/account')) {
    return isRead(request) ? `${url.pathname}${url.search}` : undefined;
  }
  const isSignIn = url.pathname.startsWith('/account/sign-in');
  if (status === 503 && !isSignIn) {
    // Only a GET can be retried by a link, and the callback from Discord is valid only once.
    const isRepeatable = isRead(request) && !url.pathname.endsWith('/return');
    return isRepeatable ? `${url.pathname}${url.search}` : undefined;
  }
  return !session ? withDestination('/account/sign-in', next) : undefined;
}

/** Maps an error to the one shown to visitors; unknown errors become `internal`. */
function toPageError(error: unknown): PageError {
  if (error instanceof PageError) return error;
  if (error instanceof InvalidInput) return new PageError('invalid-input', 400);
  if (error instanceof Blocked) return new PageError('blocked', 403, { reason: error.reason });
  if (error instanceof Forbidden) return new PageError('forbidden', 403);
  if (error instanceof NotFound) return new PageError('not-found', 404);
  if (databaseTroubleOf(error) === 'busy') return new PageError('busy', 503);
  if (error instanceof Unavailable || databaseTroubleOf(error)) return new PageError('unavailable', 503);
  return new PageError('internal', 500);
}
