import { plural } from '../locale.ts';

/** Webhooks, for administrators. */
export const webhooks = {
  title: 'Webhooks',
  lead: 'Each of these addresses is notified whenever a penalty changes. Messages are signed (Standard Webhooks).',
  none: 'No webhooks yet.',
  columns: { url: 'Address', types: 'Events', state: 'State', added: 'Added' },
  allTypes: 'all',
  typeNames: {
    'penalty.created': 'penalty.created: a new penalty',
    'penalty.changed': 'penalty.changed: its details changed',
    'penalty.lifted': 'penalty.lifted: someone lifted it early',
    'penalty.expired': 'penalty.expired: its time ran out',
    'penalty.removed': 'penalty.removed: it was removed at its source',
  },
  states: {
    on: 'on',
    off: 'switched off',
    failing: (attempts: number) =>
      plural('en', attempts, { one: 'failed attempt', other: 'failed attempts' }),
    next: (at: string) => `next attempt: ${at}`,
    reasons: { failing: 'failed for 24 hours', gone: 'the address responded 410 (gone)' },
  },
  url: 'Address',
  urlHint:
    'An https address on the internet. Other networks must be allowed by the operator (WEBHOOK_ALLOW).',
  types: 'Events',
  add: 'Add webhook',
  addedTitle: 'Webhook added',
  addedLead: 'This address will be notified from now on. The receiver needs the secret to verify messages.',
  shownOnce: 'Copy the secret now. It is not shown again.',
  secret: 'Webhook secret',
  done: 'Done',
  back: 'All webhooks',
  titleOf: (id: number) => `Webhook ${id}`,
  test: 'Send a test',
  retry: 'Try again now',
  enable: 'Switch on',
  remove: 'Remove',
  removeTitle: 'Remove this webhook?',
  removeLead: (url: string) =>
    `${url} will get no more messages, and its list of deliveries will be deleted.`,
  deliveries: 'Deliveries',
  kept: (count: number) => `The last ${count} attempts, newest first.`,
  noDeliveries: 'Nothing has been sent yet.',
  deliveryColumns: {
    type: 'Event',
    result: 'Result',
    at: 'When',
    duration: 'Duration',
    messageId: 'webhook-id',
  },
  failures: {
    timeout: 'no response in 10 s',
    'address-refused': 'address not allowed',
    'name-unresolved': 'host name not found',
    tls: 'certificate not trusted',
    unreachable: 'no connection',
  },
  resend: 'Send again',
  resendNamed: (messageId: string) => `Send again: ${messageId}`,
};
