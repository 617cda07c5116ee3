import { ChannelType, PermissionFlagsBits } from 'discord.js';
import { nextSnowflake } from './snowflake.ts';

export type FakeUser = {
  id: string;
  username: string;
  discriminator: string;
  global_name: string | null;
  avatar: string | null;
};

/** A person in a channel, who sends interactions. */
export type Actor = {
  user: FakeUser;
  /** Permission bits of the member in the channel; `'0'` for none. */
  permissions: string;
  locale: string;
  /** Undefined: in a direct message. */
  guildId: string | undefined;
  guildLocale: string;
  channelId: string;
  channelType: ChannelType;
  /** Permission bits of the bot in the channel. */
  appPermissions: string;
};

const { EmbedLinks, ManageGuild, ModerateMembers, SendMessages, ViewChannel } = PermissionFlagsBits;

/**
 * A member of a guild that speaks English, without rights unless told otherwise.
 * @param values `isModerator` gives Moderate Members, `isManager` Manage Server; `userId` is a new one by default.
 */
export function anActor(
  values: Partial<Actor> & { isModerator?: boolean; isManager?: boolean; userId?: string } = {},
): Actor {
  const { isModerator = false, isManager = false, userId = nextSnowflake(), ...rest } = values;
  return {
    user: { id: userId, username: `user${userId}`, discriminator: '0', global_name: null, avatar: null },
    permissions: String(
      ViewChannel | SendMessages | (isModerator ? ModerateMembers : 0n) | (isManager ? ManageGuild : 0n),
    ),
    locale: 'en-US',
    guildId: '900000000000000001',
    guildLocale: 'en-US',
    channelId: '910000000000000001',
    channelType: ChannelType.GuildText,
    appPermissions: String(ViewChannel | SendMessages | EmbedLinks),
    ...rest,
  };
}
