import type { SigningWebhook } from '../../queries/webhooks/webhooks.ts';
import { createWakeSignal } from './wake-signal.ts';
import { runWebhookQueue, type WebhookQueue, type WebhookQueueDeps } from './webhook-queue.ts';

/** Delivers to all webhooks, each independently of the others. */
export type WebhookDelivery = {
  /** Delivers until the signal aborts. */
  lead: (signal: AbortSignal) => Promise<void>;
  /** There may be new events. */
  wake: () => void;
  /** A webhook was added, removed or switched on. */
  reload: () => void;
};

type Deps = WebhookQueueDeps & {
  listWebhooks: () => Promise<SigningWebhook[]>;
  /** The newest event of the database; a webhook that is ahead of it comes from another database. */
  readNewestId: () => Promise<number>;
  /** As in `runWebhookQueue`; set by tests. */
  checkMs?: number;
};

type Running = WebhookQueue & { stop: () => void };

/** Webhooks are read at least this often, in case a notification was lost. */
const RELOAD_MS = 5000;

/** Creates the delivery, which begins with `lead`. */
export function createWebhookDelivery(deps: Deps): WebhookDelivery {
  const { log } = deps;
  const running = new Map<number, Running>();
  const wakeSignal = createWakeSignal();

  /** Starts queues of new webhooks and stops those of removed ones. */
  async function load(signal: AbortSignal): Promise<void> {
    const readAtMs = performance.now();
    const webhooks = await deps.listWebhooks();
    const newestId = await deps.readNewestId();
    if (signal.aborted) return;
    for (const webhook of webhooks) {
      const queue = running.get(webhook.id);
      if (!queue) start({ ...webhook, deliveredUpTo: Math.min(webhook.deliveredUpTo, newestId) }, signal);
      else if (webhook.retryAt === null) queue.retryNow(readAtMs);
    }
    const wanted = new Set(webhooks.map(({ id }) => id));
    for (const [id, queue] of running) if (!wanted.has(id)) queue.stop();
  }

  function start(webhook: SigningWebhook, signal: AbortSignal): void {
    const stopping = new AbortController();
    const stop = () => stopping.abort();
    signal.addEventListener('abort', stop);
    const queue = runWebhookQueue(deps, webhook, { signal: stopping.signal, checkMs: deps.checkMs });
    running.set(webhook.id, { ...queue, stop });
    void queue.ended.then(() => {
      signal.removeEventListener('abort', stop);
      running.delete(webhook.id);
      // It may have been switched on again before it ended.
      wakeSignal.wake();
    });
  }

  return {
    lead: async (signal) => {
      let isFailing = false;
      while (!signal.aborted) {
        try {
          await load(signal);
          isFailing = false;
        } catch (error) {
          if (!isFailing) log.warn({ err: error }, 'webhooks cannot be read: retrying');
          isFailing = true;
        }
        await wakeSignal.wait(RELOAD_MS, signal);
      }
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
    wake: () => {
      for (const queue of running.values()) queue.wake();
    },
    reload: wakeSignal.wake,
  };
}
