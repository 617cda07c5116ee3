import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { Forbidden } from '../../../src/domain/errors.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { setUserFlags, USER_FLAGS, type UserFlags } from '../../../src/queries/users/user-changes.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { Card } from '../layout/card.tsx';
import { CsrfField } from '../layout/csrf-field.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import type { MemberRoute } from '../visit/member-route.ts';
import type { Notice, Redirect } from '../visit/notice.ts';
import type { MemberVisit } from '../visit/visit.ts';
import { loadNamedUser, pathOfPlayer } from './find-user.ts';

export type FlagsDeps = {
  db: Db;
  redirect: Redirect;
  /** `OWNER_STEAMIDS` */
  ownerSteamIds: readonly SteamId64[];
};

/** The route that saves a user's flags. */
export function flagRoutes(deps: FlagsDeps): MemberRoute[] {
  return [
    {
      method: 'POST',
      path: '/moderation/users/:steamid64/flags',
      handle: (visit, { steamid64 }) => saveFlags(deps, visit, steamid64),
    },
  ];
}

/** The hidden field with the flags that were set when the form was shown, separated by spaces. */
const SHOWN_FLAGS = 'shown_flags';

type FlagsProps = { user: User; visit: MemberVisit; notice: Notice | undefined; isFixedOwner: boolean };

/** A user's flags; owners can change them. */
export function FlagsCard({ user, visit, notice, isFixedOwner }: FlagsProps): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  return (
    <Card id="flags" title={t.flags} icon="shield" notice={notice}>
      <FlagsForm user={user} visit={visit} isFixedOwner={isFixedOwner} />
    </Card>
  );
}

function FlagsForm({ user, visit, isFixedOwner }: Omit<FlagsProps, 'notice'>): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  const isSelf = user.id === visit.user.id;
  const mayEdit = visit.user.isOwner;
  const shown = USER_FLAGS.filter((flag) => user[flag]).join(' ');
  return (
    <form method="post" action={`${pathOfPlayer(user)}/flags`}>
      <CsrfField visit={visit} />
      <input type="hidden" name={SHOWN_FLAGS} value={shown} />
      <fieldset class="flags" disabled={!mayEdit}>
        <legend class="sr-only">{t.flags}</legend>
        {USER_FLAGS.map((flag) => (
          <label class="check">
            <input
              type="checkbox"
              name={flag}
              checked={user[flag]}
              disabled={isLocked(flag, { isSelf, isFixedOwner })}
            />
            <span>{t.flagNames[flag]}</span>
          </label>
        ))}
      </fieldset>
      {isFixedOwner && <p class="hint">{t.fixedOwner}</p>}
      {isSelf && !isFixedOwner && user.isOwner && <p class="hint">{t.ownOwner}</p>}
      {mayEdit ? (
        <button class="button button-primary" type="submit">
          {t.save}
        </button>
      ) : (
        <p class="hint">{t.ownersOnly}</p>
      )}
    </form>
  );
}

async function saveFlags(deps: FlagsDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  if (!visit.user.isOwner) throw new Forbidden('only owners set flags');
  const user = await loadNamedUser(deps.db, id);
  const isFixedOwner = deps.ownerSteamIds.includes(user.steamId64);
  const isSelf = user.id === visit.user.id;
  const flags = readChanges(visit.form, (flag) => isLocked(flag, { isSelf, isFixedOwner }));
  await setUserFlags(deps.db, user.steamId64, { flags, actor: { userId: visit.user.id } });
  return deps.redirect(visit, `${pathOfPlayer(user)}#flags`, 'flags-saved');
}

type Flag = (typeof USER_FLAGS)[number];

/**
 * Whether the form cannot change a flag. Owners cannot remove their own flag, so that one always remains; configured
 * owners would regain theirs at sign-in.
 */
function isLocked(flag: Flag, { isSelf, isFixedOwner }: { isSelf: boolean; isFixedOwner: boolean }): boolean {
  return (flag === 'isOwner' && isSelf) || (isFixedOwner && (flag === 'isOwner' || flag === 'isAdmin'));
}

/**
 * The flags that were changed in the form. The others may have changed since it was shown, and stay as they are. A form
 * that does not say what it showed, such as a script's, sets all of them.
 */
function readChanges(form: MemberVisit['form'], isExcluded: (flag: Flag) => boolean): Partial<UserFlags> {
  const shown = form.get(SHOWN_FLAGS)?.split(' ');
  const isTicked = (flag: Flag) => form.get(flag) === 'on';
  const isChanged = (flag: Flag) => shown === undefined || isTicked(flag) !== shown.includes(flag);
  const changed = USER_FLAGS.filter((flag) => isChanged(flag) && !isExcluded(flag));
  return Object.fromEntries(changed.map((flag) => [flag, isTicked(flag)]));
}
