import type { Db } from '../../src/db/client.ts';
import { Unavailable } from '../../src/domain/errors.ts';
import { tryParseSteamReference } from '../../src/domain/profile-address.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { findUserByDiscordId } from '../../src/queries/users/users.ts';
import type { ResolveVanity } from '../../src/steam/vanity-names.ts';
import { type Invoker, Refusal } from '../command.ts';
import { linkButton, noticeMessage, row } from '../embeds/message.ts';
import type { SitePages } from '../site-pages.ts';
import { escapeText } from '../text.ts';
import { resolvePlayer } from './player-choice.ts';
import { moderateMembersRequired, type PersonCommand } from './visibility.ts';

/** Dependencies of resolving the player that a command is about. */
export type SubjectDeps = {
  db: Db;
  pages: SitePages;
  resolveVanity: ResolveVanity;
  now: () => Date;
};

/**
 * Resolves the option `steamid`, in any notation.
 * @throws {Refusal} when it is not a SteamID, or a custom address that is unknown or cannot be looked up now.
 */
async function resolveSteamId({ resolveVanity }: SubjectDeps, text: string): Promise<SteamId64> {
  const reference = tryParseSteamReference(text);
  if (reference === undefined) {
    throw new Refusal(({ refusals }) =>
      noticeMessage(refusals.notASteamId(escapeText(text, { max: 64, fallback: '?' }))),
    );
  }
  if ('steamId64' in reference) return reference.steamId64;
  const { vanityName } = reference;
  const steamId64 = await resolveVanity(vanityName).catch((error) => {
    if (error instanceof Unavailable)
      throw new Refusal(({ refusals }) => noticeMessage(refusals.vanityUnavailable));
    throw error;
  });
  if (steamId64 !== undefined) return steamId64;
  throw new Refusal(({ refusals }) => noticeMessage(refusals.vanityUnknown(escapeText(vanityName))));
}

/**
 * Resolves the options `steamid` and `player`, in this order, to a player whom the invoker may see.
 * @returns undefined when neither is given.
 * @throws {Refusal} when the option names no known player, or one whom the invoker may not see.
 */
export async function resolveSteamOptions(
  deps: SubjectDeps,
  command: PersonCommand,
): Promise<SteamId64 | undefined> {
  const { invoker, options } = command;
  const [steamId, player] = [options.strings.steamid?.trim(), options.strings.player?.trim()];
  if (!steamId && !player) return undefined;
  const subject = steamId
    ? await resolveSteamId(deps, steamId)
    : await resolvePlayer(deps, command, player ?? '');
  await requireMaySee(deps, invoker, subject);
  return subject;
}

/** The player linked to the invoker. @throws {Refusal} that explains how to link. */
export async function requireOwnSteamId({ db, pages }: SubjectDeps, invoker: Invoker): Promise<SteamId64> {
  const user = await findUserByDiscordId(db, invoker.discordId);
  if (user) return user.steamId64;
  throw new Refusal(({ refusals, buttons }) =>
    noticeMessage(`${refusals.notLinkedYourself}\n${pages.account}`, undefined, [
      row(linkButton(buttons.account, pages.account)),
    ]),
  );
}

/**
 * Moderators may see everyone, everyone else only themselves. The refusal is the same whether or not there is a record,
 * and comes before any query about the other person.
 * @throws {Refusal}
 */
export async function requireMaySee(
  { db }: SubjectDeps,
  invoker: Invoker,
  steamId64: SteamId64,
): Promise<void> {
  if (invoker.canModerateMembers) return;
  const own = await findUserByDiscordId(db, invoker.discordId);
  if (own?.steamId64 !== steamId64) throw moderateMembersRequired();
}
