import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { NotFound } from '../../domain/errors.ts';
import type { StoredEventType } from '../../domain/event.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { tryParseMessageId } from '../../domain/webhook.ts';
import { listStoredEvents, readEventLog } from '../../queries/events.ts';
import { saveDeliveries } from '../../queries/webhooks/webhook-deliveries.ts';
import {
  createWebhook,
  loadWebhook,
  recordManualDelivery,
  type SigningWebhook,
  typesOf,
} from '../../queries/webhooks/webhooks.ts';
import { withNewDeadline } from '../../runtime/request.ts';
import type { EndpointRules } from './endpoint.ts';
import { eventMessage, type Message, type Sent, sendMessage, testMessage } from './message.ts';
import type { Post } from './post.ts';

/** Actions on webhooks from a page or the operator's tool. */
export type WebhookActions = {
  /**
   * @param webhook.types undefined: those that concern penalties.
   * @throws {InvalidInput} for an address that is not allowed. @throws {Conflict} when there are too many.
   */
  add: (
    tx: Tx,
    webhook: { url: string; types?: readonly StoredEventType[] | undefined; actor: Actor },
  ) => Promise<SigningWebhook>;
  /** Sends a test at once, even to a webhook that is switched off. @throws {NotFound} */
  test: (id: number, actor: Actor) => Promise<Sent>;
  /** Sends a message again at once, ahead of queued ones. @throws {NotFound} if it is unknown or no longer kept. */
  resend: (id: number, messageId: string, actor: Actor) => Promise<Sent>;
};

type Deps = { db: Db; rules: EndpointRules; post: Post; now: () => Date };

/** Creates the actions; what they send is stored with the deliveries and in the audit log. */
export function createWebhookActions({ db, rules, post, now }: Deps): WebhookActions {
  async function send(
    webhook: SigningWebhook,
    message: Message,
    entry: { action: 'webhook.tested' | 'webhook.resent'; actor: Actor },
  ): Promise<Sent> {
    await inTransaction(db, (tx) => recordManualDelivery(tx, webhook, { ...entry, messageId: message.id }));
    const delivery = await sendMessage(post, webhook, message, { now });
    await withNewDeadline(() => inTransaction(db, (tx) => saveDeliveries(tx, webhook.id, [delivery])));
    return delivery;
  }

  async function loadMessage(webhook: SigningWebhook, messageId: string): Promise<Message> {
    const named = tryParseMessageId(messageId);
    const { epoch } = await readEventLog(db);
    const isOfWebhook = named?.webhookId === webhook.id && named.cursor.epoch === epoch;
    const id = isOfWebhook ? named.cursor.id : 0;
    const range = { limit: 1, upToId: id, types: typesOf(webhook), withSilent: false };
    const [event] = await listStoredEvents(db, id - 1, range);
    if (event && event.id > webhook.startsAfter) {
      return eventMessage(event, { webhookId: webhook.id, epoch });
    }
    throw new NotFound(
      `Webhook ${webhook.id} has no message ${JSON.stringify(messageId)}: only events of the last 30 days can be sent again, and no test messages`,
    );
  }

  return {
    add: async (tx, { url, types, actor }) =>
      createWebhook(tx, { url: rules.parseUrl(url), types, now: now(), actor }),
    test: async (id, actor) => {
      const webhook = await loadWebhook(db, id);
      return send(webhook, testMessage(id, now()), { action: 'webhook.tested', actor });
    },
    resend: async (id, messageId, actor) => {
      const webhook = await loadWebhook(db, id);
      const message = await loadMessage(webhook, messageId);
      return send(webhook, message, { action: 'webhook.resent', actor });
    },
  };
}
