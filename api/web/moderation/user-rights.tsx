import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { RequestDb } from '../../../src/db/client.ts';
import { Forbidden, InvalidInput, NotFound } from '../../../src/domain/errors.ts';
import { USER_FLAG_COLUMNS, USER_FLAGS, type UserFlagColumn } from '../../../src/domain/rights/user-flags.ts';
import {
  findApiToken,
  listEndedApiTokens,
  listLiveApiTokens,
  revokeApiToken,
} from '../../../src/queries/users/api-tokens.ts';
import { setUserFlags } from '../../../src/queries/users/user-changes.ts';
import type { GivenFlag } from '../../../src/queries/users/user-flags.ts';
import {
  blockUser,
  MAX_BLOCK_REASON_LENGTH,
  type User,
  unblockUser,
} from '../../../src/queries/users/users.ts';
import { TokenTable } from '../account/token-table.tsx';
import { Card } from '../layout/card.tsx';
import { Facts } from '../layout/facts.tsx';
import { FlagSources } from '../layout/flags.tsx';
import { TextField } from '../layout/form-fields.tsx';
import { FullMoment } from '../layout/moment.tsx';
import { PostButton, PostForm } from '../layout/post-form.tsx';
import { textsOf } from '../locales/texts.ts';
import { parseRowId } from '../request/numbers.ts';
import { PageError } from '../request/page-error.ts';
import type { UserVisit } from '../request/visit.ts';
import type { Handler } from './frame.tsx';
import { loadNamedUser, pathOfPlayer } from './player-link.tsx';

/** The hidden field with the flags that were set by hand when the form was shown, separated by spaces. */
const SHOWN_FLAGS = 'shown_flags';
const MAX_ENDED_TOKENS = 25;

type FlagsProps = {
  user: User;
  /** Where their flags come from. */
  givenFlags: readonly GivenFlag[];
  visit: UserVisit;
};

/** A user's flags and where they come from; owners can change those that are given by hand. */
export function FlagsCard({ user, givenFlags, visit }: FlagsProps): JSX.Element {
  const { moderation: t, account } = textsOf(visit.language);
  const names = { ...account.badges, ...t.flagNames };
  const isSelf = user.id === visit.user.id;
  const mayEdit = visit.user.isOwner;
  const flagsByHand = givenFlags
    .filter(({ source }) => source === 'hand')
    .map(({ flag }) => USER_FLAGS[flag]);
  return (
    <Card id="flags" title={t.flags} icon="shield" notice={visit.notice}>
      <PostForm visit={visit} action={`${pathOfPlayer(user)}/flags`}>
        <input type="hidden" name={SHOWN_FLAGS} value={flagsByHand.join(' ')} />
        <fieldset class="flags" disabled={!mayEdit}>
          <legend class="sr-only">{t.flags}</legend>
          {USER_FLAG_COLUMNS.map((flag) => (
            <label class="check">
              <input
                type="checkbox"
                name={flag}
                checked={flagsByHand.includes(flag)}
                disabled={isLocked(flag, isSelf)}
              />
              <span>
                {names[flag]} <FlagSources column={flag} flags={givenFlags} visit={visit} />
              </span>
            </label>
          ))}
        </fieldset>
        <p class="hint">{t.byHand}</p>
        {isSelf && user.isOwner && <p class="hint">{t.ownOwner}</p>}
        {mayEdit ? (
          <button class="button button-primary" type="submit">
            {t.save}
          </button>
        ) : (
          <p class="hint">{t.ownersOnly}</p>
        )}
      </PostForm>
    </Card>
  );
}

/**
 * Saves the flags that an owner changed in the form. The others may have changed since it was shown, and stay as they are. A
 * form that does not say what it showed, such as a script's, sets all of them.
 */
export const saveFlags: Handler = async ({ db, redirect }, visit, { steamid64 }) => {
  if (!visit.user.isOwner) throw new Forbidden('only owners set flags');
  const user = await loadNamedUser(db, steamid64);
  const isSelf = user.id === visit.user.id;
  const shownFlags = visit.form.get(SHOWN_FLAGS)?.split(' ');
  const isTicked = (flag: UserFlagColumn) => visit.form.get(flag) === 'on';
  const changes = USER_FLAG_COLUMNS.filter((flag) => !isLocked(flag, isSelf)).filter(
    (flag) => shownFlags === undefined || isTicked(flag) !== shownFlags.includes(flag),
  );
  const flags = Object.fromEntries(changes.map((flag) => [flag, isTicked(flag)]));
  await setUserFlags(db, user.steamId64, { flags, actor: { userId: visit.user.id } });
  return redirect(visit, `${pathOfPlayer(user)}#flags`, 'flags-saved');
};

/** Whether the form cannot change a flag: owners cannot remove their own flag, so that one always remains. */
function isLocked(flag: UserFlagColumn, isSelf: boolean): boolean {
  return flag === 'isOwner' && isSelf;
}

type UserTokensProps = { db: RequestDb; user: User; visit: UserVisit };

/** A user's live tokens, then the newest ended ones. */
export async function UserTokensCard({ db, user, visit }: UserTokensProps): Promise<HtmlEscapedString> {
  const { now } = visit;
  const [live, ended] = await Promise.all([
    listLiveApiTokens(db, user.id, now),
    listEndedApiTokens(db, user.id, { limit: MAX_ENDED_TOKENS, now }),
  ]);
  const { moderation: t, tokens } = textsOf(visit.language);
  return (
    <Card id="tokens" title={tokens.title} icon="key" notice={visit.notice}>
      <TokenTable
        tokens={[...live, ...ended]}
        empty={t.noTokens}
        visit={visit}
        revokePathOf={({ id }) => `${pathOfPlayer(user)}/tokens/${id}/revoke`}
        showsStates
      />
    </Card>
  );
}

/** Revokes a user's token. Revoking it again, for example in another tab, changes nothing and says the same. */
export const revokeToken: Handler = async ({ db, redirect, onTokenRevoked }, visit, params) => {
  const { user, token } = await loadNamedToken(db, params);
  const { now } = visit;
  await revokeApiToken(db, token.id, { ofUserId: user.id, now, actor: { userId: visit.user.id } });
  onTokenRevoked();
  return redirect(visit, `${pathOfPlayer(user)}#tokens`, 'token-revoked');
};

async function loadNamedToken(db: RequestDb, { steamid64, id }: Record<string, string>) {
  const user = await loadNamedUser(db, steamid64);
  const token = await findApiToken(db, { id: parseRowId(id, 'token'), userId: user.id });
  if (!token) throw new NotFound(`no token ${id}`);
  return { user, token };
}

type BlockProps = { user: User; visit: UserVisit };

/** Whether a user is blocked, since when and why, and the form that changes it. */
export function BlockCard({ user, visit }: BlockProps): JSX.Element {
  const { moderation, penalties } = textsOf(visit.language);
  const t = moderation.block;
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
              [t.since, <FullMoment at={user.blockedAt} visit={visit} />],
              [penalties.columns.reason, user.blockReason || '–'],
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
  const { moderation, penalties } = textsOf(visit.language);
  const t = moderation.block;
  if (user.isOwner) return <p class="hint">{t.owner}</p>;
  if (user.id === visit.user.id) return <p class="hint">{t.self}</p>;
  return (
    <PostForm visit={visit} action={`${pathOfPlayer(user)}/block#block`} class="create">
      <p class="lead">{t.lead}</p>
      <TextField
        name="reason"
        id="block-reason"
        label={penalties.columns.reason}
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
