import type { User } from '../../src/queries/users/users.ts';
import { type CommandOptions, type CommandResponse, type Invoker, Refusal } from '../command.ts';
import { noticeMessage } from '../embeds/message.ts';
import type { Localization } from '../locales/localization.ts';

/**
 * Who sees the response to a command about a person, and in which language: the invoker alone, in their own. Moderators
 * may show it to everyone by `show`, in the guild's language.
 */
export function visibilityOf(
  { canModerateMembers, localization, guildLocalization }: Invoker,
  { booleans }: CommandOptions,
): { kind: CommandResponse['kind']; localization: Localization } {
  return canModerateMembers && booleans.show === true
    ? { kind: 'public', localization: guildLocalization }
    : { kind: 'ephemeral', localization };
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

/** The refusal for members without the permission, whoever the command was about. */
export function moderateMembersRequired(): Refusal {
  return new Refusal((texts, mention) =>
    noticeMessage(texts.refusals.moderateMembersRequired(mention('ban-check', texts))),
  );
}
