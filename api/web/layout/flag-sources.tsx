import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Language } from '../../../src/domain/language.ts';
import { USER_FLAGS, type UserFlagColumn } from '../../../src/domain/rights/user-flags.ts';
import type { GivenFlag } from '../../../src/queries/users/user-flags.ts';
import { textsOf } from './locales/texts.ts';
import { FullMoment } from './moment.tsx';

/** Where one flag comes from, and until when: `by hand · VIPCore, until 5 Dec 2026`. */
export function FlagSources({
  column,
  given,
  locale,
}: {
  column: UserFlagColumn;
  given: readonly GivenFlag[];
  locale: Language;
}): JSX.Element | null {
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
