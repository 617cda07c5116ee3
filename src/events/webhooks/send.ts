import { Webhook } from 'standardwebhooks';
import type { Delivery } from '../../domain/webhook.ts';
import { type Post, PostFailure } from './post.ts';

export type Message = {
  id: string;
  type: string;
  /** JSON. */
  text: string;
};

/** The outcome of an attempt, with the error for the operator. */
export type Sent = Delivery & { cause?: Error };

type Endpoint = { url: string; secret: string };

/** Kept as long as their endpoints: decoding a secret takes as long as signing a message with it. */
const signers = new WeakMap<Endpoint, Webhook>();

/** Sends a message to an endpoint once, signed as in Standard Webhooks. A failure is part of the result. */
export async function sendMessage(
  post: Post,
  endpoint: Endpoint,
  { id, type, text }: Message,
  { now, signal }: { now: () => Date; signal?: AbortSignal },
): Promise<Sent> {
  const at = now();
  const startMs = performance.now();
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'community-api-webhooks',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signerOf(endpoint).sign(id, at, text),
  };
  const result = await post(endpoint.url, { headers, body: text, signal }).then(
    (status) => ({ status, failure: null }),
    (error: unknown) => {
      if (!(error instanceof PostFailure)) throw error;
      return { status: null, failure: error.reason, cause: error };
    },
  );
  return { messageId: id, type, at, durationMs: Math.round(performance.now() - startMs), ...result };
}

function signerOf(endpoint: Endpoint): Webhook {
  return signers.getOrInsertComputed(endpoint, ({ secret }) => new Webhook(secret));
}
