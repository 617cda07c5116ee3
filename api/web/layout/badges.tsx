import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Language } from '../../../src/domain/language.ts';
import { USER_FLAG_COLUMNS } from '../../../src/domain/rights/user-flags.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { textsOf } from './locales/texts.ts';

type BadgesProps = { user: User; locale: Language; fallback?: JSX.Element | null };

/** A user's flags as coloured labels; `fallback` for a user without flags. */
export function Badges({ user, locale, fallback = null }: BadgesProps): JSX.Element | null {
  const names = textsOf(locale).account.badges;
  const flags = USER_FLAG_COLUMNS.filter((flag) => user[flag]);
  if (flags.length === 0) return fallback;
  return (
    <ul class="badges">
      {flags.map((flag) => (
        <li class={`badge badge-${flag}`}>{names[flag]}</li>
      ))}
    </ul>
  );
}
