import type { Db } from '../../src/db/client.ts';
import { tryParseSteamReference } from '../../src/domain/profile-address.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { foldText } from '../../src/domain/text/fold-text.ts';
import { isolate } from '../../src/domain/text/isolate.ts';
import { type FoundPlayer, searchPlayers } from '../../src/queries/player-search.ts';
import { type Choice, type Execute, type HandlePress, type Invoker, Refusal } from '../command.ts';
import { LIMITS } from '../discord-limits.ts';
import { menuRow, noticeMessage } from '../embeds/message.ts';
import { toCustomId } from '../interactions/custom-id.ts';
import { cut, escapeText, toPlainLine } from '../text.ts';
import { moderateMembersRequired, type PersonCommand } from './visibility.ts';

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
 * @throws {Refusal} when no player seen here has exactly this name; when several have, with a menu of them.
 */
export async function resolvePlayer(
  { db, now }: Deps,
  { name: command, invoker, kind }: PersonCommand,
  text: string,
): Promise<SteamId64> {
  const reference = tryParseSteamReference(text);
  if (reference && 'steamId64' in reference) return reference.steamId64;
  if (!invoker.canModerateMembers) throw moderateMembersRequired();
  const matches = await searchPlayers(db, text, { limit: LIMITS.menuOptions, now: now() });
  const candidates = matches.filter((player) => isCalled(player, text));
  const [first, second] = candidates;
  const name = escapeText(text, { max: 64, fallback: '?' });
  if (!first) throw new Refusal(({ refusals }) => noticeMessage(refusals.playerNotFound(name)));
  if (!second) return first.steamId64;
  const customId = toCustomId(`${command}.player`, kind);
  throw new Refusal(({ refusals, user }) =>
    noticeMessage(refusals.severalPlayers(name), undefined, [
      menuRow(
        customId,
        user.choose,
        candidates.map((player) => ({ label: playerChoice(player).name, value: player.steamId64 })),
      ),
    ]),
  );
}

/** The handler of that menu: runs the command again with the chosen player. */
export function repeatForCandidate<Deps>(execute: Execute<Deps>): HandlePress<Deps> {
  return (deps, invoker, { args: [kind], values: [steamid = ''] }) => {
    const response = execute(deps, invoker, {
      subcommand: undefined,
      strings: { steamid },
      booleans: { show: kind === 'public' },
      users: {},
      numbers: {},
      roles: {},
    });
    return response.kind === 'ephemeral' ? { ...response, kind: 'update' } : response;
  };
}

function isCalled({ matchedName }: FoundPlayer, text: string): boolean {
  return foldText(matchedName).trim() === foldText(text).trim();
}

/** A player among the suggestions: `⛔ Ola (Olka) · 76561198000000001`, with the name they were found by after the latest. */
function playerChoice({ steamId64, name, matchedName, isBanned }: FoundPlayer): Choice {
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
