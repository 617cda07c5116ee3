import type { JSX } from 'hono/jsx/jsx-runtime';
import { hasVisibleCharacter } from '../../../src/domain/text/visible-text.ts';
import type { User } from '../../../src/queries/users/users.ts';
import type { Locale } from './locales/locale.ts';
import { textsOf } from './locales/texts.ts';

/** The Steam avatar, or the first letter of the name. */
export function Avatar({ user, size }: { user: User; size: 'small' | 'large' }): JSX.Element {
  if (user.avatarUrl) {
    return (
      <img
        class={`avatar avatar-${size}`}
        src={user.avatarUrl}
        alt=""
        width="184"
        height="184"
        data-letter={firstLetter(user.nickname)}
      />
    );
  }
  return (
    <span class={`avatar avatar-${size} avatar-letter`} aria-hidden="true">
      {firstLetter(user.nickname)}
    </span>
  );
}

/** The first letter or digit, in upper case: names may begin with emoji, symbols or direction marks. */
export function firstLetter(name: string): string {
  return /[\p{L}\p{N}]/u.exec(name)?.[0].toUpperCase() ?? '?';
}

/** A user's display name: the nickname, or a generic word and the last digits of the SteamID. */
export function nameOf(user: { nickname: string; steamId64: string }, locale: Locale): string {
  if (hasVisibleCharacter(user.nickname)) return user.nickname;
  return `${textsOf(locale).shell.unknownNickname} ${user.steamId64.slice(-4)}`;
}
