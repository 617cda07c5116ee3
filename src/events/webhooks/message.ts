import { Webhook } from 'standardwebhooks';
import { formatTimestamp } from '../../domain/text/timestamp.ts';
import { type Delivery, formatMessageId, generateTestMessageId, TEST_TYPE } from '../../domain/webhook.ts';
import type { StoredEvent } from '../../queries/events.ts';
import { presentEvent } from '../penalty-payload.ts';
import { type Post, PostFailure } from './post.ts';

export type Message = {
  id: string;
  type: string;
  /** JSON. */
  text: string;
};

/** The outcome of an attempt, with the error for the operator. */
export type Sent = Delivery & { cause?: Error };

/** The message about an event: the same for every attempt and every manual repetition. */
export function eventMessage(
  event: StoredEvent,
  { webhookId, epoch }: { webhookId: number; epoch: string },
): Message {
  const { type } = event;
  const data = presentEvent(event, { epoch });
  return {
    id: formatMessageId(webhookId, { epoch, id: event.id }),
    type,
    text: JSON.stringify({ type, timestamp: data.occurred_at, data }),
  };
}

/** A message without data that tests whether an endpoint can be reached. */
export function testMessage(webhookId: number, now: Date): Message {
  return {
    id: generateTestMessageId(webhookId),
    type: TEST_TYPE,
    text: JSON.stringify({ type: TEST_TYPE, timestamp: formatTimestamp(now), data: {} }),
  };
}

/**
 * Sends a message to an endpoint once, signed as in Standard Webhooks. A failure is part of the result.
 * @param options.failures how many attempts at it have failed before; 0 by default.
 */
export async function sendMessage(
  post: Post,
  endpoint: { url: string; secret: string },
  { id, type, text }: Message,
  { now, failures, signal }: { now: () => Date; failures?: number; signal?: AbortSignal },
): Promise<Sent> {
  const at = now();
  const startMs = performance.now();
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'community-api-webhooks',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': new Webhook(endpoint.secret).sign(id, at, text),
  };
  const result = await post(endpoint.url, { headers, body: text, failures: failures ?? 0, signal }).then(
    (status) => ({ status, failure: null }),
    (error: unknown) => {
      if (!(error instanceof PostFailure)) throw error;
      return { status: null, failure: error.reason, cause: error };
    },
  );
  return { messageId: id, type, at, durationMs: Math.round(performance.now() - startMs), ...result };
}
