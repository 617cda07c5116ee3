import type { Db } from '../../src/db/client.ts';
import { tryParseSteamReference } from '../../src/domain/profile-address.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { foldText } from '../../src/domain/text/fold-text.ts';
import { type FoundPlayer, searchPlayers } from '../../src/queries/player-search.ts';
import { type Choice, type Invoker, Refusal } from '../command.ts';
import { LIMITS } from '../discord-limits.ts';
import { noticeMessage } from '../embeds/message.ts';
import { playerChoice } from '../embeds/player-choice.ts';
import { escapeText } from '../text.ts';
import { moderateMembersRequired } from './visibility.ts';

type Deps = { db: Db; now: () => Date };

/**
 * Suggests players with a name that contains the typed text; the values are SteamID64s. Only for moderators: others get
 * no suggestions, without a query.
 */
export async function completePlayer(
  { db, now }: Deps,
  { canModerateMembers }: Invoker,
  typed: string,
): Promise<Choice[]> {
  if (!canModerateMembers) return [];
  const players = await searchPlayers(db, typed, { limit: LIMITS.choices, now: now() });
  return players.map(playerChoice);
}

/**
 * Resolves the option `player`, which can be any text: autocomplete only suggests. A SteamID is accepted from everyone,
 * and the caller checks whether the invoker may see that player.
 * @throws {Refusal} when no known player has exactly this name, or several have.
 */
export async function resolvePlayer(
  { db, now }: Deps,
  { canModerateMembers }: Invoker,
  text: string,
): Promise<SteamId64> {
  const reference = tryParseSteamReference(text);
  if (reference && 'steamId64' in reference) return reference.steamId64;
  if (!canModerateMembers) throw moderateMembersRequired();
  const found = await searchPlayers(db, text, { limit: 2, now: now() });
  const [first, second] = found.filter((player) => isCalled(player, text));
  const name = escapeText(text, { max: 64, fallback: '?' });
  if (!first) throw new Refusal(({ refusals }) => noticeMessage(refusals.playerNotFound(name)));
  if (second) throw new Refusal(({ refusals }) => noticeMessage(refusals.severalPlayers(name)));
  return first.steamId64;
}

function isCalled({ matchedName }: FoundPlayer, text: string): boolean {
  return foldText(matchedName).trim() === foldText(text).trim();
}
