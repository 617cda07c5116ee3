import { Forbidden } from '../../../src/domain/errors.ts';
import { isAdministrator, mayReadRecords } from '../../../src/domain/rights/administrator.ts';
import type { User } from '../../../src/queries/users/users.ts';
import type { MemberRoute } from '../request/member-route.ts';
import { adminsRoutes } from './admins-page.tsx';
import { type AuditDeps, auditRoutes } from './audit-page.tsx';
import { type PenaltiesDeps, penaltiesRoutes } from './penalties-page.tsx';
import { penaltyRoutes } from './penalty-page.tsx';
import { type RoundSoundsDeps, roundSoundsRoutes } from './round-sounds-page.tsx';
import { type NotesDeps, noteRoutes } from './staff-notes.tsx';
import { type BlockDeps, blockRoutes } from './user-block.tsx';
import { type FlagsDeps, flagRoutes } from './user-flags.tsx';
import { renderPlayer, type UserDeps, userRoutes } from './user-page.tsx';
import { type UserTokensDeps, userTokenRoutes } from './user-tokens.tsx';
import { type UsersDeps, usersRoutes } from './users-page.tsx';
import type { WebhooksDeps } from './webhooks/webhook-deps.ts';
import { webhookRoutes } from './webhooks/webhook-routes.tsx';

type ModerationDeps = UsersDeps &
  UserDeps &
  UserTokensDeps &
  FlagsDeps &
  Omit<BlockDeps, 'showAgain'> &
  Omit<NotesDeps, 'showAgain'> &
  RoundSoundsDeps &
  WebhooksDeps &
  AuditDeps &
  PenaltiesDeps;

/**
 * The routes for administrators: users with their tokens and flags, sounds, webhooks, and the audit log; and those for
 * moderators too: penalties, admins and players' records.
 */
export function moderationRoutes(deps: ModerationDeps): MemberRoute[] {
  return [
    ...restrict(mayReadRecords, [
      ...penaltiesRoutes(deps),
      ...penaltyRoutes(deps),
      ...adminsRoutes(deps),
      ...userRoutes(deps),
      ...noteRoutes({
        ...deps,
        showAgain: (visit, steamId64, noteProblem) => renderPlayer(deps, visit, steamId64, { noteProblem }),
      }),
    ]),
    ...restrict(isAdministrator, [
      ...usersRoutes(deps),
      ...userTokenRoutes(deps),
      ...flagRoutes(deps),
      ...blockRoutes({
        ...deps,
        showAgain: (visit, { steamId64 }, blockProblem) =>
          renderPlayer(deps, visit, steamId64, { blockProblem }),
      }),
      ...roundSoundsRoutes(deps),
      ...webhookRoutes(deps),
      ...auditRoutes(deps),
    ]),
  ];
}

/** Restricts routes to users with a right: for anyone else their handlers throw {@link Forbidden}. */
function restrict(isAllowed: (user: User) => boolean, routes: readonly MemberRoute[]): MemberRoute[] {
  return routes.map((route) => ({
    ...route,
    handle: async (visit, params, identifyAgain) => {
      if (!isAllowed(visit.user)) throw new Forbidden('this page is for moderators or administrators');
      return route.handle(visit, params, identifyAgain);
    },
  }));
}
