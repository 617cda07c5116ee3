import type { CommandOptions, CommandResponse, Invoker } from '../command.ts';
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
