import type { Logger } from 'pino';
import { isDelivered, KEPT_DELIVERIES, type SwitchOffReason } from '../../domain/webhook.ts';
import type { PenaltyEvent } from '../../queries/penalties/events.ts';
import type { Progress } from '../../queries/webhooks/webhook-deliveries.ts';
import { nameOf, type SigningWebhook } from '../../queries/webhooks/webhooks.ts';
import { readEventBatch } from '../event-batch.ts';
import { MAX_PAUSE_MS, pauseAfterFailureMs } from './retry.ts';
import type { Message, Sent } from './send.ts';
import { createWakeSignal } from './wake-signal.ts';

export type WebhookQueueDeps = {
  /** The newest event that is available. */
  newestId: () => number;
  /** Events of some types after one id and up to another, oldest first, without silent ones. */
  listEvents: (
    afterId: number,
    options: { upToId: number; types: SigningWebhook['types']; limit: number },
  ) => Promise<PenaltyEvent[]>;
  toMessage: (webhookId: number, event: PenaltyEvent) => Message;
  send: (webhook: SigningWebhook, message: Message, signal: AbortSignal) => Promise<Sent>;
  /** @returns false when the webhook was removed or switched off meanwhile. */
  save: (id: number, progress: Progress, deliveries: readonly Sent[]) => Promise<boolean>;
  onSent: (sent: Sent) => void;
  now: () => Date;
  log: Logger;
};

const BATCH = 100;
/** How often progress is saved. After a crash, later deliveries are repeated with the same ids. */
const SAVE_MS = 1000;
/** How many events of other types are skipped before progress is saved. */
const SAVE_PASSED = 1000;
/** How often the queue checks for due retries, and how long it pauses after a failure of the service itself. */
const CHECK_MS = 1000;
/** HTTP 410 Gone: the endpoint asks for no further deliveries. */
const GONE = 410;

/** The deliveries to one endpoint in the order of events: each waits until the one before has succeeded. */
export type WebhookQueue = {
  /** There may be new events. */
  wake: () => void;
  /**
   * Ends the pause after a failed attempt, because the webhook was switched on again.
   * @param readAtMs when reading of the webhook began: a pause that was stored after that is newer, and stays.
   */
  retryNow: (readAtMs: number) => void;
  /** Settles when the webhook was removed or switched off, or the signal aborted. */
  ended: Promise<void>;
};

/**
 * Starts to deliver the events that follow the last one that was delivered.
 * @param options.checkMs the pause when there is nothing to deliver; one second by default.
 */
export function runWebhookQueue(
  deps: WebhookQueueDeps,
  webhook: SigningWebhook,
  { signal, checkMs = CHECK_MS }: { signal: AbortSignal; checkMs?: number | undefined },
): WebhookQueue {
  const { log, now } = deps;
  const name = nameOf(webhook);
  const wakeSignal = createWakeSignal();
  let { deliveredUpTo, failures, retryAt } = webhook;
  let savedUpTo = deliveredUpTo;
  let savedAtMs = performance.now();
  let pauseStoredAtMs = Number.NEGATIVE_INFINITY;
  let unsaved: Sent[] = [];
  let isOver = false;

  async function save(switchedOff?: Progress['switchedOff']): Promise<void> {
    const isSaved = await deps.save(webhook.id, { deliveredUpTo, failures, retryAt, switchedOff }, unsaved);
    unsaved = [];
    savedUpTo = deliveredUpTo;
    savedAtMs = performance.now();
    isOver ||= !isSaved || switchedOff !== undefined;
  }

  async function deliver(event: PenaltyEvent): Promise<void> {
    const sent = await deps.send(webhook, deps.toMessage(webhook.id, event), signal);
    if (signal.aborted && !isDelivered(sent)) return;
    deps.onSent(sent);
    unsaved.push(sent);
    // Older ones would be deleted anyway.
    if (unsaved.length > KEPT_DELIVERIES) unsaved.shift();
    if (!isDelivered(sent)) return fail(sent);
    if (failures > 0) log.info({ webhook: name }, 'webhook delivered again');
    deliveredUpTo = event.id;
    failures = 0;
    retryAt = null;
    await saveIfDue();
  }

  async function saveIfDue(): Promise<void> {
    const isNew = unsaved.length > 0 || deliveredUpTo - savedUpTo >= SAVE_PASSED;
    if (isNew && performance.now() - savedAtMs >= SAVE_MS) await save();
  }

  async function fail({ status, failure, cause }: Sent): Promise<void> {
    failures += 1;
    const pauseMs = pauseAfterFailureMs(failures);
    const reason: SwitchOffReason | undefined =
      status === GONE ? 'gone' : pauseMs === undefined ? 'failing' : undefined;
    const result = { webhook: name, status, failure, cause: cause?.message };
    if (reason !== undefined) {
      retryAt = null;
      log.error(
        { ...result, reason },
        'webhook switched off: run `bun run cli webhooks enable ID` to switch it on',
      );
      return save({ at: now(), reason });
    }
    if (failures === 1) log.warn(result, 'webhook could not be delivered: retrying for 24 hours');
    retryAt = new Date(now().getTime() + (pauseMs ?? 0));
    pauseStoredAtMs = Number.POSITIVE_INFINITY;
    try {
      await save();
    } finally {
      // Also when the pause was not stored, so that "try again now" ends it.
      pauseStoredAtMs = performance.now();
    }
  }

  /** A pause longer than any that is set was stored while the clock was ahead, and is ignored. */
  function isPaused(): boolean {
    const leftMs = retryAt === null ? 0 : retryAt.getTime() - now().getTime();
    return leftMs > 0 && leftMs <= MAX_PAUSE_MS;
  }

  /** Delivers available events up to the first failure. @returns whether there may be more. */
  async function work(): Promise<boolean> {
    if (isPaused()) return false;
    const newestId = deps.newestId();
    if (newestId <= deliveredUpTo) return false;
    const { events, isStale, readUpTo } = await readEventBatch(
      { afterId: deliveredUpTo, newestId, limit: BATCH },
      (range) => deps.listEvents(deliveredUpTo, { ...range, types: webhook.types }),
    );
    for (const event of events) {
      if (signal.aborted || isOver) return false;
      if (isStale(event)) return true;
      await deliver(event);
      if (failures > 0) return false;
    }
    deliveredUpTo = readUpTo;
    return true;
  }

  async function run(): Promise<void> {
    let isFailing = false;
    while (!signal.aborted && !isOver) {
      try {
        const hasMore = await work();
        if (!isOver) await saveIfDue();
        isFailing = false;
        if (hasMore || isOver) continue;
      } catch (error) {
        if (!isFailing) log.warn({ err: error, webhook: name }, 'deliveries are stalled: retrying');
        isFailing = true;
      }
      await wakeSignal.wait(unsaved.length > 0 ? Math.min(checkMs, SAVE_MS) : checkMs, signal);
    }
    if (unsaved.length > 0 && !isOver) await save().catch(() => undefined);
  }

  return {
    wake: wakeSignal.wake,
    retryNow: (readAtMs) => {
      if (retryAt === null || pauseStoredAtMs > readAtMs) return;
      failures = 0;
      retryAt = null;
      wakeSignal.wake();
    },
    ended: run(),
  };
}
