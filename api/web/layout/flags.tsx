import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Language } from '../../../src/domain/language.ts';
import { USER_FLAG_COLUMNS, USER_FLAGS, type UserFlagColumn } from '../../../src/domain/rights/user-flags.ts';
import type { GivenFlag } from '../../../src/queries/users/user-flags.ts';
import type { User } from '../../../src/queries/users/users.ts';
import type { Clock } from '../locales/locale.ts';
import { textsOf } from '../locales/texts.ts';
import { Facts } from './facts.tsx';
import { FullMoment } from './moment.tsx';

type BadgesProps = { user: User; language: Language; fallback?: JSX.Element | null };

/** A user's flags as coloured labels; `fallback` for a user without flags. */
export function Badges({ user, language, fallback = null }: BadgesProps): JSX.Element | null {
  const names = textsOf(language).account.badges;
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

/** Somebody's flags, and where each comes from. */
export function GivenFlags({ flags, visit }: Omit<FlagProps, 'column'>): JSX.Element {
  const { badges } = textsOf(visit.language).account;
  const columns = new Set(flags.map(({ flag }) => USER_FLAGS[flag]));
  return (
    <Facts
      class="facts"
      facts={USER_FLAG_COLUMNS.filter((column) => columns.has(column)).map((column) => [
        badges[column],
        <FlagSources column={column} flags={flags} visit={visit} />,
      ])}
    />
  );
}

type FlagProps = { column: UserFlagColumn; flags: readonly GivenFlag[]; visit: Clock };

/** Where one flag comes from, and until when: `set here · VIPCore, until 5 Dec 2026`. */
export function FlagSources({ column, flags, visit }: FlagProps): JSX.Element | null {
  const { account } = textsOf(visit.language);
  const rows = flags.filter(({ flag }) => USER_FLAGS[flag] === column);
  if (rows.length === 0) return null;
  return (
    <span class="hint">
      {rows.map(({ source, endsAt }, index) => (
        <>
          {index > 0 && ' · '}
          {account.flagSources[source]}
          {endsAt && (
            <>
              , {account.until} <FullMoment at={endsAt} visit={visit} />
            </>
          )}
        </>
      ))}
    </span>
  );
}
