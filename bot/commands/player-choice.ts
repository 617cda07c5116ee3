import type { Database } from '../../src/db/database.ts';
import { foldText } from '../../src/domain/fold-text.ts';
import { tryParseSteamReference } from '../../src/domain/profile-address.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { type FoundPlayer, searchPlayers } from '../../src/queries/player-search.ts';
import { type Choice, type Invoker, Refusal } from '../command.ts';
import { LIMITS } from '../discord-limits.ts';
import { noticeMessage } from '../embeds/message.ts';
import { playerChoice } from '../embeds/player-choice.ts';
import { escapeText } from '../text.ts';
import { moderateMembersRequired } from './visibility.ts';

type Deps = { database: Pick<Database, 'replica'>; now: () => Date };

/**
 * The players known by a name that contains what was typed; the values are SteamID64s. For moderators: others are
 * suggested nobody, and no query is made for them.
 */
export async function completePlayer(
  { database, now }: Deps,
  { canModerateMembers }: Invoker,
  typed: string,
): Promise<Choice[]> {
  if (!canModerateMembers) return [];
  const players = await searchPlayers(database.replica, typed, { limit: LIMITS.choices, now: now() });
  return players.map(playerChoice);
}

/**
 * The player that an option `player` names: autocomplete only suggests, and any text may arrive. A SteamID is taken as
 * one, also of those who may look at nobody else: the caller checks whether they may see its owner.
 * @throws {Refusal} when no known player bears exactly this name, or several do.
 */
export async function resolvePlayer(
  { database, now }: Deps,
  { canModerateMembers }: Invoker,
  text: string,
): Promise<SteamId64> {
  const reference = tryParseSteamReference(text);
  if (reference && 'steamId64' in reference) return reference.steamId64;
  if (!canModerateMembers) throw moderateMembersRequired();
  const found = await searchPlayers(database.replica, text, { limit: 2, now: now() });
  const [first, second] = found.filter((player) => isCalled(player, text));
  const name = escapeText(text, { max: 64, fallback: '?' });
  if (!first) throw new Refusal(({ refusals }) => noticeMessage(refusals.playerNotFound(name)));
  if (second) throw new Refusal(({ refusals }) => noticeMessage(refusals.severalPlayers(name)));
  return first.steamId64;
}

function isCalled({ matchedName }: FoundPlayer, text: string): boolean {
  return foldText(matchedName).trim() === foldText(text).trim();
}
