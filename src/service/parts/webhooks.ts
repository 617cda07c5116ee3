import { presentChange } from '../../../api/v1/events/event-models.ts';
import type { Db } from '../../db/client.ts';
import { isDelivered } from '../../domain/webhook.ts';
import { createWebhookActions, type WebhookActions } from '../../events/webhooks/actions.ts';
import { createWebhookDelivery, type WebhookDelivery } from '../../events/webhooks/delivery.ts';
import { createEndpointRules } from '../../events/webhooks/endpoint.ts';
import { eventMessage } from '../../events/webhooks/messages.ts';
import { createPacer } from '../../events/webhooks/pacer.ts';
import { createPost } from '../../events/webhooks/post.ts';
import { createProgressWriter } from '../../events/webhooks/progress-writer.ts';
import { createRecentEvents } from '../../events/webhooks/recent-events.ts';
import { sendMessage } from '../../events/webhooks/send.ts';
import { listPenaltyEvents, readEventLog } from '../../queries/penalties/events.ts';
import { saveProgress } from '../../queries/webhooks/webhook-deliveries.ts';
import { countWebhooks, listActiveWebhooks } from '../../queries/webhooks/webhooks.ts';
import type { Config } from '../../runtime/config.ts';
import { runRegularly } from '../../runtime/interval.ts';
import type { Context } from '../context.ts';

const COUNT_MS = 5000;
/** Signing and sending one takes about 0.1 ms, and all endpoints get an event at the same moment. */
const MESSAGES_AN_ITERATION = 4;

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
  return createWebhookActions({ db, rules, post: createPost(rules), present: presentChange, now });
}

/** Delivers webhooks, in one process at a time. */
export function startWebhooks(context: Context): void {
  const { config, log, now, database, changes, eventReader, onStopPart } = context;
  const { db } = database;
  const { epoch } = eventReader;
  const post = createPost(createEndpointRules(config.webhookAllow));
  const pacer = createPacer({ perIteration: MESSAGES_AN_ITERATION });
  const onSent = addDeliveryMetrics(context);
  const listEvents = createRecentEvents({
    reader: eventReader,
    listEvents: (afterId, { types, ...range }) =>
      listPenaltyEvents(db, afterId, { ...range, types: types ?? undefined, withSilent: false }),
  });
  let delivery: WebhookDelivery | undefined;
  const lead = async (signal: AbortSignal) => {
    delivery = createWebhookDelivery({
      log,
      now,
      newestId: eventReader.newestId,
      readNewestId: async () => (await readEventLog(db)).newestId,
      listWebhooks: () => listActiveWebhooks(db),
      listEvents,
      toMessage: (webhookId, event) => eventMessage(presentChange, { webhookId, epoch, event }),
      send: async (webhook, message, sending) => {
        await pacer.next();
        return sendMessage(post, webhook, message, { now, signal: sending });
      },
      save: createProgressWriter((savings) => saveProgress(db, savings)),
      onSent: (sent) => onSent(isDelivered(sent)),
    });
    await delivery.lead(signal);
    delivery = undefined;
  };
  eventReader.subscribe(() => delivery?.wake());
  changes.onChange('webhooks', () => delivery?.reload());
  onStopPart('webhooks', context.leaders.run('webhooks', lead).stop);
}

/** @returns a function that counts a delivery. */
function addDeliveryMetrics({ database, metrics, log, onStopPart }: Context): (isDelivered: boolean) => void {
  const count = metrics.addCounter('webhook_deliveries_total', 'Attempts to deliver to a webhook.', [
    'result',
  ]);
  let counts = { failing: 0, switchedOff: 0 };
  metrics.addGauge('webhooks_failing', 'Webhooks whose last attempt failed.', () => counts.failing);
  metrics.addGauge('webhooks_switched_off', 'Webhooks that are switched off.', () => counts.switchedOff);
  const read = async () => {
    counts = await countWebhooks(database.db);
  };
  onStopPart(
    'counts of webhooks',
    runRegularly({ name: 'counting webhooks', everyMs: COUNT_MS, startsAtOnce: true, work: read, log }),
  );
  return (isSuccess) => count({ result: isSuccess ? 'delivered' : 'failed' });
}
