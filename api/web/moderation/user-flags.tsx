import type { JSX } from 'hono/jsx/jsx-runtime';
import { Forbidden } from '../../../src/domain/errors.ts';
import { USER_FLAG_COLUMNS, USER_FLAGS, type UserFlagColumn } from '../../../src/domain/rights/user-flags.ts';
import { setUserFlags, type UserFlags } from '../../../src/queries/users/user-changes.ts';
import type { GivenFlag } from '../../../src/queries/users/user-flags.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { Card } from '../layout/card.tsx';
import { FlagSources } from '../layout/flags.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { PostForm } from '../layout/post-form.tsx';
import type { MemberVisit } from '../request/visit.ts';
import type { Handler } from './frame.tsx';
import { loadNamedUser, pathOfPlayer } from './player-link.tsx';

/** The hidden field with the flags that were set by hand when the form was shown, separated by spaces. */
const SHOWN_FLAGS = 'shown_flags';

type FlagsProps = {
  user: User;
  /** Where their flags come from. */
  given: readonly GivenFlag[];
  visit: MemberVisit;
};

/** A user's flags and where they come from; owners can change those that are given by hand. */
export function FlagsCard({ user, given, visit }: FlagsProps): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  const isSelf = user.id === visit.user.id;
  const mayEdit = visit.user.isOwner;
  const flagsByHand = given.filter(({ source }) => source === 'hand').map(({ flag }) => USER_FLAGS[flag]);
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
                {t.flagNames[flag]} <FlagSources column={flag} flags={given} locale={visit.locale} />
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

/** Saves the flags that an owner changed. */
export const saveFlags: Handler = async ({ db, redirect }, visit, { steamid64 }) => {
  if (!visit.user.isOwner) throw new Forbidden('only owners set flags');
  const user = await loadNamedUser(db, steamid64);
  const isSelf = user.id === visit.user.id;
  const flags = readChanges(visit.form, (flag) => isLocked(flag, isSelf));
  await setUserFlags(db, user.steamId64, { flags, actor: { userId: visit.user.id } });
  return redirect(visit, `${pathOfPlayer(user)}#flags`, 'flags-saved');
};

/** Whether the form cannot change a flag: owners cannot remove their own flag, so that one always remains. */
function isLocked(flag: UserFlagColumn, isSelf: boolean): boolean {
  return flag === 'isOwner' && isSelf;
}

/**
 * The flags that were changed in the form. The others may have changed since it was shown, and stay as they are. A form
 * that does not say what it showed, such as a script's, sets all of them.
 */
function readChanges(
  form: MemberVisit['form'],
  isExcluded: (flag: UserFlagColumn) => boolean,
): Partial<UserFlags> {
  const shownFlags = form.get(SHOWN_FLAGS)?.split(' ');
  const isTicked = (flag: UserFlagColumn) => form.get(flag) === 'on';
  const isChanged = (flag: UserFlagColumn) =>
    shownFlags === undefined || isTicked(flag) !== shownFlags.includes(flag);
  const changes = USER_FLAG_COLUMNS.filter((flag) => isChanged(flag) && !isExcluded(flag));
  return Object.fromEntries(changes.map((flag) => [flag, isTicked(flag)]));
}
