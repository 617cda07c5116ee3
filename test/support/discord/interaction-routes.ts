import {
  InteractionResponseType,
  InteractionType,
  MessageFlags,
  RESTJSONErrorCodes,
  SlashCommandAssertions,
} from 'discord.js';
import type { Exchange } from './exchange.ts';
import { FormErrors } from './form-errors.ts';
import { checkMessage, type MessageForm } from './message-form.ts';
import type { FakeMessage, MessageStore } from './messages.ts';
import { json, type RestCall, restError } from './rest-call.ts';

const TOKEN_LIVES_MS = 15 * 60_000;

type Choice = { name: string; value: string };

const MESSAGE_CALLBACKS = [
  InteractionResponseType.ChannelMessageWithSource,
  InteractionResponseType.DeferredChannelMessageWithSource,
  InteractionResponseType.Modal,
];
/** The callbacks that each type of interaction takes. */
const CALLBACKS: Record<number, readonly number[]> = {
  [InteractionType.ApplicationCommand]: MESSAGE_CALLBACKS,
  [InteractionType.MessageComponent]: [
    ...MESSAGE_CALLBACKS,
    InteractionResponseType.DeferredMessageUpdate,
    InteractionResponseType.UpdateMessage,
  ],
  [InteractionType.ApplicationCommandAutocomplete]: [
    InteractionResponseType.ApplicationCommandAutocompleteResult,
  ],
};

type Options = {
  /** By token. */
  exchanges: Map<string, Exchange>;
  messages: MessageStore;
  state: { acknowledgeWithinMs: number };
  onAcknowledged: (exchange: Exchange) => void;
};

/** Discord's endpoints under an interaction's token: the callback, and the messages that follow it. */
export function createInteractionRoutes({ exchanges, messages, state, onAcknowledged }: Options) {
  function acknowledge(call: RestCall, id: string, token: string): Response {
    const exchange = exchanges.get(token);
    if (!exchange || exchange.id !== id) return restError(404, RESTJSONErrorCodes.UnknownInteraction);
    const refusal = checkCallback(exchange, call);
    if (refusal) {
      exchange.refusals.push(refusal);
      return json(refusal.status, refusal.body);
    }
    const type = Number(call.body.type);
    const data: MessageForm & { choices?: Choice[] } = call.body.data ?? {};
    const { channelId } = exchange.actor;
    if (type === InteractionResponseType.ApplicationCommandAutocompleteResult) {
      exchange.choices = data.choices ?? [];
    } else if (type === InteractionResponseType.UpdateMessage && exchange.message) {
      exchange.message = messages.edit(exchange.message, data, call.files);
    } else if (type === InteractionResponseType.DeferredChannelMessageWithSource) {
      const flags = (data.flags ?? 0) | MessageFlags.Loading;
      exchange.message = messages.create(channelId, { flags }, [], exchange);
    } else if (hasMessage(type)) {
      exchange.message = messages.create(channelId, data, call.files, exchange);
    }
    exchange.callback = type;
    exchange.acknowledgedAt = Date.now();
    onAcknowledged(exchange);
    if (call.query.get('with_response') !== 'true') return new Response(null, { status: 204 });
    return json(200, {
      interaction: { id, type: exchange.type, response_message_id: exchange.message?.id },
      resource: { type, message: exchange.message },
    });
  }

  /** What Discord refuses in a callback. */
  function checkCallback(
    exchange: Exchange,
    call: RestCall,
  ): { status: number; body: Record<string, unknown> } | undefined {
    if (exchange.callback !== undefined) {
      const code = RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged;
      return { status: 400, body: { message: 'Interaction has already been acknowledged.', code } };
    }
    if (Date.now() - exchange.sentAt > state.acknowledgeWithinMs) {
      const code = RESTJSONErrorCodes.UnknownInteraction;
      return { status: 404, body: { message: 'Unknown interaction', code } };
    }
    const type = Number(call.body.type);
    const data: MessageForm & { choices?: Choice[] } = call.body.data ?? {};
    const body =
      checkType(exchange, type) ??
      (type === InteractionResponseType.ApplicationCommandAutocompleteResult
        ? checkChoices(data.choices ?? [])
        : undefined) ??
      (hasMessage(type)
        ? checkMessage(data, call.files, {
            isEdit: type === InteractionResponseType.UpdateMessage,
            prefix: 'data.',
          })
        : undefined);
    return body && { status: 400, body };
  }

  /** The response and the follow-ups of an interaction. @param messageId `@original` or undefined: the response. */
  function useWebhook(call: RestCall, token: string, messageId: string | undefined): Response {
    const exchange = exchanges.get(token);
    if (!exchange || Date.now() - exchange.sentAt > TOKEN_LIVES_MS)
      return restError(401, RESTJSONErrorCodes.InvalidWebhookToken);
    if (exchange.callback === undefined) return restError(404, RESTJSONErrorCodes.UnknownWebhook);
    if (call.method === 'POST') return followUp(call, exchange);
    const target =
      messageId === undefined || messageId === '@original'
        ? exchange.message
        : [...exchange.followUps, exchange.message].find((message) => message?.id === messageId);
    if (!target || exchange.isDeleted) return restError(404, RESTJSONErrorCodes.UnknownMessage);
    if (call.method === 'GET') return json(200, target);
    if (call.method === 'DELETE') {
      exchange.isDeleted = true;
      messages.all.delete(target.id);
      return new Response(null, { status: 204 });
    }
    const complaint = checkMessage(call.body, call.files, { isEdit: target.content !== '' });
    if (complaint) return json(400, complaint);
    target.flags &= ~MessageFlags.Loading;
    return json(200, messages.edit(target, call.body, call.files));
  }

  function followUp(call: RestCall, exchange: Exchange): Response {
    const complaint = checkMessage(call.body, call.files);
    if (complaint) return json(400, complaint);
    const message = messages.create(exchange.actor.channelId, call.body, call.files, exchange);
    // The first follow-up of a deferred response takes its place, with the visibility it was deferred with.
    if (!exchange.isDeleted && isLoading(exchange.message)) {
      message.flags = exchange.message.flags & ~MessageFlags.Loading;
      exchange.message = message;
    } else exchange.followUps.push(message);
    return json(200, message);
  }

  return { acknowledge, useWebhook };
}

function hasMessage(type: number): boolean {
  return (
    type === InteractionResponseType.ChannelMessageWithSource ||
    type === InteractionResponseType.UpdateMessage
  );
}

function isLoading(message: FakeMessage | undefined): message is FakeMessage {
  return message !== undefined && (message.flags & MessageFlags.Loading) !== 0;
}

function checkType(exchange: Exchange, type: number): Record<string, unknown> | undefined {
  const allowed = CALLBACKS[exchange.type] ?? [];
  const errors = new FormErrors();
  errors.require('type', allowed.includes(type), `Value must be one of ${allowed}`);
  return errors.body();
}

function checkChoices(choices: Choice[]): Record<string, unknown> | undefined {
  const errors = new FormErrors();
  errors.check('data.choices', () => SlashCommandAssertions.validateChoicesLength(choices.length));
  for (const text of choices.flatMap(({ name, value }) => [name, value])) {
    errors.require('data.choices', text.length >= 1 && text.length <= 100, '1 to 100 characters');
  }
  return errors.body();
}
