import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { Forbidden, InvalidInput } from '../../../src/domain/errors.ts';
import { blockUser, MAX_BLOCK_REASON_LENGTH, unblockUser } from '../../../src/queries/users/user-blocks.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { Card, ProblemLine } from '../layout/card.tsx';
import { CsrfField } from '../layout/csrf-field.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import { type FormProblem, withFormShownAgain } from '../request/forms/form-problem.ts';
import type { MemberRoute } from '../request/member-route.ts';
import type { Notice, Redirect } from '../request/notice.ts';
import { PageError } from '../request/page-error.ts';
import type { MemberVisit } from '../request/visit.ts';
import { loadNamedUser, pathOfPlayer } from './find-user.ts';

export type BlockDeps = {
  db: Db;
  redirect: Redirect;
  /** The user's page, with the form as it was sent. */
  showAgain: (visit: MemberVisit, user: User, problem: FormProblem) => Promise<JSX.Element>;
};

/** Routes that block and unblock a user. */
export function blockRoutes(deps: BlockDeps): MemberRoute[] {
  const path = '/moderation/users/:steamid64';
  return [
    {
      method: 'POST',
      path: `${path}/block`,
      handle: (visit, { steamid64 }) => block(deps, visit, steamid64),
    },
    {
      method: 'POST',
      path: `${path}/unblock`,
      handle: (visit, { steamid64 }) => unblock(deps, visit, steamid64),
    },
  ];
}

type BlockProps = {
  user: User;
  visit: MemberVisit;
  notice: Notice | undefined;
  /** Why the form was refused; the form is then shown again with its values. */
  problem: FormProblem | undefined;
};

/** Whether a user is blocked, since when and why, and the form that changes it. */
export function BlockCard({ user, visit, notice, problem }: BlockProps): JSX.Element {
  const t = textsOf(visit.locale).moderation.block;
  return (
    <Card id="block" title={t.title} icon="shield" notice={notice}>
      {user.blockedAt ? (
        <Blocked user={user} blockedAt={user.blockedAt} visit={visit} />
      ) : (
        <BlockForm user={user} visit={visit} problem={problem} />
      )}
    </Card>
  );
}

type BlockedProps = { user: User; blockedAt: Date; visit: MemberVisit };

function Blocked({ user, blockedAt, visit }: BlockedProps): JSX.Element {
  const t = textsOf(visit.locale).moderation.block;
  return (
    <form method="post" action={`${pathOfPlayer(user)}/unblock`}>
      <CsrfField visit={visit} />
      <dl class="facts">
        <dt>{t.since}</dt>
        <dd>
          <FullMoment at={blockedAt} locale={visit.locale} />
        </dd>
        <dt>{t.reason}</dt>
        <dd class="list-words">{user.blockReason || '–'}</dd>
      </dl>
      <button class="button button-primary" type="submit">
        {t.unblock}
      </button>
    </form>
  );
}

function BlockForm({ user, visit, problem }: Omit<BlockProps, 'notice'>): JSX.Element {
  const t = textsOf(visit.locale).moderation.block;
  if (user.isOwner) return <p class="hint">{t.owner}</p>;
  if (user.id === visit.user.id) return <p class="hint">{t.self}</p>;
  return (
    <form method="post" action={`${pathOfPlayer(user)}/block#block`} class="create">
      {problem && <ProblemLine message={problem.message} />}
      <CsrfField visit={visit} />
      <p class="lead">{t.lead}</p>
      <div class="field field-wide">
        <label for="block-reason">{t.reason}</label>
        <input
          id="block-reason"
          name="reason"
          maxlength={MAX_BLOCK_REASON_LENGTH}
          value={problem?.values.get('reason')}
          aria-describedby="block-reason-hint"
        />
        <p class="hint" id="block-reason-hint">
          {t.reasonHint}
        </p>
      </div>
      <button class="button button-danger" type="submit">
        {t.block}
      </button>
    </form>
  );
}

async function block(deps: BlockDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  const { form } = visit;
  const user = await loadNamedUser(deps.db, id);
  if (user.id === visit.user.id) throw new Forbidden('users cannot block themselves');
  const show = (problem: FormProblem) => deps.showAgain(visit, user, problem);
  return withFormShownAgain(visit, { values: form, show }, async () => {
    const reason = form.get('reason') ?? '';
    const actor = { userId: visit.user.id };
    await blockUser(deps.db, user.steamId64, { reason, now: visit.now, actor }).catch((error: unknown) => {
      if (!(error instanceof InvalidInput)) throw error;
      throw new PageError('block-reason', 400, { limit: MAX_BLOCK_REASON_LENGTH, cause: error });
    });
    return deps.redirect(visit, `${pathOfPlayer(user)}#block`, 'user-blocked');
  });
}

async function unblock(deps: BlockDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  const user = await loadNamedUser(deps.db, id);
  await unblockUser(deps.db, user.steamId64, { actor: { userId: visit.user.id } });
  return deps.redirect(visit, `${pathOfPlayer(user)}#block`, 'user-unblocked');
}
