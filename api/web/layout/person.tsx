import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Language } from '../../../src/domain/language.ts';
import { hasVisibleCharacter } from '../../../src/domain/text/visible-text.ts';
import { textsOf } from '../locales/texts.ts';

type AvatarProps = { name: string; src?: string; size: 'tiny' | 'small' | 'large' };

/**
 * The first letter of a name under a picture: it shows while the picture is loading, and if there is none. Stored addresses
 * of pictures stop working when people change them.
 */
export function Avatar({ name, src = '', size }: AvatarProps): JSX.Element {
  return (
    <span class={`avatar avatar-${size}`} aria-hidden="true">
      {firstLetter(name)}
      {src !== '' && <img src={src} alt="" loading="lazy" />}
    </span>
  );
}

/** The first letter or digit, in upper case: names may begin with emoji, symbols or direction marks. */
function firstLetter(name: string): string {
  return /[\p{L}\p{N}]/u.exec(name)?.[0].toUpperCase() ?? '?';
}

/** A user's display name: the nickname, or a generic word and the last digits of the SteamID. */
export function nameOf(user: { nickname: string; steamId64: string }, language: Language): string {
  if (hasVisibleCharacter(user.nickname)) return user.nickname;
  return `${textsOf(language).shell.unknownNickname} ${user.steamId64.slice(-4)}`;
}
