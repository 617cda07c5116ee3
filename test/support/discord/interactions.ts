import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ChannelType,
  ComponentType,
  InteractionContextType,
  InteractionType,
} from 'discord.js';
import { type Actor, anActor, type FakeUser } from './actor.ts';
import type { Exchange } from './exchange.ts';
import type { FakeMember } from './guild.ts';
import { type FakeMessage, findButton, findComponent } from './messages.ts';
import { nextSnowflake } from './snowflake.ts';

/** A role of the guild. */
type FakeRole = { id: string; name: string; mentionable: boolean };
/** A channel, and the sender's permissions there. */
type FakeChannel = { id: string; permissions?: string };
export type OptionValue =
  | string
  | boolean
  | number
  | { user: FakeUser }
  | { role: FakeRole }
  | { channel: FakeChannel };

type Sender = {
  applicationId: string;
  /** By token. */
  exchanges: Map<string, Exchange>;
  /** Sends an event through the gateway. */
  dispatch: (type: string, data: unknown) => void;
  /** What a guild says about a member. */
  membership: (userId: string) => FakeMember | undefined;
  state: { acknowledgeWithinMs: number };
};

/** What people do in Discord's client: each function sends one interaction. */
export function createInteractions({ applicationId, exchanges, dispatch, membership, state }: Sender) {
  /** By token: who waits for the acknowledgement. */
  const waiting = new Map<string, (exchange: Exchange) => void>();

  /** @returns when it was acknowledged, or shortly after Discord would have given it up. */
  function interact(type: number, data: object, actor: Actor, message?: FakeMessage): Promise<Exchange> {
    const exchange: Exchange = {
      id: nextSnowflake(),
      token: `token-${nextSnowflake()}`,
      type,
      sentAt: Date.now(),
      followUps: [],
      actor,
      refusals: [],
      ...(message && { message }),
    };
    exchanges.set(exchange.token, exchange);
    const { promise, resolve } = Promise.withResolvers<Exchange>();
    const timer = setTimeout(() => {
      waiting.delete(exchange.token);
      resolve(exchange);
    }, state.acknowledgeWithinMs + 200);
    waiting.set(exchange.token, (acknowledged) => {
      clearTimeout(timer);
      resolve(acknowledged);
    });
    dispatch('INTERACTION_CREATE', {
      id: exchange.id,
      application_id: applicationId,
      type,
      data: { id: nextSnowflake(), ...data },
      token: exchange.token,
      version: 1,
      ...placeOf(actor, membership(actor.user.id)),
      ...(message && { message: { ...message, files: undefined } }),
    });
    return promise;
  }

  function pressComponent(message: FakeMessage, data: object, actor: Actor): Promise<Exchange> {
    return interact(InteractionType.MessageComponent, data, actor, message);
  }
  /** Presses a button, whose custom id may be forged. */
  function press(message: FakeMessage, customId: string, actor: Actor): Promise<Exchange> {
    return pressComponent(message, { component_type: ComponentType.Button, custom_id: customId }, actor);
  }
  /** Chooses in a menu; the custom id and the values may be forged. */
  function select(message: FakeMessage, customId: string, values: string[], actor: Actor): Promise<Exchange> {
    const data = { component_type: ComponentType.StringSelect, custom_id: customId, values };
    return pressComponent(message, data, actor);
  }

  return {
    onAcknowledged: (exchange: Exchange): void => {
      waiting.get(exchange.token)?.(exchange);
      waiting.delete(exchange.token);
    },
    /**
     * A slash command, with its subcommand after a space; options by name. A Discord user is given by `{ user }`, a role
     * by `{ role }`, a channel by `{ channel }`.
     */
    command: (name: string, options: Record<string, OptionValue> = {}, actor = anActor()) =>
      interact(InteractionType.ApplicationCommand, toCommandData(name, options), actor),
    /** An entry of the menu on a user. */
    userMenu: (name: string, target: FakeUser, actor = anActor()) => {
      const resolved = { users: { [target.id]: target } };
      const type = ApplicationCommandType.User;
      const data = { name, type, target_id: target.id, resolved };
      return interact(InteractionType.ApplicationCommand, data, actor);
    },
    autocomplete: (name: string, option: string, typed: string, actor = anActor()) => {
      const type = ApplicationCommandOptionType.String;
      const options = [{ type, name: option, value: typed, focused: true }];
      const data = { type: ApplicationCommandType.ChatInput, ...nest(name, options) };
      return interact(InteractionType.ApplicationCommandAutocomplete, data, actor);
    },
    press,
    select,
    /** Presses the button with a label. @throws when the message has none that is enabled. */
    click: async (message: FakeMessage | undefined, label: string, actor: Actor) => {
      const button = findButton(message, label);
      if (!message || button?.custom_id === undefined || button.disabled)
        throw new Error(`there is no button ${label}`);
      return press(message, button.custom_id, actor);
    },
    /** Chooses an option of a menu. @throws when the message has no such menu or option. */
    choose: async (
      message: FakeMessage | undefined,
      customId: string | RegExp,
      value: string,
      actor: Actor,
    ) => {
      const menu = findComponent(message, customId);
      const isOption = menu?.options?.some((option) => option.value === value);
      if (!message || menu?.custom_id === undefined || !isOption)
        throw new Error(`there is no option ${value} in ${customId}`);
      return select(message, menu.custom_id, [value], actor);
    },
  };
}

/** Who sent an interaction and where, as Discord says it. */
function placeOf(actor: Actor, membership: FakeMember | undefined): Record<string, unknown> {
  const { user, permissions, locale, guildId, guildLocale, channelId, channelType, appPermissions } = actor;
  const place = {
    channel_id: channelId,
    app_permissions: appPermissions,
    locale,
    entitlements: [],
    authorizing_integration_owners: { 0: guildId ?? '0' },
    attachment_size_limit: 10_485_760,
  };
  if (guildId === undefined) {
    const channel = { id: channelId, type: ChannelType.DM, recipients: [user] };
    return { ...place, user, channel, context: InteractionContextType.BotDM };
  }
  return {
    ...place,
    channel: { id: channelId, type: channelType, name: 'general', guild_id: guildId, permissions },
    context: InteractionContextType.Guild,
    guild_id: guildId,
    guild: { id: guildId, locale: guildLocale, features: [] },
    guild_locale: guildLocale,
    member: {
      user,
      permissions,
      roles: membership?.roles ?? [],
      premium_since: membership?.premium_since ?? null,
      joined_at: '2024-01-01T00:00:00.000000+00:00',
      flags: 0,
    },
  };
}

function toCommandData(name: string, values: Record<string, OptionValue>) {
  const users: Record<string, FakeUser> = {};
  const roles: Record<string, FakeRole> = {};
  const channels: Record<string, FakeChannel & { type: ChannelType; name: string }> = {};
  const options = Object.entries(values).map(([option, value]) => {
    if (typeof value !== 'object') return { type: optionTypeOf(value), name: option, value };
    if ('role' in value) {
      roles[value.role.id] = value.role;
      return { type: ApplicationCommandOptionType.Role, name: option, value: value.role.id };
    }
    if ('channel' in value) {
      const { id, permissions = '0' } = value.channel;
      channels[id] = { id, permissions, type: ChannelType.GuildText, name: 'other' };
      return { type: ApplicationCommandOptionType.Channel, name: option, value: id };
    }
    users[value.user.id] = value.user;
    return { type: ApplicationCommandOptionType.User, name: option, value: value.user.id };
  });
  return {
    type: ApplicationCommandType.ChatInput,
    ...nest(name, options),
    resolved: { users, roles, channels },
  };
}

function optionTypeOf(value: string | boolean | number): ApplicationCommandOptionType {
  if (typeof value === 'number') return ApplicationCommandOptionType.Integer;
  return typeof value === 'string'
    ? ApplicationCommandOptionType.String
    : ApplicationCommandOptionType.Boolean;
}

/** Options as Discord sends them: those of a subcommand lie one level deeper. */
function nest(name: string, options: unknown[]): { name: string; options: unknown[] } {
  const [command = '', subcommand] = name.split(' ');
  if (subcommand === undefined) return { name: command, options };
  const type = ApplicationCommandOptionType.Subcommand;
  return { name: command, options: [{ type, name: subcommand, options }] };
}
