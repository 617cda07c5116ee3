import type { ClientKey } from '../http/client-address.ts';
import type { Incoming } from '../http/route-definition.ts';
import { textsOf } from './locales/texts.ts';
import type { PagesDeps } from './pages-deps.ts';
import { withDestination } from './request/destination.ts';
import { CSRF_FIELD, requireCsrfToken } from './request/forms/form.ts';
import type { Redirect } from './request/notice.ts';
import { PageError } from './request/page-error.ts';
import { respondWithPage } from './request/page-response.ts';
import type { UserRoute } from './request/user-route.ts';
import { identifyVisitor, requireUser, type Visit, type VisitDeps, wantsJson } from './request/visit.ts';
import { enforceLimit, type Respond } from './responder.ts';

type UserDeps = {
  visits: VisitDeps;
  respond: Respond;
  redirect: Redirect;
  limits: Pick<PagesDeps['limits'], 'attempts' | 'forms'>;
  clientKey: ClientKey;
};

/** Responds with a page of the account or of moderation, which a visitor has to be signed in for. */
type RespondToUser = (
  incoming: Incoming,
  route: UserRoute,
  params: Record<string, string>,
) => Promise<Response>;

/** Creates the function that checks session, limits and form before a user's route, and shows a form again. */
export function createUserResponse({
  visits,
  respond,
  redirect,
  limits,
  clientKey,
}: UserDeps): RespondToUser {
  return (incoming, route, params) => {
    const isPost = route.method === 'POST';
    const readsForm = isPost && !route.readsBody;
    const show = async (visit: Visit) => {
      const isSignedOut = !visit.blockedUser && !visit.session;
      if (isSignedOut && route.signedOutNotice) return redirect(visit, '/account', route.signedOutNotice);
      if (!isPost && isSignedOut) {
        const next = visits.readDestination(visit.url.pathname + visit.url.search);
        return redirect(visit, withDestination('/account', next), 'sign-in-first');
      }
      const userVisit = requireUser(visit);
      const identifyAgain = async () => {
        await identifyVisitor(visits, visit);
        return requireUser(visit);
      };
      if (route.isAttempt) await enforceLimit(limits.attempts, clientKey(incoming));
      if (isPost || route.isLimited) await enforceLimit(limits.forms, `user ${userVisit.user.id}`);
      if (readsForm) {
        userVisit.form = await visit.readFields();
        requireCsrfToken(visits.signer, userVisit.session, visit.request, userVisit.form.get(CSRF_FIELD));
      }
      try {
        return await route.handle(userVisit, params, identifyAgain);
      } catch (error) {
        const isShownAgain = error instanceof PageError && error.isCorrectable && !wantsJson(visit.request);
        if (!route.showAgain || !isShownAgain) throw error;
        userVisit.problem = error.toMessage(textsOf(visit.language));
        return respondWithPage(await route.showAgain(userVisit, params), error.status);
      }
    };
    return respond(incoming, show, { readsForm });
  };
}
