import { Unavailable } from '../../src/domain/errors.ts';
import { type SteamId64, tryParseSteamReference } from '../../src/domain/steam-id.ts';
import { foldText } from '../../src/domain/text/fold-text.ts';
import { isolate } from '../../src/domain/text/isolate.ts';
import { type FoundPlayer, searchPlayers } from '../../src/queries/player-search.ts';
import { findUserByDiscordId, type User } from '../../src/queries/users/users.ts';
import type { ResolveVanity } from '../../src/steam/vanity-names.ts';
import {
  type Choice,
  type Command,
  type CommandDeps,
  type CommandOptions,
  type CommandResponse,
  type HandlePress,
  type Invoker,
  Refusal,
} from '../command.ts';
import { LIMITS } from '../discord-limits.ts';
import { linkButton, type MessageView, menuRow, noticeMessage, row } from '../embeds/message.ts';
import { toCustomId } from '../interactions/custom-id.ts';
import type { Localization } from '../locales/localization.ts';
import { cut, escapeText, toPlainLine } from '../text.ts';

/** A command about a person: who invoked it, and who sees the response in which language. */
export type PersonCommand = {
  name: 'ban-check' | 'lookup';
  invoker: Invoker;
  options: CommandOptions;
  kind: 'public' | 'ephemeral';
  localization: Localization;
};

/**
 * The response to a command about a person: visible only to the invoker, in their language. Moderators may show it to
 * everyone by `show`, in the guild's language.
 */
export function respondAboutPerson(
  name: PersonCommand['name'],
  { invoker, options }: Pick<PersonCommand, 'invoker' | 'options'>,
  render: (command: PersonCommand) => Promise<MessageView>,
): CommandResponse {
  const isShown = invoker.canModerateMembers && options.show === true;
  const kind = isShown ? 'public' : 'ephemeral';
  const localization = isShown ? invoker.guildLocalization : invoker.localization;
  return { kind, render: () => render({ name, invoker, options, kind, localization }) };
}

/**
 * Whether a response may contain the Discord account of a user who hides it: to themselves and to moderators, but not in
 * a message that everyone in the channel can read.
 */
export function showsDiscord(
  user: Pick<User, 'discordId' | 'hidesDiscord'>,
  { discordId, canModerateMembers }: Invoker,
  kind: CommandResponse['kind'],
): boolean {
  if (!user.hidesDiscord || user.discordId === discordId) return true;
  return canModerateMembers && kind === 'ephemeral';
}

/** The refusal for members without the permission; the same for every player that the command is about. */
export function moderateMembersRequired(): Refusal {
  return new Refusal((texts, mention) => texts.refusals.moderateMembersRequired(mention('ban-check', texts)));
}

/**
 * Moderators may see everyone, everyone else only themselves. The refusal is the same whether or not there is a record,
 * and comes before any query about the other person.
 * @throws {Refusal}
 */
export async function requireMaySee(
  { db }: CommandDeps,
  invoker: Invoker,
  steamId64: SteamId64,
): Promise<void> {
  if (invoker.canModerateMembers) return;
  const account = await findUserByDiscordId(db, invoker.discordId);
  if (account?.steamId64 !== steamId64) throw moderateMembersRequired();
}

/** The player linked to the invoker. @throws {Refusal} that explains how to link. */
export async function requireOwnSteamId({ db, pages }: CommandDeps, invoker: Invoker): Promise<SteamId64> {
  const user = await findUserByDiscordId(db, invoker.discordId);
  if (user) return user.steamId64;
  throw new Refusal(({ refusals, buttons }) =>
    noticeMessage(`${refusals.notLinkedYourself}\n${pages.account}`, undefined, [
      row(linkButton(buttons.account, pages.account)),
    ]),
  );
}

/**
 * Resolves the options `steamid` and `player`, in this order, to a player whom the invoker may see.
 * @returns undefined when neither is given.
 * @throws {Refusal} when the option names no known player, or one whom the invoker may not see.
 */
export async function resolveSteamOptions(
  deps: CommandDeps,
  command: PersonCommand,
): Promise<SteamId64 | undefined> {
  const { invoker, options } = command;
  const [steamId, player] = [options.steamid?.trim(), options.player?.trim()];
  if (!steamId && !player) return undefined;
  const subject = steamId
    ? await resolveSteamId(deps, invoker, steamId)
    : await resolvePlayer(deps, command, player ?? '');
  await requireMaySee(deps, invoker, subject);
  return subject;
}

/**
 * Resolves the option `steamid`, in any notation. Steam is asked for the custom addresses of others only by moderators.
 * @throws {Refusal} when it is not a SteamID, or a custom address that is unknown or cannot be looked up now.
 */
async function resolveSteamId(deps: CommandDeps, invoker: Invoker, text: string): Promise<SteamId64> {
  const reference = tryParseSteamReference(text);
  if (reference === undefined) {
    throw new Refusal(({ refusals }) => refusals.notASteamId(escapeText(text, { max: 64, fallback: '?' })));
  }
  if ('steamId64' in reference) return reference.steamId64;
  const { vanityName } = reference;
  const resolve = invoker.canModerateMembers ? deps.vanityNames.resolve : resolveOwnVanity(deps, invoker);
  const steamId64 = await resolve(vanityName).catch((error) => {
    if (error instanceof Unavailable) throw new Refusal(({ refusals }) => refusals.vanityUnavailable);
    throw error;
  });
  if (steamId64 !== undefined) return steamId64;
  throw new Refusal(({ refusals }) => refusals.vanityUnknown(escapeText(vanityName)));
}

/** Resolves the custom address of the invoker. @throws {Refusal} for any other. */
function resolveOwnVanity({ db, vanityNames }: CommandDeps, { discordId }: Invoker): ResolveVanity {
  return async (vanityName) => {
    const steamId64 = (await findUserByDiscordId(db, discordId))?.steamId64;
    if (steamId64 && (await vanityNames.isNameOf(vanityName, steamId64))) return steamId64;
    throw moderateMembersRequired();
  };
}

/**
 * Resolves the option `player`, which can be any text: autocomplete only suggests. A SteamID is accepted from everyone,
 * and the caller checks whether the invoker may see that player.
 * @throws {Refusal} when no player seen here has exactly this name; when several have, with a menu of them.
 */
async function resolvePlayer(
  { db, now }: CommandDeps,
  { name: command, invoker, kind }: PersonCommand,
  text: string,
): Promise<SteamId64> {
  const reference = tryParseSteamReference(text);
  if (reference && 'steamId64' in reference) return reference.steamId64;
  if (!invoker.canModerateMembers) throw moderateMembersRequired();
  const matches = await searchPlayers(db, text, { limit: LIMITS.menuOptions, now: now() });
  const candidates = matches.filter(
    ({ matchedName }) => foldText(matchedName).trim() === foldText(text).trim(),
  );
  const [first, second] = candidates;
  const name = escapeText(text, { max: 64, fallback: '?' });
  if (!first) throw new Refusal(({ refusals }) => refusals.playerNotFound(name));
  if (!second) return first.steamId64;
  const options = candidates.map(playerChoice).map(({ name: label, value }) => ({ label, value }));
  throw new Refusal(({ refusals, user }) =>
    noticeMessage(refusals.severalPlayers(name), undefined, [
      menuRow(toCustomId(`${command}.player`, kind), user.choose, options),
    ]),
  );
}

/** The handler of that menu: runs the command again with the chosen player. */
export function repeatForCandidate(execute: Command['execute']): HandlePress {
  return (deps, invoker, { args: [kind], values: [steamid = ''] }) => {
    const response = execute(deps, invoker, { steamid, show: kind === 'public' });
    return response.kind === 'ephemeral' ? { ...response, kind: 'update' } : response;
  };
}

/**
 * Suggests players with a name that contains the typed text; the values are SteamID64s. Only for moderators: others get
 * no suggestions, without a query.
 */
export async function completePlayer(
  { db, now }: CommandDeps,
  { canModerateMembers }: Invoker,
  typed: string,
): Promise<Choice[]> {
  if (!canModerateMembers) return [];
  const players = await searchPlayers(db, typed, { limit: LIMITS.choices, now: now() });
  return players.map(playerChoice);
}

/** A player among the suggestions: `⛔ Ola (Olka) · 76561198000000001`, with the name they were found by after the latest. */
function playerChoice({ steamId64, name, matchedName, isBanned }: FoundPlayer): Choice {
  const [latest, matched] = [toPlainLine(name, '?'), toPlainLine(matchedName)];
  const names =
    matched === '' || matched === latest
      ? isolate(cut(latest, MAX_NAME_LENGTH))
      : `${isolate(cut(latest, LONGER_NAME))} (${isolate(cut(matched, LONGER_NAME))})`;
  return { name: `${isBanned ? '⛔ ' : ''}${names} · ${steamId64}`, value: steamId64 };
}

/** The room for a name in the longest choice, with its two bidi isolation characters. */
const MAX_NAME_LENGTH = LIMITS.choiceText - '⛔ '.length - ' · 76561198000000001'.length - 2;
/** The room for each of two names. */
const LONGER_NAME = Math.floor((MAX_NAME_LENGTH - ' ()'.length - 2) / 2);
