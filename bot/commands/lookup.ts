import { ApplicationCommandType } from 'discord.js';
import { withoutDiscord } from '../../src/domain/rights/discord-visibility.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { findUser } from '../../src/queries/users/users.ts';
import { type Command, type CommandOptions, type Invoker, Refusal } from '../command.ts';
import { type MessageView, noticeMessage } from '../embeds/message.ts';
import { userMessage } from '../embeds/user.ts';
import type { BanCheckDeps } from './ban-check.ts';
import { booleanOption, FOR_MODERATORS, localized, stringOption, userOption } from './definition.ts';
import { completePlayer } from './player-choice.ts';
import { loadSteamBans } from './steam-bans.ts';
import { resolveSteamOptions } from './subject.ts';
import {
  moderateMembersRequired,
  type PersonCommand,
  respondAboutPerson,
  showsDiscord,
} from './visibility.ts';

/** `/lookup user? steamid? player? show?`: a member's profile by the rules of `GET /users/lookup` (specification 4.5). */
export const lookup: Command<BanCheckDeps> = {
  define: () => ({
    ...localized((commands) => commands.lookup),
    type: ApplicationCommandType.ChatInput,
    default_member_permissions: FOR_MODERATORS,
    options: [
      userOption((commands) => commands.lookup.options.user),
      stringOption((commands) => commands.lookup.options.steamid),
      stringOption((commands) => commands.lookup.options.player, { autocomplete: true }),
      booleanOption((commands) => commands.lookup.options.show),
    ],
  }),
  execute: (deps, invoker, options) =>
    respondAboutPerson(invoker, options, (command) => renderUser(deps, command)),
  autocomplete: (deps, invoker, { text }) => completePlayer(deps, invoker, text),
};

async function renderUser(
  deps: BanCheckDeps,
  { invoker, options, kind, localization: { texts } }: PersonCommand,
): Promise<MessageView> {
  const subject = await resolveSubject(deps, invoker, options);
  const found = await findUser(deps.db, subject, deps.now());
  const isHidden = found !== undefined && !showsDiscord(found, invoker, kind);
  const user = isHidden ? ('discordId' in subject ? undefined : withoutDiscord(found)) : found;
  if (!user) throw new Refusal(({ refusals }) => noticeMessage(refusals.userNotFound));
  const steamBans = await loadSteamBans(deps, user.steamId64);
  return userMessage(user, { texts, invokerId: invoker.discordId, steamBans });
}

/**
 * The player to look up. One option is required; of several, the Discord user takes precedence, then the SteamID.
 * @throws {Refusal} when there is none, or when the invoker may not see them.
 */
async function resolveSubject(
  deps: BanCheckDeps,
  invoker: Invoker,
  options: CommandOptions,
): Promise<{ discordId: string } | { steamId64: SteamId64 }> {
  const discordId = options.users.user;
  if (discordId !== undefined) {
    if (!invoker.canModerateMembers && discordId !== invoker.discordId) throw moderateMembersRequired();
    return { discordId };
  }
  const steamId64 = await resolveSteamOptions(deps, invoker, options);
  if (steamId64 === undefined) throw new Refusal(({ refusals }) => noticeMessage(refusals.whomToLookUp));
  return { steamId64 };
}
