import type { FoundPlayer } from '../../src/queries/player-search.ts';
import type { Choice } from '../command.ts';
import { LIMITS } from '../discord-limits.ts';
import { cut, toPlainLine } from '../text.ts';

/** A player among the suggestions: `⛔ Ola (Olka) · 76561198000000001`, with the name they were found by after the latest. */
export function playerChoice({ steamId64, name, matchedName, isBanned }: FoundPlayer): Choice {
  const [latest, matched] = [toPlainLine(name, '?'), toPlainLine(matchedName)];
  const rest = ` · ${steamId64}`;
  const names =
    matched === '' || matched === latest ? latest : `${cut(latest, MAX_NAME)} (${cut(matched, MAX_NAME)})`;
  const lead = isBanned ? '⛔ ' : '';
  return {
    name: `${lead}${cut(names, LIMITS.choiceText - rest.length - lead.length)}${rest}`,
    value: steamId64,
  };
}

/** Of each of two names, so that both are seen. */
const MAX_NAME = 34;
