import { ApplicationCommandType, ChannelType, RESTJSONErrorCodes } from 'discord.js';
import { checkMessage } from './message-form.ts';
import type { MessageStore } from './messages.ts';
import { json, type RestCall, restError } from './rest-call.ts';
import { nextSnowflake } from './snowflake.ts';

type Texts = {
  name: string;
  name_localizations?: Record<string, string> | null;
  description?: string;
  description_localizations?: Record<string, string> | null;
};

/** An option or a subcommand. */
export type FakeCommandOption = Texts & {
  type: number;
  required?: boolean;
  choices?: (Texts & { value: string | number })[];
  options?: FakeCommandOption[];
};

type FakeCommand = Texts & {
  options?: FakeCommandOption[];
  default_member_permissions?: string | null;
  contexts?: number[] | null;
};

type Options = {
  applicationId: string;
  guildIds: readonly string[];
  messages: MessageStore;
  state: { guildAccess: boolean };
};

/** Discord's endpoints with the bot's token: the commands of the application, and the messages of channels and users. */
export function createApplicationRoutes({ applicationId, guildIds, messages, state }: Options) {
  /** By scope: a guild's id, or `global`. */
  const commands = new Map<string, FakeCommand[]>();
  /** A command that is registered again under its name keeps its id. */
  const commandIds = new Map<string, string>();
  const goneChannels = new Set<string>();
  const archivedThreads = new Set<string>();
  const announcementChannels = new Set<string>();
  const published: string[] = [];
  /** By user. */
  const directChannels = new Map<string, string>();
  /** By nonce: the ids of the messages that Discord remembers. */
  const remembered = new Map<string, string>();

  /** The id of a registered command. @param scope a guild's id, or `global`. */
  function commandId(name: string, scope = 'global'): string | undefined {
    return commandIds.get(`${scope} ${name}`);
  }

  function describeCommand(scope: string, command: FakeCommand, isWhole: boolean) {
    const id = commandId(command.name, scope) ?? nextSnowflake();
    commandIds.set(`${scope} ${command.name}`, id);
    return {
      type: ApplicationCommandType.ChatInput,
      ...(isWhole ? command : withoutLocalizations(command)),
      id,
      application_id: applicationId,
      version: nextSnowflake(),
    };
  }

  function postMessage({ body, files }: RestCall, channelId: string): Response {
    const complaint = checkMessage(body, files);
    if (complaint) return json(400, complaint);
    const { nonce = '', enforce_nonce: isEnforced } = body;
    const earlierId = isEnforced ? remembered.get(nonce) : undefined;
    const message =
      earlierId === undefined ? messages.create(channelId, body, files) : messages.all.get(earlierId);
    if (!message) return restError(404, RESTJSONErrorCodes.UnknownMessage);
    if (nonce !== '') remembered.set(nonce, message.id);
    archivedThreads.delete(channelId);
    return json(200, message);
  }

  return {
    commands,
    commandId,
    /** As messages mention a registered command, or its subcommand after a space. */
    mention: (command: string) => `</${command}:${commandId(command.split(' ')[0] ?? '')}>`,
    goneChannels,
    archivedThreads,
    announcementChannels,
    /** The id of a message for each time that it was published to other guilds. */
    published,
    directChannels,
    openDirectChannel: ({ body }: RestCall): Response => {
      const userId = body.recipient_id ?? '';
      const id = directChannels.get(userId) ?? nextSnowflake();
      directChannels.set(userId, id);
      return json(200, { id, type: ChannelType.DM, recipients: [{ id: userId }] });
    },
    useCommands: (call: RestCall, application: string, guildId: string | undefined): Response => {
      if (application !== applicationId) return restError(404, RESTJSONErrorCodes.UnknownApplication);
      if (guildId !== undefined && (!guildIds.includes(guildId) || !state.guildAccess))
        return restError(403, RESTJSONErrorCodes.MissingAccess);
      const scope = guildId ?? 'global';
      if (call.method === 'PUT') {
        commands.set(scope, Array.isArray(call.body) ? call.body : []);
      }
      const isWhole = call.method === 'PUT' || call.query.get('with_localizations') === 'true';
      const listed = commands.get(scope) ?? [];
      return json(
        200,
        listed.map((command) => describeCommand(scope, command, isWhole)),
      );
    },
    describeChannel: (channelId: string): Response => {
      const isAnnouncement = announcementChannels.has(channelId);
      return json(200, {
        id: channelId,
        type: isAnnouncement ? ChannelType.GuildAnnouncement : ChannelType.GuildText,
      });
    },
    publish: (messageId: string): Response => {
      published.push(messageId);
      return json(200, messages.all.get(messageId));
    },
    changeChannel: ({ body }: RestCall, channelId: string): Response => {
      if (body.archived === false) archivedThreads.delete(channelId);
      return json(200, { id: channelId });
    },
    useChannel: (call: RestCall, channelId: string, messageId: string | undefined): Response => {
      if (goneChannels.has(channelId)) return restError(404, RESTJSONErrorCodes.UnknownChannel);
      if (call.method === 'POST') return postMessage(call, channelId);
      const message = messages.all.get(messageId ?? '');
      if (!message || message.channel_id !== channelId)
        return restError(404, RESTJSONErrorCodes.UnknownMessage);
      if (call.method === 'DELETE') {
        messages.all.delete(message.id);
        return new Response(null, { status: 204 });
      }
      if (archivedThreads.has(channelId))
        return restError(400, RESTJSONErrorCodes.InvalidActionOnArchivedThread);
      const complaint = checkMessage(call.body, call.files, { isEdit: true });
      return complaint ? json(400, complaint) : json(200, messages.edit(message, call.body, call.files));
    },
  };
}

/** Discord lists no localizations unless it is asked for them. */
function withoutLocalizations<Item extends FakeCommand | FakeCommandOption>(item: Item): Item {
  const { name_localizations: _names, description_localizations: _descriptions, ...rest } = item;
  return { ...rest, ...(item.options && { options: item.options.map(withoutLocalizations) }) } as Item;
}
