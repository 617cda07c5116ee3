import type { Logger } from 'pino';
import { isDelivered, KEPT_DELIVERIES, type SwitchOffReason } from '../../domain/webhook.ts';
import type { StoredEvent } from '../../queries/events.ts';
import type { Progress } from '../../queries/webhooks/webhook-deliveries.ts';
import { nameOf, type SigningWebhook } from '../../queries/webhooks/webhooks.ts';
import { backoffMs } from '../../runtime/backoff.ts';
import { startLoop } from '../../runtime/loop.ts';
import { TOOL } from '../../runtime/tool.ts';
import { readEventBatch } from '../event-reader.ts';
import type { Sent } from './message.ts';

/** Delivers to all webhooks, each independently of the others. */
export type WebhookDelivery = {
  /** There may be new events. */
  wake: () => void;
  /** A webhook was added, removed or switched on. */
  reload: () => void;
  /** Settles when the attempts under way have ended and the progress is saved. */
  stop: () => Promise<void>;
};

export type QueueDeps = {
  /** The newest event that is available. */
  newestId: () => number;
  /** Events of some types after one id and up to another, oldest first, without silent ones. */
  listEvents: (
    afterId: number,
    options: { upToId: number; types: SigningWebhook['types']; limit: number },
  ) => Promise<StoredEvent[]>;
  /** One attempt. @param options.failures how many attempts at this event have failed. */
  send: (
    webhook: SigningWebhook,
    event: StoredEvent,
    options: { failures: number; signal: AbortSignal },
  ) => Promise<Sent>;
  /** @returns false when the webhook was removed or switched off meanwhile. */
  save: (id: number, progress: Progress, deliveries: readonly Sent[]) => Promise<boolean>;
  onSent: (delivery: Sent) => void;
  now: () => Date;
  log: Logger;
  /** The pause when there is nothing to deliver; {@link CHECK_MS} by default. */
  checkMs?: number;
};

type Deps = QueueDeps & {
  listWebhooks: () => Promise<SigningWebhook[]>;
  /** The newest event of the database; a webhook that is ahead of it comes from another database. */
  readNewestId: () => Promise<number>;
};

/** Webhooks are read at least this often, in case a NOTIFY was lost. */
const RELOAD_MS = 15_000;
/** Queues look for events, and whether a retry is due, at least this often. */
const CHECK_MS = 5000;
const BATCH = 100;
/** How often progress is saved. After a crash, later deliveries are repeated with the same ids. */
const SAVE_MS = 1000;
/** How many events of other types are skipped before progress is saved. */
const SAVE_PASSED = 1000;
/** HTTP 410 Gone: the endpoint asks for no further deliveries. */
const GONE = 410;
/** The pauses between attempts: 5 seconds, then twice as long each time up to an hour. */
const MAX_BACKOFF_MS = 3_600_000;
const BACKOFF = { firstMs: 5000, maxMs: MAX_BACKOFF_MS };
/** The sum of all pauses. Downtime of the service does not count. */
const RETRIED_FOR_MS = 24 * 3_600_000;

/** Starts to deliver. */
export function startWebhookDelivery(deps: Deps): WebhookDelivery {
  const queues = new Map<number, WebhookQueue>();

  /** Starts queues of new webhooks and stops those of removed ones. */
  async function load(signal: AbortSignal): Promise<void> {
    const webhooks = await deps.listWebhooks();
    const isAnyNew = webhooks.some(({ id }) => !queues.has(id));
    const newestId = isAnyNew ? await deps.readNewestId() : 0;
    if (signal.aborted) return;
    for (const webhook of webhooks) {
      const queue = queues.get(webhook.id);
      if (!queue) start({ ...webhook, deliveredUpTo: Math.min(webhook.deliveredUpTo, newestId) });
      else if (webhook.retryAt === null) queue.retryNow();
    }
    const ids = new Set(webhooks.map(({ id }) => id));
    for (const [id, queue] of queues) if (!ids.has(id)) queue.stop();
  }

  function start(webhook: SigningWebhook): void {
    const queue = startWebhookQueue(deps, webhook);
    queues.set(webhook.id, queue);
    void queue.ended.then(() => {
      queues.delete(webhook.id);
      // It may have been switched on again before it ended.
      loop.wake();
    });
  }

  const loop = startLoop({
    name: 'reading webhooks',
    everyMs: RELOAD_MS,
    work: load,
    log: deps.log,
  });
  return {
    wake: () => {
      for (const queue of queues.values()) queue.wake();
    },
    reload: loop.wake,
    stop: async () => {
      await loop.stop();
      const running = [...queues.values()];
      for (const queue of running) queue.stop();
      await Promise.all(running.map(({ ended }) => ended));
    },
  };
}

/** The deliveries to one endpoint in the order of events: each waits until the one before has succeeded. */
export type WebhookQueue = {
  /** There may be new events. */
  wake: () => void;
  /** Ends the pause after a failed attempt, because the webhook was switched on again. */
  retryNow: () => void;
  stop: () => void;
  /** Settles when the webhook was removed or switched off, or the queue stopped. */
  ended: Promise<void>;
};

/** Starts to deliver the events that follow the last one that was delivered. */
export function startWebhookQueue(deps: QueueDeps, webhook: SigningWebhook): WebhookQueue {
  const { log, now, checkMs = CHECK_MS } = deps;
  const name = nameOf(webhook);
  let { deliveredUpTo, failures, retryAt } = webhook;
  let savedUpTo = deliveredUpTo;
  let savedAtMs = performance.now();
  let results: Sent[] = [];
  /** Removed or switched off. */
  let isOver = false;

  async function save(switchedOff?: Progress['switchedOff']): Promise<void> {
    const isSaved = await deps.save(webhook.id, { deliveredUpTo, failures, retryAt, switchedOff }, results);
    results = [];
    savedUpTo = deliveredUpTo;
    savedAtMs = performance.now();
    isOver ||= !isSaved || switchedOff !== undefined;
    if (isOver) loop.stop();
  }

  /** One attempt. @returns whether the endpoint has the event, so that the next one may follow. */
  async function deliver(event: StoredEvent, signal: AbortSignal): Promise<boolean> {
    const delivery = await deps.send(webhook, event, { failures, signal });
    if (signal.aborted && !isDelivered(delivery)) return false;
    deps.onSent(delivery);
    results.push(delivery);
    // Older ones would be deleted anyway.
    if (results.length > KEPT_DELIVERIES) results.shift();
    if (!isDelivered(delivery)) {
      await fail(delivery);
      return false;
    }
    if (failures > 0) log.info({ webhook: name }, 'webhook delivered again');
    deliveredUpTo = event.id;
    failures = 0;
    retryAt = null;
    await saveIfDue();
    return true;
  }

  async function saveIfDue(): Promise<void> {
    const isNew = results.length > 0 || deliveredUpTo - savedUpTo >= SAVE_PASSED;
    if (isNew && performance.now() - savedAtMs >= SAVE_MS) await save();
  }

  async function fail({ status, failure, cause }: Sent): Promise<void> {
    failures += 1;
    const pauseMs = backoffAfterMs(failures);
    const reason: SwitchOffReason | undefined =
      status === GONE ? 'gone' : pauseMs === undefined ? 'failing' : undefined;
    const result = { webhook: name, status, failure, cause: cause?.message };
    if (reason !== undefined) {
      retryAt = null;
      log.error(
        { ...result, reason },
        `webhook switched off: run \`${TOOL} webhooks enable ID\` to switch it on`,
      );
      return save({ at: now(), reason });
    }
    if (failures === 1) log.warn(result, 'webhook could not be delivered: retrying for 24 hours');
    retryAt = new Date(now().getTime() + (pauseMs ?? 0));
    await save();
  }

  /** How long to pause until the next attempt. A longer pause than any was stored while the clock was ahead: none. */
  function remainingPauseMs(): number {
    const pauseMs = retryAt === null ? 0 : retryAt.getTime() - now().getTime();
    return pauseMs > 0 && pauseMs <= MAX_BACKOFF_MS ? pauseMs : 0;
  }

  /** Delivers a batch of events up to the first failure. @returns whether there may be more. */
  async function deliverBatch(signal: AbortSignal): Promise<boolean> {
    const newestId = deps.newestId();
    if (remainingPauseMs() > 0 || newestId <= deliveredUpTo) return false;
    const { events, isStale, readUpTo } = await readEventBatch(
      { afterId: deliveredUpTo, newestId, limit: BATCH },
      (range) => deps.listEvents(deliveredUpTo, { ...range, types: webhook.types }),
    );
    for (const event of events) {
      if (signal.aborted) return false;
      if (isStale(event)) return true;
      if (!(await deliver(event, signal))) return false;
    }
    if (signal.aborted) return false;
    deliveredUpTo = readUpTo;
    return true;
  }

  const loop = startLoop({
    name: `delivering to webhook ${name}`,
    everyMs: checkMs,
    log,
    work: async (signal) => {
      while (await deliverBatch(signal)) await saveIfDue();
      if (!signal.aborted) await saveIfDue();
    },
    nextPauseMs: () => Math.min(results.length > 0 ? SAVE_MS : remainingPauseMs() || checkMs, checkMs),
  });

  return {
    wake: loop.wake,
    retryNow: () => {
      if (retryAt === null) return;
      failures = 0;
      retryAt = null;
      loop.wake();
    },
    stop: loop.stop,
    ended: loop.ended.then(async () => {
      if (results.length > 0 && !isOver) await save().catch(() => undefined);
    }),
  };
}

/** @returns undefined when the message has been tried for long enough. */
function backoffAfterMs(failures: number): number | undefined {
  let waitedMs = 0;
  for (let failure = 1; failure < failures; failure++) waitedMs += backoffMs(failure, BACKOFF);
  const restMs = RETRIED_FOR_MS - waitedMs;
  return restMs > 0 ? Math.min(backoffMs(failures, BACKOFF), restMs) : undefined;
}
