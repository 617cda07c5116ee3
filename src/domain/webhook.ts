import { randomBytes } from 'node:crypto';
import { type EventCursor, formatEventCursor, tryParseEventCursor } from './event.ts';

export const MAX_WEBHOOKS = 50;
export const MAX_WEBHOOK_URL_LENGTH = 2048;
/** How many deliveries of a webhook are kept. */
export const KEPT_DELIVERIES = 50;

/** The type of a message that only tests whether an endpoint can be reached. */
export const TEST_TYPE = 'webhook.test';

/** Why there was no response. */
export type DeliveryFailure = 'timeout' | 'address-refused' | 'name-unresolved' | 'tls' | 'unreachable';

/** Why a webhook was switched off: a day of failed attempts, or a response of 410. */
export type SwitchOffReason = 'failing' | 'gone';

/** One attempt to deliver a message. */
export type Delivery = {
  /** The same for every attempt at one message. */
  messageId: string;
  type: string;
  at: Date;
  durationMs: number;
  /** Of the response; null when there was none. */
  status: number | null;
  failure: DeliveryFailure | null;
};

/** Whether the endpoint accepted the message: any status but 2xx is a failed attempt. */
export function isDelivered({ status }: Pick<Delivery, 'status'>): boolean {
  return status !== null && status >= 200 && status < 300;
}

/**
 * A new secret that signs messages: `whsec_` and 32 random bytes in Base64.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function generateWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** The `webhook-id` of an event: `msg_WEBHOOK_EPOCH-NUMBER`. */
export function formatMessageId(webhookId: number, cursor: EventCursor): string {
  return `msg_${webhookId}_${formatEventCursor(cursor)}`;
}

/** @returns undefined for a text that is not the `webhook-id` of an event. */
export function tryParseMessageId(text: string): { webhookId: number; cursor: EventCursor } | undefined {
  const match = /^msg_([1-9][0-9]{0,8})_([0-9a-f]{8}-[0-9]{1,15})$/.exec(text);
  const cursor = tryParseEventCursor(match?.[2] ?? '');
  return match && cursor ? { webhookId: Number(match[1]), cursor } : undefined;
}

/** The `webhook-id` of a test; each test is a separate message. */
export function generateTestMessageId(webhookId: number): string {
  return `msg_${webhookId}_test-${randomBytes(8).toString('hex')}`;
}
