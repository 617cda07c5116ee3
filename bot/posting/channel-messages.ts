import { createHash, randomUUID } from 'node:crypto';
import type { REST } from '@discordjs/rest';
import { CannotSendMessagesToThisUserErrorCodes, RESTJSONErrorCodes, Routes, roleMention } from 'discord.js';
import { TimeLimitExceeded, withTimeLimit } from '../../src/runtime/time-limit.ts';
import type { BotContext } from '../context.ts';
import { type MessageView, rowsOf } from '../embeds/message-view.ts';
import { Refusal } from '../embeds/refusal.ts';
import { isDiscordError, isDiscordRefusal } from '../gateway/rest.ts';

/** How the bot sends messages outside of interactions; the REST client obeys Discord's rate limits. */
export type Messenger = {
  rest: REST;
  /** Aborts requests, which may wait for Discord's rate limits. */
  signal?: AbortSignal;
};

/** A message, the only role that it mentions, and the message that it replies to. */
export type ChannelMessage = MessageView & { roleId?: string | null; replyTo?: string | undefined };

type Place = { channelId: string; messageId: string };

/** In characters. */
const NONCE_LENGTH = 25;

/**
 * Posts a message.
 * @param nonce requests with the same nonce post one message, for the few minutes that Discord remembers nonces.
 * @returns its id; that of the earlier message when the nonce was used before, undefined when that has been deleted since.
 */
export async function postMessage(
  { rest, signal }: Messenger,
  channelId: string,
  { message, nonce }: { message: ChannelMessage; nonce?: string },
): Promise<string | undefined> {
  const unique = nonce === undefined ? {} : { nonce, enforce_nonce: true };
  const { roleId, replyTo } = message;
  const reference = replyTo && { message_reference: { message_id: replyTo, fail_if_not_exists: false } };
  const body = { ...toBody(message, roleId), ...unique, ...reference };
  try {
    return readId(await rest.post(Routes.channelMessages(channelId), { body, ...(signal && { signal }) }));
  } catch (error) {
    if (isDiscordError(error, RESTJSONErrorCodes.UnknownMessage)) return undefined;
    throw error;
  }
}

/**
 * Posts a message for somebody who waits for it.
 * @throws {Refusal} when the bot may not post there, or Discord limits the channel for longer than they wait.
 */
export async function postForInvoker(
  { rest, timings }: Pick<BotContext, 'rest' | 'timings'>,
  channelId: string,
  content: Parameters<typeof postMessage>[2],
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(timings.postWithinMs);
  try {
    return await withTimeLimit(postMessage({ rest, signal }, channelId, content), timings.postWithinMs);
  } catch (error) {
    if (isPostingForbidden(error) || isChannelGone(error)) {
      throw new Refusal(({ refusals }) => refusals.cannotPost);
    }
    if (signal.aborted || error instanceof TimeLimitExceeded) {
      throw new Refusal(({ refusals }) => refusals.channelLimited);
    }
    throw error;
  }
}

/** A nonce derived from its input: the same input gives the same nonce. */
export function toNonce(...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join(':')).digest('base64url').slice(0, NONCE_LENGTH);
}

/** A nonce for one message: repetitions of its request post it once. */
export function uniqueNonce(): string {
  return toNonce(randomUUID());
}

/** Edits a message. Discord archives a thread some days after its last message, and refuses edits until it is open again. */
export async function editMessage(
  { rest, signal }: Messenger,
  { channelId, messageId }: Place,
  message: MessageView,
): Promise<void> {
  const patch = (route: `/${string}`, body: object) => rest.patch(route, { body, ...(signal && { signal }) });
  const edit = () => patch(Routes.channelMessage(channelId, messageId), toBody(message));
  try {
    await edit();
  } catch (error) {
    if (!isDiscordError(error, RESTJSONErrorCodes.InvalidActionOnArchivedThread)) throw error;
    await patch(Routes.channel(channelId), { archived: false });
    await edit();
  }
}

/** The channel of direct messages to a user. */
export async function openDirectChannel({ rest, signal }: Messenger, userId: string): Promise<string> {
  const body = { recipient_id: userId };
  return readId(await rest.post(Routes.userChannels(), { body, ...(signal && { signal }) }));
}

/** Whether a direct message failed because the bot can never reach that person. */
export function isInboxClosed(error: unknown): error is Error {
  return isDiscordError(error, ...CannotSendMessagesToThisUserErrorCodes, RESTJSONErrorCodes.UnknownUser);
}

/** Whether an edit failed because the message is deleted, or belongs to the bot's former application. */
export function isMessageGone(error: unknown): error is Error {
  return isDiscordError(
    error,
    RESTJSONErrorCodes.UnknownMessage,
    RESTJSONErrorCodes.CannotEditMessageAuthoredByAnotherUser,
  );
}

/** Whether a request failed because the channel is gone. */
export function isChannelGone(error: unknown): error is Error {
  return isDiscordError(error, RESTJSONErrorCodes.UnknownChannel, RESTJSONErrorCodes.UnknownGuild);
}

/**
 * Whether a request failed because the bot may not post in a channel that exists: for good, or while somebody changes
 * roles. Discord also responds so when the bot reopens a locked thread.
 */
export function isPostingForbidden(error: unknown): error is Error {
  return isDiscordError(
    error,
    RESTJSONErrorCodes.MissingAccess,
    RESTJSONErrorCodes.MissingPermissions,
    RESTJSONErrorCodes.CannotSendMessagesInNonTextChannel,
    RESTJSONErrorCodes.ThreadLocked,
  );
}

/** Whether Discord rejects the message itself: it is malformed, or the guild's AutoMod blocks it. */
export function isMessageRefused(error: unknown): error is Error {
  return (
    isDiscordRefusal(error) && error.status === 400 && !isChannelGone(error) && !isPostingForbidden(error)
  );
}

function toBody(message: MessageView, roleId?: string | null) {
  const { content = '', embeds } = message;
  return {
    content: roleId ? `${roleMention(roleId)} ${content}` : content,
    embeds,
    components: rowsOf(message),
    allowed_mentions: { parse: [], ...(roleId && { roles: [roleId] }) },
  };
}

/** The id of a message or channel that Discord has created. */
function readId(response: unknown): string {
  if (typeof response === 'object' && response !== null && 'id' in response) return String(response.id);
  throw new Error("Discord's response lacks an id");
}
