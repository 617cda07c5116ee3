import type { RESTPostAPIApplicationCommandsJSONBody } from 'discord.js';
import type { RequestDb } from '../../src/db/client.ts';
import type { Panel } from '../../src/domain/panel.ts';
import type { LookUpSteamBans } from '../../src/steam/bans.ts';
import type { VanityNames } from '../../src/steam/vanity-names.ts';
import type { BotContext } from '../context.ts';
import type { ReadChart } from '../embeds/history-charts.ts';
import type { MessageView } from '../embeds/message-view.ts';
import { Refusal } from '../embeds/refusal.ts';
import type { BotPermission } from '../locales/en.ts';
import type { Localization } from '../locales/localization.ts';
import type { ChannelMessage } from '../posting/channel-messages.ts';
import type { DirectMessages } from '../posting/direct-messages.ts';
import type { LiveStatus } from '../posting/live-status.ts';

/** What commands need. */
export type CommandDeps = Omit<BotContext, 'db'> & {
  db: RequestDb;
  vanityNames: VanityNames;
  /** Where a penalty can be appealed. */
  appealUrl: string | undefined;
  /** Whether players appeal on this site. */
  takesAppeals: boolean;
  /** Whether people can link their Discord account on this site. */
  linksAccounts: boolean;
  /** The panels of the systems that penalties come from, for moderators. */
  panels: readonly Panel[];
  /** Absent without `STEAM_API_KEY`: messages then omit Steam's bans. */
  lookUpSteamBans?: LookUpSteamBans | undefined;
  chartOf: ReadChart;
  pinLiveStatus: LiveStatus['pin'];
  unpinLiveStatus: LiveStatus['unpin'];
  /** Posts a message into a channel of a guild. @throws {Refusal} when that cannot be done now. */
  postMessage: (place: { guildId: string; channelId: string }, message: ChannelMessage) => Promise<void>;
  sendDirectMessage: DirectMessages['send'];
  /** Called after a feed was started, changed or stopped. */
  onFeedsChanged: () => void;
};

/** Who caused an interaction, and where; read from that interaction, so it is current. */
export type Invoker = {
  discordId: string;
  /**
   * Whether they have the permission Timeout Members in this guild (unrelated to admins of the account page).
   * Checked in code, whatever the guild's settings for the command are.
   */
  canModerateMembers: boolean;
  /** Whether they have the permission Manage Server in this guild. Checked in code as well. */
  canManageGuild: boolean;
  /** Whether Discord gives them one of these permissions in a guild where nobody is a moderator. */
  isUnrecognised: boolean;
  /** Undefined in a direct message. */
  guildId: string | undefined;
  channelId: string;
  isInThread: boolean;
  /** The permissions that the bot lacks to send messages with embeds in this channel. */
  botLacks: readonly BotPermission[];
  /** Whether the bot may mention any role in this channel, even a role that is not mentionable. */
  botCanMentionRoles: boolean;
  /** Whether they may mention any role in this channel themselves. */
  canMentionRoles: boolean;
  /** Their own language. */
  localization: Localization;
  /** Discord's code for it. */
  locale: string;
  /** What everybody in the guild reads; in a direct message their own. */
  guildLocalization: Localization;
  /** Discord's code for the guild's language; in a direct message for their own. */
  guildLocale: string;
};

/** The options of all commands, by the names and with the types that they are registered with. */
export type CommandOptions = {
  /** Such as `start` in `/feed start`. */
  subcommand?: string;
  name?: string;
  steamid?: string;
  player?: string;
  /** A Discord id. */
  user?: string;
  show?: boolean;
  what?: string;
  types?: string;
  server?: string;
  players?: number;
  after?: number;
  /** `isMentionable`: by everyone. */
  role?: { id: string; isMentionable: boolean };
  /** `canMentionRoles`: the invoker, any role there. */
  channel?: { id: string; canMentionRoles: boolean };
};

/** A button that was pressed, or a choice in a menu. */
export type ComponentPress = {
  /** From the `custom_id`. They can be forged, so each is checked where it is used. */
  args: readonly string[];
  /** The chosen values of a menu. */
  values: readonly string[];
  /** The message that the component belongs to. */
  messageId: string;
  /** Who invoked the command that the message responds to; undefined for a message the bot posts unprompted. */
  messageOwnerId: string | undefined;
  isEphemeral: boolean;
};

/**
 * The response to an interaction. Its kind is decided before any query, so that a slow response can be deferred with the
 * right visibility: a new message for everyone in the channel, a new one that only the invoker sees, or an update of the
 * message that the component belongs to.
 */
export type CommandResponse = {
  kind: 'public' | 'ephemeral' | 'update';
  /** Exempt from the limit for data: it sends messages, for which Discord may make the bot wait. */
  sendsMessages?: true;
  /** @throws {Refusal} with what the invoker gets instead. */
  render: () => Promise<MessageView> | MessageView;
};

/** A suggestion of autocomplete: its label, and the value that is sent; at most 100 characters each. */
export type Choice = { name: string; value: string };

/** A slash command, or a command of the user context menu. */
export type Command = {
  /** What is registered with Discord. */
  define: () => RESTPostAPIApplicationCommandsJSONBody;
  execute: (deps: CommandDeps, invoker: Invoker, options: CommandOptions) => CommandResponse;
  /**
   * Suggestions for an option, at most 25.
   * @param typed.option the name of the option that is being typed.
   */
  autocomplete?: (
    deps: CommandDeps,
    invoker: Invoker,
    typed: { text: string; option: string; subcommand: string | undefined },
  ) => Promise<Choice[]> | Choice[];
  /** Handlers of the buttons and menus in its messages, by the name at the start of their `custom_id`. */
  components?: Readonly<Record<string, HandlePress>>;
};

export type HandlePress = (deps: CommandDeps, invoker: Invoker, press: ComponentPress) => CommandResponse;

/**
 * The refusal for somebody without a permission; in a guild where nobody is a moderator yet, it says so to those who have the
 * permission there.
 * @param explain what everybody else gets.
 */
export function permissionRequired({ isUnrecognised }: Invoker, explain: Refusal['explain']): Refusal {
  return new Refusal(isUnrecognised ? ({ refusals }) => refusals.nobodyModerates : explain);
}
