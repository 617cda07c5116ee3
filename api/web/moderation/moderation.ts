import { Forbidden } from '../../../src/domain/errors.ts';
import { isAdministrator, mayReadRecords } from '../../../src/domain/rights/administrator.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { UserRoute } from '../request/user-route.ts';
import { showAdmins } from './admins-page.tsx';
import { appealNotes, handleAppeal, liftOfAppeal, showAppeal } from './appeal-page.tsx';
import { showAppeals } from './appeal-queue.tsx';
import { showAudit } from './audit-page.tsx';
import { type Handler, type ModerationDeps, pathOfTab, type Show } from './frame.tsx';
import { showGuide } from './guide-page.tsx';
import { liftPenalty } from './lifts.tsx';
import { showPenalties, showPenalty } from './penalties.tsx';
import { removeSound, showSounds } from './round-sounds-page.tsx';
import { penaltyNotes, playerNotes } from './staff-notes.tsx';
import { showPlayer } from './user-page.tsx';
import { block, revokeToken, saveFlags, unblock } from './user-rights.tsx';
import { showUsers } from './users-page.tsx';
import { addWebhook, enable, remove, resend, sendTest, showWebhook, showWebhooks } from './webhooks.tsx';

/** A route below `/account/moderation`. `showAgain` shows the form again when the POST refuses what was entered. */
type Route = [method: 'GET' | 'POST', path: string, handle: Handler, showAgain?: Show];

const USER = '/users/:steamid64';

/** The start, penalties, admins and players' records. */
const OF_MODERATORS: readonly Route[] = [
  ['GET', '', showStart],
  ['GET', '/penalties', showPenalties],
  ['GET', '/penalties/:id', showPenalty],
  ['POST', '/penalties/:id/lift', liftPenalty, showPenalty],
  ['GET', '/admins', showAdmins],
  ['GET', '/guide', showGuide],
  ['GET', USER, showPlayer],
  ['POST', `${USER}/notes`, playerNotes.add, showPlayer],
  ['POST', `${USER}/notes/:note/delete`, playerNotes.remove],
];

/** For moderators, while appeals are switched on. */
const OF_APPEALS: readonly Route[] = [
  ['GET', '/appeals', showAppeals],
  ['GET', '/appeals/:id', showAppeal],
  ['POST', '/appeals/:id', handleAppeal, showAppeal],
  ['POST', '/appeals/:id/lift', liftOfAppeal, showAppeal],
  ['POST', '/appeals/:id/notes', appealNotes.add, showAppeal],
  ['POST', '/appeals/:id/notes/:note/delete', appealNotes.remove],
  ['POST', '/penalties/:id/notes', penaltyNotes.add, showPenalty],
  ['POST', '/penalties/:id/notes/:note/delete', penaltyNotes.remove],
];

/** Users with their tokens and flags, sounds, webhooks, and the audit log. */
const OF_ADMINISTRATORS: readonly Route[] = [
  ['POST', `${USER}/tokens/:id/revoke`, revokeToken],
  ['POST', `${USER}/flags`, saveFlags],
  ['POST', `${USER}/block`, block, showPlayer],
  ['POST', `${USER}/unblock`, unblock],
  ['GET', '/sounds', showSounds],
  ['POST', '/sounds/:steamid64/delete', removeSound],
  ['POST', `${USER}/sound/delete`, removeSound],
  ['GET', '/webhooks', showWebhooks],
  ['POST', '/webhooks', addWebhook, showWebhooks],
  ['GET', '/webhooks/:id', showWebhook],
  ['POST', '/webhooks/:id/test', sendTest],
  ['POST', '/webhooks/:id/resend', resend],
  ['POST', '/webhooks/:id/enable', enable],
  ['POST', '/webhooks/:id/remove', remove],
  ['GET', '/audit', showAudit],
];

/** The list of users for administrators; moderators, who have none, are led to the penalties. */
async function showStart(...request: Parameters<Handler>): ReturnType<Handler> {
  const [{ redirect }, visit] = request;
  return isAdministrator(visit.user) ? showUsers(...request) : redirect(visit, pathOfTab('penalties'));
}

/** The routes of moderation; for anyone without the right their handlers throw {@link Forbidden}. */
export function moderationRoutes(deps: ModerationDeps): UserRoute[] {
  const restrict = (isAllowed: typeof mayReadRecords, routes: readonly Route[]) =>
    routes.map(
      ([method, path, handle, showAgain]): UserRoute => ({
        method,
        path: `/moderation${path}`,
        handle: async (visit, params) => {
          if (!isAllowed(visit.user)) throw new Forbidden('this page is for moderators or administrators');
          const result = await handle(deps, visit, params);
          return result instanceof Response ? result : respondWithPage(result);
        },
        ...(showAgain && { showAgain: (visit, params) => showAgain(deps, visit, params) }),
      }),
    );
  return [
    ...restrict(mayReadRecords, [...OF_MODERATORS, ...(deps.appeals ? OF_APPEALS : [])]),
    ...restrict(isAdministrator, OF_ADMINISTRATORS),
  ];
}
