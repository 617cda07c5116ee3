import type { RESTPostAPIApplicationCommandsJSONBody } from 'discord.js';
import type { MessageView } from './embeds/message.ts';
import type { Texts } from './locales/en.ts';
import type { Reader } from './locales/reader.ts';

/** Who caused an interaction, and where; taken from the interaction alone, so it holds now. */
export type Asker = {
  discordId: string;
  /**
   * Whether Discord gives them the permission Moderate Members in this guild (the account page's admins are others).
   * Checked in code, whatever the guild's settings for the command say.
   */
  canModerateMembers: boolean;
  guildId: string | undefined;
  channelId: string;
  /** Whether the bot may send messages with embeds in this channel. */
  botMayPost: boolean;
  /** In the language of the asker. */
  reader: Reader;
  /** In the language of the guild; of the asker in a direct message. */
  publicReader: Reader;
};

/** Options of a command by their name; absent ones were not given. */
export type Options = {
  strings: Readonly<Record<string, string>>;
  booleans: Readonly<Record<string, boolean>>;
  /** Discord ids. */
  users: Readonly<Record<string, string>>;
};

/** The message a component sits on. */
export type Pressed = {
  args: readonly string[];
  /** What was chosen in a menu. */
  values: readonly string[];
  /** Who caused the message; undefined for one that the bot posted by itself. */
  ownerId: string | undefined;
  isEphemeral: boolean;
};

/**
 * What is answered, and to whom. Known before any query, so that a slow answer can be acknowledged in time.
 * `message` changes the message the component sits on.
 */
export type Answer = {
  to: 'everyone' | 'asker' | 'message';
  /** @throws {Refusal} what the asker is told instead. */
  render: () => Promise<MessageView> | MessageView;
};

/** One entry among Discord's commands. */
export type Command = {
  data: RESTPostAPIApplicationCommandsJSONBody;
  execute: (asker: Asker, options: Options) => Answer;
  autocomplete?: (asker: Asker, typed: string) => { name: string; value: string }[];
};

/** Buttons and menus by the name their `custom_id` begins with. */
export type Components = Readonly<Record<string, (asker: Asker, pressed: Pressed) => Answer>>;

/** Something the asker is told in his language instead of an answer; nobody else sees it. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly explain: (texts: Texts) => MessageView;

  constructor(explain: (texts: Texts) => MessageView) {
    super('refused');
    this.explain = explain;
  }
}
