import { createHash } from 'node:crypto';
import type { REST } from '@discordjs/rest';
import {
  RESTJSONErrorCodes,
  type RESTPatchAPIChannelMessageJSONBody,
  type RESTPostAPIChannelMessageJSONBody,
  Routes,
} from 'discord.js';
import type { MessageView } from './embeds/message.ts';
import { isDiscordError } from './rest.ts';

type Post = {
  channelId: string;
  body: RESTPostAPIChannelMessageJSONBody;
  /** Requests with the same nonce post one message, for the few minutes that Discord remembers nonces. */
  nonce?: string;
  signal?: AbortSignal;
};

/** The error codes for a channel that exists, but in which the bot may not post. */
export const MAY_NOT_POST = [
  RESTJSONErrorCodes.MissingAccess,
  RESTJSONErrorCodes.MissingPermissions,
  RESTJSONErrorCodes.CannotSendMessagesInNonTextChannel,
  RESTJSONErrorCodes.ThreadLocked,
] as const;

/** In characters. */
const NONCE_LENGTH = 25;

/**
 * Posts a message.
 * @returns its id; that of the earlier message when the nonce was used before.
 * @throws DiscordAPIError `UnknownMessage` when the earlier message has been deleted since.
 */
export async function postMessage(rest: REST, { channelId, body, nonce, signal }: Post): Promise<string> {
  const unique = nonce === undefined ? {} : { nonce, enforce_nonce: true };
  return readId(await rest.post(Routes.channelMessages(channelId), { body: { ...body, ...unique }, signal }));
}

/** A nonce derived from its input: the same input gives the same nonce. */
export function toNonce(...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join(':')).digest('base64url').slice(0, NONCE_LENGTH);
}

type Edit = {
  channelId: string;
  messageId: string;
  body: RESTPatchAPIChannelMessageJSONBody;
  signal?: AbortSignal;
};

/** Edits a message. Discord archives a thread some days after its last message, and refuses edits until it is open again. */
export async function editMessage(rest: REST, { channelId, messageId, ...request }: Edit): Promise<void> {
  const edit = () => rest.patch(Routes.channelMessage(channelId, messageId), request);
  try {
    await edit();
  } catch (error) {
    if (!isDiscordError(error, RESTJSONErrorCodes.InvalidActionOnArchivedThread)) throw error;
    await rest.patch(Routes.channel(channelId), { ...request, body: { archived: false } });
    await edit();
  }
}

/** Sends a message to a user. @throws DiscordAPIError when they accept none from the bot. */
export async function sendDirectMessage(
  rest: REST,
  userId: string,
  { view: { embeds, components }, signal }: { view: MessageView; signal: AbortSignal },
): Promise<void> {
  const channel = await rest.post(Routes.userChannels(), { signal, body: { recipient_id: userId } });
  const body = { embeds, components, allowed_mentions: { parse: [] } };
  await rest.post(Routes.channelMessages(readId(channel)), { signal, body });
}

/** The id of a message or channel that Discord has created. */
function readId(response: unknown): string {
  if (typeof response === 'object' && response !== null && 'id' in response) return String(response.id);
  throw new Error("Discord's response lacks an id");
}
