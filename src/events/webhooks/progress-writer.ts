import type { Progress } from '../../queries/webhooks/webhook-deliveries.ts';
import type { Sent } from './send.ts';
import type { WebhookQueueDeps } from './webhook-queue.ts';

type Saving = { webhookId: number; progress: Progress; deliveries: readonly Sent[] };

/** @returns the webhooks that were neither removed nor switched off meanwhile. */
type SaveTogether = (savings: readonly Saving[]) => Promise<ReadonlySet<number>>;

type Waiting = { saving: Saving } & Pick<PromiseWithResolvers<boolean>, 'resolve' | 'reject'>;

/**
 * Saves the progress of all webhooks: what arrives during a transaction is saved together in the next. Busy webhooks
 * are due at the same moment, and a transaction for each would hold up other requests.
 */
export function createProgressWriter(saveTogether: SaveTogether): WebhookQueueDeps['save'] {
  let waiting: Waiting[] = [];
  let isWriting = false;

  async function write(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      try {
        const saved = await saveTogether(group.map(({ saving }) => saving));
        for (const { saving, resolve } of group) resolve(saved.has(saving.webhookId));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    isWriting = false;
  }

  return async (webhookId, progress, deliveries) => {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    waiting.push({ saving: { webhookId, progress, deliveries }, resolve, reject });
    if (!isWriting) void write();
    return promise;
  };
}
