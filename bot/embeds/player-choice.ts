import { isolate } from '../../src/domain/text/isolate.ts';
import type { FoundPlayer } from '../../src/queries/player-search.ts';
import type { Choice } from '../command.ts';
import { LIMITS } from '../discord-limits.ts';
import { cut, toPlainLine } from '../text.ts';

/** A player among the suggestions: `⛔ Ola (Olka) · 76561198000000001`, with the name they were found by after the latest. */
export function playerChoice({ steamId64, name, matchedName, isBanned }: FoundPlayer): Choice {
  const [latest, matched] = [toPlainLine(name, '?'), toPlainLine(matchedName)];
  const rest = ` · ${steamId64}`;
  const names =
    matched === '' || matched === latest
      ? isolate(cut(latest, MAX_NAME_LENGTH))
      : `${isolate(cut(latest, LONGER_NAME))} (${isolate(cut(matched, LONGER_NAME))})`;
  return { name: `${isBanned ? '⛔ ' : ''}${names}${rest}`, value: steamId64 };
}

/** The room for a name in the longest choice, with its two bidi isolation characters. */
const MAX_NAME_LENGTH = LIMITS.choiceText - '⛔ '.length - ' · 76561198000000001'.length - 2;
/** The room for each of two names. */
const LONGER_NAME = Math.floor((MAX_NAME_LENGTH - ' ()'.length - 2) / 2);
