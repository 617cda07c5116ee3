import type { RESTPostAPIApplicationCommandsJSONBody } from 'discord.js';
import type { MentionCommand } from './command-mentions.ts';
import type { MessageView } from './embeds/message.ts';
import type { Texts } from './locales/en.ts';
import type { BotPermission } from './locales/feed-en.ts';
import type { Localization } from './locales/localization.ts';

/** Who caused an interaction, and where; read from this interaction alone, so it holds now. */
export type Invoker = {
  discordId: string;
  /**
   * Whether Discord gives them the permission Moderate Members in this guild (the account page's admins are others).
   * Checked in code, whatever the guild's settings for the command say.
   */
  canModerateMembers: boolean;
  /** Whether Discord gives them the permission Manage Server in this guild; by the same rule. */
  canManageGuild: boolean;
  /** Undefined in a direct message. */
  guildId: string | undefined;
  channelId: string;
  /** What the bot lacks to send messages with embeds in this channel; empty: nothing. */
  botLacks: readonly BotPermission[];
  /** Whether the bot may mention roles in this channel that not everybody may mention. */
  botCanMentionRoles: boolean;
  /** Their own language. */
  localization: Localization;
  /** The language of the guild; their own in a direct message. */
  guildLocalization: Localization;
};

/** A role of the guild that was chosen. */
export type ChosenRole = { id: string; isMentionable: boolean };

/** Options of a command by name; those not given are absent. */
export type CommandOptions = {
  /** Such as `start` in `/feed start`. */
  subcommand: string | undefined;
  roles: Readonly<Record<string, ChosenRole>>;
  numbers: Readonly<Record<string, number>>;
  strings: Readonly<Record<string, string>>;
  booleans: Readonly<Record<string, boolean>>;
  /** Discord ids. */
  users: Readonly<Record<string, string>>;
};

/** A button that was pressed, or a choice in a menu. */
export type ComponentPress = {
  /** Of the `custom_id`. Anyone can send any: each is checked where it is used. */
  args: readonly string[];
  /** What was chosen in a menu. */
  values: readonly string[];
  /** Who invoked the command that the message responds to; undefined for a message the bot posted by itself. */
  messageOwnerId: string | undefined;
  isEphemeral: boolean;
};

/**
 * The response to an interaction. Its kind is known before any query, so that a slow one can be deferred with the right
 * visibility: a new message for everyone in the channel, a new one for the invoker alone, or a change of the message
 * that the component belongs to.
 */
export type CommandResponse = {
  kind: 'public' | 'ephemeral' | 'update';
  /** @throws {Refusal} what the invoker reads instead. */
  render: () => Promise<MessageView> | MessageView;
};

/** A suggestion: what is shown, and what is sent when it is chosen; at most 100 characters each. */
export type Choice = { name: string; value: string };

/** A slash command, or an entry of the user menu. */
export type Command = {
  data: RESTPostAPIApplicationCommandsJSONBody;
  execute: (invoker: Invoker, options: CommandOptions) => CommandResponse;
  /**
   * Suggestions for an option, at most 25.
   * @param option the name of the option that is being typed.
   */
  autocomplete?: (invoker: Invoker, typed: string, option: string) => Promise<Choice[]> | Choice[];
};

/** Buttons and menus by the name that their `custom_id` begins with. */
export type Components = Readonly<
  Record<string, (invoker: Invoker, press: ComponentPress) => CommandResponse>
>;

type Explain = (texts: Texts, mention: MentionCommand) => MessageView;

/** Says in the invoker's language, to them alone, why they do not get what they asked for. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly explain: Explain;

  constructor(explain: Explain) {
    super('refused');
    this.explain = explain;
  }
}
