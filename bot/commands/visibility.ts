import type { User } from '../../src/queries/users/users.ts';
import { type CommandOptions, type CommandResponse, type Invoker, Refusal } from '../command.ts';
import { type MessageView, noticeMessage } from '../embeds/message.ts';
import type { Localization } from '../locales/localization.ts';

/** A command about a person: who invoked it, and who sees the response in which language. */
export type PersonCommand = {
  name: 'ban-check' | 'lookup';
  invoker: Invoker;
  options: CommandOptions;
  kind: 'public' | 'ephemeral';
  localization: Localization;
};

/**
 * The response to a command about a person: for the invoker alone, in their own language. Moderators may show it to
 * everyone by `show`, in the guild's language.
 */
export function respondAboutPerson(
  name: PersonCommand['name'],
  { invoker, options }: Pick<PersonCommand, 'invoker' | 'options'>,
  render: (command: PersonCommand) => Promise<MessageView>,
): CommandResponse {
  const isShown = invoker.canModerateMembers && options.booleans.show === true;
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
  return new Refusal((texts, mention) =>
    noticeMessage(texts.refusals.moderateMembersRequired(mention('ban-check', texts))),
  );
}
