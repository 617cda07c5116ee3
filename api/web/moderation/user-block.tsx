import type { JSX } from 'hono/jsx/jsx-runtime';
import { Forbidden, InvalidInput } from '../../../src/domain/errors.ts';
import {
  blockUser,
  MAX_BLOCK_REASON_LENGTH,
  type User,
  unblockUser,
} from '../../../src/queries/users/users.ts';
import { Card } from '../layout/card.tsx';
import { Facts } from '../layout/facts.tsx';
import { TextField } from '../layout/form-fields.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import { PostButton, PostForm } from '../layout/post-form.tsx';
import { PageError } from '../request/page-error.ts';
import type { MemberVisit } from '../request/visit.ts';
import type { Handler } from './frame.tsx';
import { loadNamedUser, pathOfPlayer } from './player-link.tsx';

type BlockProps = { user: User; visit: MemberVisit };

/** Whether a user is blocked, since when and why, and the form that changes it. */
export function BlockCard({ user, visit }: BlockProps): JSX.Element {
  const t = textsOf(visit.locale).moderation.block;
  return (
    <Card id="block" title={t.title} icon="shield" notice={visit.notice}>
      {user.blockedAt ? (
        <PostButton
          visit={visit}
          action={`${pathOfPlayer(user)}/unblock`}
          label={t.unblock}
          class="button button-primary"
        >
          <Facts
            class="facts"
            facts={[
              [t.since, <FullMoment at={user.blockedAt} locale={visit.locale} />],
              [t.reason, user.blockReason || '–'],
            ]}
          />
        </PostButton>
      ) : (
        <BlockForm user={user} visit={visit} />
      )}
    </Card>
  );
}

function BlockForm({ user, visit }: BlockProps): JSX.Element {
  const t = textsOf(visit.locale).moderation.block;
  if (user.isOwner) return <p class="hint">{t.owner}</p>;
  if (user.id === visit.user.id) return <p class="hint">{t.self}</p>;
  return (
    <PostForm visit={visit} action={`${pathOfPlayer(user)}/block#block`} class="create">
      <p class="lead">{t.lead}</p>
      <TextField
        name="reason"
        id="block-reason"
        label={t.reason}
        hint={t.reasonHint}
        maxlength={MAX_BLOCK_REASON_LENGTH}
        value={visit.form.get('reason')}
      />
      <button class="button button-danger" type="submit">
        {t.block}
      </button>
    </PostForm>
  );
}

/** Blocks a user. @throws {PageError} 400 for a reason that is too long. */
export const block: Handler = async ({ db, redirect }, visit, { steamid64 }) => {
  const user = await loadNamedUser(db, steamid64);
  if (user.id === visit.user.id) throw new Forbidden('users cannot block themselves');
  const reason = visit.form.get('reason') ?? '';
  const actor = { userId: visit.user.id };
  await blockUser(db, user.steamId64, { reason, now: visit.now, actor }).catch((error: unknown) => {
    if (!(error instanceof InvalidInput)) throw error;
    throw new PageError('block-reason', 400, { limit: MAX_BLOCK_REASON_LENGTH, cause: error });
  });
  return redirect(visit, `${pathOfPlayer(user)}#block`, 'user-blocked');
};

/** Unblocks a user. */
export const unblock: Handler = async ({ db, redirect }, visit, { steamid64 }) => {
  const user = await loadNamedUser(db, steamid64);
  await unblockUser(db, user.steamId64, { actor: { userId: visit.user.id } });
  return redirect(visit, `${pathOfPlayer(user)}#block`, 'user-unblocked');
};
