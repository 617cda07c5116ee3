import assert from 'node:assert';
import {
  InteractionResponseType,
  MessageFlags,
  RESTJSONErrorCodes,
  SlashCommandAssertions,
} from 'discord.js';
import type { Exchange } from './exchange.ts';
import { checkMessage, type MessageForm, refusalOf } from './message-form.ts';
import type { MessageStore } from './messages.ts';
import { errorBody, json, type RestCall, restError } from './rest-call.ts';

const {
  ApplicationCommandAutocompleteResult,
  ChannelMessageWithSource,
  DeferredChannelMessageWithSource,
  UpdateMessage,
} = InteractionResponseType;

type CallbackData = MessageForm & { choices?: { name: string; value: string }[] };

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
    const data: CallbackData = call.body.data ?? {};
    const { channelId } = exchange.actor;
    if (type === ApplicationCommandAutocompleteResult) {
      exchange.choices = data.choices ?? [];
    } else if (type === UpdateMessage && exchange.message) {
      exchange.message = messages.edit(exchange.message, data, call.files);
    } else if (type === DeferredChannelMessageWithSource) {
      const flags = (data.flags ?? 0) | MessageFlags.Loading;
      exchange.message = messages.create(channelId, { flags }, [], exchange);
    } else if (type === ChannelMessageWithSource) {
      exchange.message = messages.create(channelId, data, call.files, exchange);
    }
    exchange.callback = type;
    exchange.acknowledgedAt = Date.now();
    onAcknowledged(exchange);
    return new Response(null, { status: 204 });
  }

  function checkCallback(exchange: Exchange, call: RestCall): Exchange['refusals'][number] | undefined {
    if (exchange.callback !== undefined) {
      return { status: 400, body: errorBody(RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged) };
    }
    if (Date.now() - exchange.sentAt > state.acknowledgeWithinMs) {
      return { status: 404, body: errorBody(RESTJSONErrorCodes.UnknownInteraction) };
    }
    const type = Number(call.body.type);
    const data: CallbackData = call.body.data ?? {};
    const isEdit = type === UpdateMessage;
    const hasMessage = isEdit || type === ChannelMessageWithSource;
    const body = hasMessage
      ? checkMessage(data, call.files, { isEdit })
      : refusalOf(() => checkChoices(data.choices ?? []));
    return body && { status: 400, body };
  }

  /** The response and the follow-ups of an interaction. @param messageId `@original`: the response. */
  function useWebhook(call: RestCall, token: string, messageId: string | undefined): Response {
    const exchange = exchanges.get(token);
    if (!exchange) return restError(401, RESTJSONErrorCodes.InvalidWebhookToken);
    if (call.method === 'POST') return followUp(call, exchange);
    const target =
      messageId === '@original'
        ? exchange.message
        : [...exchange.followUps, exchange.message].find((message) => message?.id === messageId);
    if (!target || exchange.isDeleted) return restError(404, RESTJSONErrorCodes.UnknownMessage);
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
    const deferred = exchange.isDeleted ? undefined : exchange.message;
    // The first follow-up of a deferred response takes its place, with the visibility it was deferred with.
    if (deferred && deferred.flags & MessageFlags.Loading) {
      message.flags = deferred.flags & ~MessageFlags.Loading;
      exchange.message = message;
    } else exchange.followUps.push(message);
    return json(200, message);
  }

  return { acknowledge, useWebhook };
}

function checkChoices(choices: { name: string; value: string }[]): void {
  SlashCommandAssertions.validateChoicesLength(choices.length);
  for (const text of choices.flatMap(({ name, value }) => [name, value]))
    assert(text.length >= 1 && text.length <= 100, '1 to 100 characters');
}
