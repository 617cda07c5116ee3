import { once } from 'node:events';
import type { Db } from '../db/client.ts';
import { isDelivered } from '../domain/webhook.ts';
import { createWebhookActions, type WebhookActions } from '../events/webhooks/actions.ts';
import { startWebhookDelivery, type WebhookDelivery } from '../events/webhooks/delivery.ts';
import { createEndpointRules } from '../events/webhooks/endpoint.ts';
import { eventMessage, sendMessage } from '../events/webhooks/message.ts';
import { createPost } from '../events/webhooks/post.ts';
import { listStoredEvents, readEventLog } from '../queries/events.ts';
import { saveProgress } from '../queries/webhooks/webhook-deliveries.ts';
import { countWebhooks, listActiveWebhooks, typesOf } from '../queries/webhooks/webhooks.ts';
import type { Config } from '../runtime/config.ts';
import type { Context } from './context.ts';

const COUNT_MS = 15_000;

/** What pages and the operator's tool do with webhooks. */
export function openWebhookActions({
  config,
  db,
  now = () => new Date(),
}: {
  config: Pick<Config, 'webhookAllow'>;
  db: Db;
  now?: () => Date;
}): WebhookActions {
  const rules = createEndpointRules(config.webhookAllow);
  return createWebhookActions({ db, rules, post: createPost(rules), now });
}

/** Delivers webhooks, in one process at a time. */
export function startWebhooks(context: Context): void {
  const { config, log, now, database, changes, eventReader, onStopPart } = context;
  const { db } = database;
  const { epoch } = eventReader;
  const post = createPost(createEndpointRules(config.webhookAllow));
  const onSent = addDeliveryMetrics(context);
  let delivery: WebhookDelivery | undefined;
  const lead = async (signal: AbortSignal) => {
    delivery = startWebhookDelivery({
      log,
      now,
      newestId: eventReader.newestId,
      readNewestId: async () => (await readEventLog(db)).newestId,
      listWebhooks: () => listActiveWebhooks(db),
      listEvents: (afterId, { types, ...range }) =>
        listStoredEvents(db, afterId, { ...range, types: typesOf({ types }), withSilent: false }),
      send: (webhook, event, options) =>
        sendMessage(post, webhook, eventMessage(event, { webhookId: webhook.id, epoch }), {
          now,
          ...options,
        }),
      save: (id, progress, deliveries) => saveProgress(db, id, { progress, deliveries }),
      onSent: (delivery) => onSent(isDelivered(delivery)),
    });
    await once(signal, 'abort');
    await delivery.stop();
    delivery = undefined;
  };
  eventReader.subscribe(() => delivery?.wake());
  changes.onChange('webhooks', () => delivery?.reload());
  onStopPart('webhooks', context.leaders.run('webhooks', lead).stop);
}

/** @returns a function that counts a delivery. */
function addDeliveryMetrics({ database, metrics, repeat }: Context): (isDelivered: boolean) => void {
  const count = metrics.addCounter('webhook_deliveries_total', 'Attempts to deliver to a webhook.', [
    'result',
  ]);
  let counts = { failing: 0, switchedOff: 0 };
  metrics.addGauge('webhooks_failing', 'Webhooks whose last attempt failed.', () => counts.failing);
  metrics.addGauge('webhooks_switched_off', 'Webhooks that are switched off.', () => counts.switchedOff);
  repeat({
    name: 'counting webhooks',
    everyMs: COUNT_MS,
    work: async () => {
      counts = await countWebhooks(database.db);
    },
  });
  return (isSuccess) => count({ result: isSuccess ? 'delivered' : 'failed' });
}
