import type { Command } from 'commander';
import { inTransaction } from '../db/client.ts';
import { InvalidInput } from '../domain/errors.ts';
import { parseEventTypes, WEBHOOK_EVENT_TYPES } from '../domain/event.ts';
import { pluralForm } from '../domain/text/plural.ts';
import { type Delivery, isDelivered, KEPT_DELIVERIES } from '../domain/webhook.ts';
import type { WebhookActions } from '../events/webhooks/actions.ts';
import type { Sent } from '../events/webhooks/message.ts';
import { listDeliveries } from '../queries/webhooks/webhook-deliveries.ts';
import {
  enableWebhook,
  listWebhooks,
  loadWebhook,
  removeWebhook,
  type Webhook,
} from '../queries/webhooks/webhooks.ts';
import type { Context } from './context.ts';
import { type Columns, describeDay, toTable } from './table.ts';

/** `webhooks add | list | show | remove | test | enable | resend`. */
export function addWebhookCommands(program: Command, context: Context): void {
  const webhooks = program
    .command('webhooks')
    .description('addresses that are notified of changes to penalties');
  webhooks
    .command('add')
    .description('send events to an address from now on; the signing secret is printed once, and never again')
    .requiredOption('--url <url>', 'where messages are posted, such as https://example.org/hooks/penalties')
    .option(
      '--types <list>',
      `which events, separated by commas; by default all of penalties: ${WEBHOOK_EVENT_TYPES.join(', ')}`,
    )
    .action(async ({ url, types }: { url: string; types?: string }) => {
      const eventTypes =
        types === undefined ? undefined : [...parseEventTypes(types, WEBHOOK_EVENT_TYPES, '--types')];
      const { db } = await context.database();
      const actions = await open(context);
      const { id, secret, ...webhook } = await inTransaction(db, (tx) =>
        actions.add(tx, { url, types: eventTypes, actor: 'operator' }),
      );
      const words = `Added webhook ${id}. Its secret, shown only now:\n${secret}`;
      context.print({ id, url: webhook.url, types: webhook.types, secret }, words);
    });
  webhooks
    .command('list')
    .description('all webhooks, oldest first')
    .action(async () => {
      const { db } = await context.database();
      const all = await listWebhooks(db);
      const none = `No webhooks yet: ${context.tool()} webhooks add --url URL`;
      context.print(all, toTable(all, WEBHOOK_COLUMNS, none));
    });
  webhooks
    .command('show <id>')
    .description(`a webhook and its last ${KEPT_DELIVERIES} deliveries, newest first`)
    .action(async (text: string) => {
      const { db } = await context.database();
      const { secret: __, ...webhook } = await loadWebhook(db, parseId(text));
      const deliveries = await listDeliveries(db, webhook.id);
      const table = toTable(deliveries, DELIVERY_COLUMNS, 'No deliveries yet.');
      const words = `${toTable([webhook], WEBHOOK_COLUMNS)}\n\n${table}`;
      context.print({ ...webhook, deliveries }, words);
    });
  webhooks
    .command('remove <id>')
    .description('remove a webhook and the record of its deliveries')
    .action(async (text: string) => {
      const id = parseId(text);
      const { db } = await context.database();
      await removeWebhook(db, id, { actor: 'operator' });
      context.print({ removed: id }, `Removed webhook ${id}`);
    });
  webhooks
    .command('enable <id>')
    .description('switch a webhook on again, or retry a failing one now')
    .action(async (text: string) => {
      const id = parseId(text);
      const { db } = await context.database();
      await enableWebhook(db, id, { actor: 'operator' });
      context.print({ enabled: id }, `Webhook ${id} is on and continues where it left off`);
    });
  webhooks
    .command('test <id>')
    .description('send a test message now')
    .action(async (text: string) => {
      const id = parseId(text);
      const actions = await open(context);
      report(context, await actions.test(id, 'operator'));
    });
  webhooks
    .command('resend <id> <webhook-id>')
    .description('send a message again now, by the webhook-id that it had')
    .action(async (text: string, messageId: string) => {
      const id = parseId(text);
      const actions = await open(context);
      report(context, await actions.resend(id, messageId, 'operator'));
    });
}

async function open(context: Context): Promise<WebhookActions> {
  // Loaded here, since it loads the API's framework, which no other command needs.
  const { openWebhookActions } = await import('../service/webhooks.ts');
  const { db } = await context.database();
  return openWebhookActions({ config: context.config(), db });
}

function parseId(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw new InvalidInput(`${JSON.stringify(text)} is not a webhook ID: see webhooks list`);
}

/** Prints the outcome of a message; the command fails if it was not delivered. */
function report(context: Context, { cause, ...delivery }: Sent): void {
  const { durationMs, messageId } = delivery;
  const result = `${describeResult(delivery)}${cause ? `: ${cause.message}` : ''}`;
  const isTaken = isDelivered(delivery);
  context.print(
    delivery,
    `${isTaken ? 'Delivered' : 'Not delivered'} in ${durationMs} ms: ${result} (${messageId})`,
  );
  if (!isTaken) context.fail();
}

const WEBHOOK_COLUMNS: Columns<Webhook> = {
  ID: ({ id }) => id,
  URL: ({ url }) => url,
  EVENTS: ({ types }) => types?.join(',') ?? 'penalty.*',
  ADDED: ({ createdAt }) => describeDay(createdAt),
  STATE: describeState,
};

const DELIVERY_COLUMNS: Columns<Delivery> = {
  AT: ({ at }) => at.toISOString(),
  EVENT: ({ type }) => type,
  RESULT: describeResult,
  TIME: ({ durationMs }) => `${durationMs} ms`,
  'WEBHOOK-ID': ({ messageId }) => messageId,
};

function describeResult({ status, failure }: Delivery): string {
  return status === null ? String(failure) : `status ${status}`;
}

function describeState({ failures, retryAt, switchedOffAt, switchedOffReason }: Webhook): string {
  if (switchedOffAt) return `switched off ${switchedOffAt.toISOString()}: ${switchedOffReason}`;
  if (failures === 0) return 'on';
  const attempts = pluralForm('en', failures, { one: 'attempt', other: 'attempts' });
  return `failing: ${failures} ${attempts}, next ${retryAt?.toISOString() ?? 'now'}`;
}
