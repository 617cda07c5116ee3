import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Language } from '../../../src/domain/language.ts';
import { USER_FLAG_COLUMNS, USER_FLAGS, type UserFlagColumn } from '../../../src/domain/rights/user-flags.ts';
import type { GivenFlag } from '../../../src/queries/users/user-flags.ts';
import { textsOf } from './locales/texts.ts';
import { FullMoment } from './moment.tsx';

/** Somebody's flags, and where each comes from. */
export function GivenFlags({ given, locale }: Omit<FlagProps, 'column'>): JSX.Element {
  const { badges } = textsOf(locale).account;
  const columns = new Set(given.map(({ flag }) => USER_FLAGS[flag]));
  return (
    <dl class="facts">
      {USER_FLAG_COLUMNS.filter((column) => columns.has(column)).map((column) => (
        <>
          <dt>{badges[column]}</dt>
          <dd>
            <FlagSources column={column} given={given} locale={locale} />
          </dd>
        </>
      ))}
    </dl>
  );
}

type FlagProps = { column: UserFlagColumn; given: readonly GivenFlag[]; locale: Language };

/** Where one flag comes from, and until when: `by hand · VIPCore, until 5 Dec 2026`. */
export function FlagSources({ column, given, locale }: FlagProps): JSX.Element | null {
  const { flagSources, until } = textsOf(locale).account;
  const rows = given.filter(({ flag }) => USER_FLAGS[flag] === column);
  if (rows.length === 0) return null;
  return (
    <span class="hint">
      {rows.map(({ source, endsAt }, index) => (
        <>
          {index > 0 && ' · '}
          {flagSources[source]}
          {endsAt && (
            <>
              , {until} <FullMoment at={endsAt} locale={locale} />
            </>
          )}
        </>
      ))}
    </span>
  );
}
