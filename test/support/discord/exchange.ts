import type { APIEmbed } from 'discord.js';
import type { Actor } from './actor.ts';
import type { FakeMessage } from './messages.ts';

/** All that Discord has seen of one interaction. */
export type Exchange = {
  id: string;
  token: string;
  /** Of the interaction. */
  type: number;
  sentAt: number;
  acknowledgedAt?: number;
  /** Type of the callback. */
  callback?: number;
  choices?: { name: string; value: string }[];
  /** The response, or the message that the component belongs to. */
  message?: FakeMessage;
  isDeleted?: boolean;
  followUps: FakeMessage[];
  actor: Actor;
  refusals: { status: number; body: unknown }[];
};

/** The message of an exchange. @throws when there is none. */
export function messageOf({ message }: { message?: FakeMessage | undefined }): FakeMessage {
  if (!message) throw new Error('no message');
  return message;
}

/** The first embed of the response; empty when there is none. */
export function embedOf({ message }: Pick<Exchange, 'message'>): APIEmbed {
  return message?.embeds[0] ?? {};
}

/** The text of the response: the description of its embed. */
export function textOf(exchange: Pick<Exchange, 'message'>): string {
  return embedOf(exchange).description ?? '';
}
