import type { MemberRoute } from '../request/member-route.ts';
import { type AuditDeps, auditRoutes } from './audit-page.tsx';
import { forAdministrators } from './guard.ts';
import { type RoundSoundsDeps, roundSoundsRoutes } from './round-sounds-page.tsx';
import { type BlockDeps, blockRoutes } from './user-block.tsx';
import { type FlagsDeps, flagRoutes } from './user-flags.tsx';
import { renderUser, type UserDeps, userRoutes } from './user-page.tsx';
import { type UserTokensDeps, userTokenRoutes } from './user-tokens.tsx';
import { type UsersDeps, usersRoutes } from './users-page.tsx';
import type { WebhooksDeps } from './webhooks/webhook-deps.ts';
import { webhookRoutes } from './webhooks/webhook-routes.tsx';

type ModerationDeps = UsersDeps &
  UserDeps &
  UserTokensDeps &
  FlagsDeps &
  Omit<BlockDeps, 'showAgain'> &
  RoundSoundsDeps &
  WebhooksDeps &
  AuditDeps;

/** The routes for administrators: users with their tokens and flags, sounds, webhooks, and the audit log. */
export function moderationRoutes(deps: ModerationDeps): MemberRoute[] {
  return forAdministrators([
    ...usersRoutes(deps),
    ...userRoutes(deps),
    ...userTokenRoutes(deps),
    ...flagRoutes(deps),
    ...blockRoutes({
      ...deps,
      showAgain: (visit, user, problem) => renderUser(deps, visit, user, { problem }),
    }),
    ...roundSoundsRoutes(deps),
    ...webhookRoutes(deps),
    ...auditRoutes(deps),
  ]);
}
