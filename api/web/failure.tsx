import { randomUUID } from 'node:crypto';
import { isDatabaseOutage } from '../../src/db/client.ts';
import { Blocked, Forbidden, InvalidInput, NotFound, Unavailable } from '../../src/domain/errors.ts';
import { ErrorPage, type FailureKind } from './layout/error-page.tsx';
import type { Site } from './layout/layout.tsx';
import { textsOf } from './layout/locales/texts.ts';
import { withDestination } from './visit/destination.ts';
import { PageError } from './visit/page-error.ts';
import { respondWithPage } from './visit/page-response.ts';
import { type Visit, wantsJson } from './visit/visit.ts';

/** By status. */
const KINDS: Record<number, FailureKind> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'notFound',
  429: 'tooMany',
  503: 'unavailable',
};

type FailureDeps = { site: Site; log: { error: (fields: object, message: string) => void } };

/** Responds to what a handler threw: with a page in the language of the visit, or JSON where a script of ours asks. */
export async function respondWithFailure(
  { site, log }: FailureDeps,
  visit: Visit,
  error: unknown,
): Promise<Response> {
  const failure = toPageError(error);
  const errorId = failure.status === 500 ? randomUUID().slice(0, 8) : undefined;
  if (errorId) log.error({ err: error, errorId }, 'a request to the account page failed');
  // A full disk, say. Outages of the database are logged by the probe.
  if (error instanceof Unavailable)
    log.error({ err: error }, 'a request to the account page could not be served');
  const message = failure.tell(textsOf(visit.locale));
  const response = wantsJson(visit.request)
    ? Response.json({ success: false, message }, { status: failure.status })
    : await respondWithPage(
        <ErrorPage
          site={site}
          visit={visit}
          kind={KINDS[failure.status] ?? 'failed'}
          message={message}
          errorId={errorId}
          retryPath={retryPathOf(visit, failure)}
        />,
        failure.status,
      );
  if (failure.status === 429) response.headers.set('retry-after', String(failure.limit));
  if (failure.status === 503) response.headers.set('retry-after', '30');
  return response;
}

/** Where "Try again" leads: to the page itself where it is public, and after a 503; else to a new sign-in. */
function retryPathOf({ request, url, session, next }: Visit, { status }: PageError): string | undefined {
  if (!url.pathname.startsWith('/account')) {
    return request.method === 'GET' && status !== 404 ? `${url.pathname}${url.search}` : undefined;
  }
  const isSignIn = url.pathname.startsWith('/account/sign-in');
  if (status === 503 && !isSignIn) {
    // A form must not be sent again without a click, and a return from Discord is good once.
    const isRepeatable = request.method === 'GET' && !url.pathname.endsWith('/return');
    return isRepeatable ? `${url.pathname}${url.search}` : undefined;
  }
  return !session && status !== 404 ? withDestination('/account/sign-in', next) : undefined;
}

/** The failure as visitors read of it; an unknown error is an internal one. */
function toPageError(error: unknown): PageError {
  if (error instanceof PageError) return error;
  if (error instanceof InvalidInput) return new PageError('invalid-input', 400, { cause: error });
  if (error instanceof Blocked) {
    return new PageError('blocked', 403, { reason: error.reason, cause: error });
  }
  if (error instanceof Forbidden) return new PageError('forbidden', 403, { cause: error });
  if (error instanceof NotFound) return new PageError('not-found', 404, { cause: error });
  if (error instanceof Unavailable || isDatabaseOutage(error)) {
    return new PageError('unavailable', 503, { cause: error });
  }
  return new PageError('internal', 500, { cause: error });
}
