import { Unavailable } from '../../src/domain/errors.ts';
import { tryParsePersonReference } from '../../src/domain/person-reference.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { foldText } from '../../src/domain/text/fold-text.ts';
import { isolate } from '../../src/domain/text/isolate.ts';
import { findPeople } from '../../src/queries/people.ts';
import { type FoundPlayer, listPlayers, searchPlayers } from '../../src/queries/player-search.ts';
import { findUserByDiscordId, type User } from '../../src/queries/users/users.ts';
import { toCustomId } from '../embeds/custom-id.ts';
import { LIMITS } from '../embeds/discord-limits.ts';
import { linkButton, type MessageView, menuRow, noticeMessage, row } from '../embeds/message-view.ts';
import { Refusal } from '../embeds/refusal.ts';
import { cut, escapeText, toPlainLine } from '../embeds/text.ts';
import type { Localization } from '../locales/localization.ts';
import {
  type Choice,
  type Command,
  type CommandDeps,
  type CommandOptions,
  type CommandResponse,
  type HandlePress,
  type Invoker,
  permissionRequired,
} from './command.ts';

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
export function moderateMembersRequired(invoker: Invoker): Refusal {
  return permissionRequired(invoker, (texts, mention) =>
    texts.refusals.moderateMembersRequired(mention('ban-check', texts)),
  );
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
  if (account?.steamId64 !== steamId64) throw moderateMembersRequired(invoker);
}

/** The player linked to the invoker. @throws {Refusal} that explains how to link. */
export async function requireOwnSteamId(
  { db, pages, linksAccounts }: CommandDeps,
  invoker: Invoker,
): Promise<SteamId64> {
  const user = await findUserByDiscordId(db, invoker.discordId);
  if (user) return user.steamId64;
  if (!linksAccounts) {
    throw new Refusal(({ refusals }) => `${refusals.notLinkedYourself}\n${refusals.linkingIsOff}`);
  }
  throw new Refusal(({ refusals, buttons }) =>
    noticeMessage(`${refusals.notLinkedYourself}\n${pages.account}`, undefined, [
      row(linkButton(buttons.account, pages.account)),
    ]),
  );
}

/**
 * Resolves the option `steamid`, or else `player`: a `PersonReference` or a whole name. Both can be any text, since
 * autocomplete only suggests.
 * @returns undefined when neither is given.
 * @throws {Refusal} when it means nobody here, or somebody whom the invoker may not see; with a menu when it means several.
 */
export async function resolveSteamOptions(
  deps: CommandDeps,
  command: PersonCommand,
): Promise<SteamId64 | undefined> {
  const { invoker, options } = command;
  const text = (options.steamid?.trim() || options.player?.trim())?.replace(LABEL_OF_PLAYER, '$1');
  if (!text) return undefined;
  const subject = invoker.canModerateMembers
    ? await resolveForModerator(deps, command, text)
    : await resolveForMember(deps, invoker, text);
  await requireMaySee(deps, invoker, subject);
  return subject;
}

/** The player whom a member names, without a query about anybody else, here or at Steam. @throws {Refusal} */
async function resolveForMember(deps: CommandDeps, invoker: Invoker, text: string): Promise<SteamId64> {
  const reference = tryParsePersonReference(text);
  if (reference === undefined) throw moderateMembersRequired(invoker);
  if ('steamId64' in reference) return reference.steamId64;
  if ('accountOf' in reference) return reference.accountOf;
  const own = await findUserByDiscordId(deps.db, invoker.discordId);
  if (own && 'discordId' in reference && reference.discordId === own.discordId) return own.steamId64;
  if (own && 'discordName' in reference) {
    const isOwn = reference.discordName.toLowerCase() === own.discordUsername?.toLowerCase();
    if (isOwn) return own.steamId64;
  }
  if (own && 'vanityName' in reference) {
    const { vanityName } = reference;
    const isOwn = await deps.vanityNames.isNameOf(vanityName, own.steamId64).catch(refuseUnavailable);
    if (isOwn) return own.steamId64;
  }
  throw moderateMembersRequired(invoker);
}

/** @throws {Refusal} when Steam cannot be asked. */
function refuseUnavailable(error: unknown): never {
  if (error instanceof Unavailable) throw new Refusal(({ refusals }) => refusals.vanityUnavailable);
  throw error;
}

/** The player whom a moderator names. @throws {Refusal} */
async function resolveForModerator(
  { db, now, vanityNames }: CommandDeps,
  { name: command, invoker, kind }: PersonCommand,
  text: string,
): Promise<SteamId64> {
  const people = await findPeople(db, text, {
    resolveVanity: vanityNames.resolve,
    maySeeDiscord: (user) => showsDiscord(user, invoker, kind),
  }).catch(refuseUnavailable);
  const [person, ...others] = people;
  if (person !== undefined && others.length === 0) return person;
  const candidates = person
    ? await listPlayers(db, people, { now: now() })
    : (await searchPlayers(db, text, { limit: LIMITS.menuOptions, now: now() })).filter(
        ({ matchedName }) => foldText(matchedName).trim() === foldText(text).trim(),
      );
  const [first, second] = candidates;
  const name = escapeText(text, { max: 64, fallback: '?' });
  if (!first) throw new Refusal(({ refusals }) => refusals.playerNotFound(name));
  if (!second) return first.steamId64;
  const options = candidates
    .slice(0, LIMITS.menuOptions)
    .map(playerChoice)
    .map(({ name: label, value }) => ({ label, value }));
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

/** Discord sends the label of a suggestion when a command was pasted or edited. */
const LABEL_OF_PLAYER = /^.* · (\d{17})$/u;
/** The room for a name in the longest choice, with its two bidi isolation characters. */
const MAX_NAME_LENGTH = LIMITS.choiceText - '⛔ '.length - ' · 76561198000000001'.length - 2;
/** The room for each of two names. */
const LONGER_NAME = Math.floor((MAX_NAME_LENGTH - ' ()'.length - 2) / 2);
