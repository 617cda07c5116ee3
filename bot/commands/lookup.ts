import { ApplicationCommandType, userMention } from 'discord.js';
import { withoutDiscord } from '../../src/domain/rights/discord-visibility.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { findUser } from '../../src/queries/users/users.ts';
import { type Command, Refusal } from '../command.ts';
import { type MessageView, noticeMessage } from '../embeds/message.ts';
import { userMessage } from '../embeds/user.ts';
import { type BanCheckDeps, readerOf, renderRecord } from './ban-check.ts';
import { booleanOption, FOR_MODERATORS, localized, stringOption, userOption } from './definition.ts';
import { completePlayer, repeatForCandidate } from './player-choice.ts';
import { loadSteamBans } from './steam-bans.ts';
import { resolveSteamOptions } from './subject.ts';
import {
  moderateMembersRequired,
  type PersonCommand,
  respondAboutPerson,
  showsDiscord,
} from './visibility.ts';

/** `/lookup user? steamid? player? show?`: a member's profile by the rules of `GET /users/lookup` (specification 4.5). */
export const lookupCommand: Command<BanCheckDeps> = {
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
    respondAboutPerson('lookup', { invoker, options }, (command) => renderUser(deps, command)),
  autocomplete: (deps, invoker, { text }) => completePlayer(deps, invoker, text),
  components: {
    'lookup.player': repeatForCandidate((deps, invoker, options) =>
      lookupCommand.execute(deps, invoker, options),
    ),
  },
};

async function renderUser(deps: BanCheckDeps, command: PersonCommand): Promise<MessageView> {
  const { invoker, kind } = command;
  const { texts } = command.localization;
  const isPublic = kind === 'public';
  const subject = await resolveSubject(deps, command);
  const account = await findUser(deps.db, subject, deps.now());
  const isHidden = account !== undefined && !showsDiscord(account, invoker, kind);
  if (!account || (isHidden && 'discordId' in subject)) {
    if ('discordId' in subject) {
      const mention = userMention(subject.discordId);
      throw new Refusal(({ refusals }) => noticeMessage(refusals.notLinkedUser(mention)));
    }
    return renderRecord(deps, subject.steamId64, { invoker, isPublic, page: 1 });
  }
  const user = isHidden ? withoutDiscord(account) : account;
  const steamBans = await loadSteamBans(deps, user.steamId64);
  const page = deps.pages.player(user.steamId64, readerOf(invoker, account, isPublic));
  return userMessage(user, { texts, page, steamBans });
}

/**
 * The player to look up. One option is required; of several, the Discord user takes precedence, then the SteamID.
 * @throws {Refusal} when there is none, or when the invoker may not see them.
 */
async function resolveSubject(
  deps: BanCheckDeps,
  command: PersonCommand,
): Promise<{ discordId: string } | { steamId64: SteamId64 }> {
  const { invoker, options } = command;
  const discordId = options.users.user;
  if (discordId !== undefined) {
    if (!invoker.canModerateMembers && discordId !== invoker.discordId) throw moderateMembersRequired();
    return { discordId };
  }
  const steamId64 = await resolveSteamOptions(deps, command);
  if (steamId64 === undefined) throw new Refusal(({ refusals }) => noticeMessage(refusals.whomToLookUp));
  return { steamId64 };
}
