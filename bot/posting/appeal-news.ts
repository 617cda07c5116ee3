import { finishAppealNews, listUntoldAppeals, type UntoldAppeal } from '../../src/queries/appeals/news.ts';
import { createLoop } from '../../src/runtime/loop.ts';
import { noticeMessage } from '../embeds/message-view.ts';
import { localizationIn } from '../locales/localization.ts';
import type { BotParts } from '../parts.ts';
import { createAttempts } from './attempts.ts';
import { isInboxClosed, openDirectChannel, postMessage, toNonce } from './channel-messages.ts';

/** Direct messages to players about their appeals: asked, accepted, denied, closed. */
export type AppealNews = {
  /** Called at each login; only the first call has an effect. */
  start: () => void;
  /** Called when appeals change. */
  wake: () => void;
  /** Aborts requests to Discord; the next leader sends what is still to be sent. */
  stop: () => Promise<void>;
};

/** Nothing is read or sent before `start`. */
export function createAppealNews(parts: BotParts): AppealNews {
  const { db, rest, pages, log, timings } = parts;
  const loop = createLoop({
    name: 'telling players about appeals',
    everyMs: timings.feedIntervalMs,
    work: check,
    log,
  });
  const { signal } = loop;
  const messenger = { rest, signal };
  /** By the id of the appeal. */
  const attempts = createAttempts<number>({
    firstMs: 2 * timings.feedIntervalMs,
    log,
    name: 'telling a player about an appeal',
    describe: (appeal) => ({ appeal }),
  });

  async function check(): Promise<void> {
    for (const untold of await listUntoldAppeals(db)) {
      if (signal.aborted) return;
      if (!attempts.isBackingOff(untold.id)) await tell(untold);
    }
  }

  /** Sends one message; after a crash the next leader sends it again under the same nonce. */
  async function tell(untold: UntoldAppeal): Promise<void> {
    const { id, news, messageId, discordId, locale } = untold;
    try {
      if (discordId !== null) {
        const { texts } = localizationIn(locale);
        await postMessage(messenger, await openDirectChannel(messenger, discordId), {
          message: noticeMessage(texts.appeal.news[news](pages.appeal(id, 'player'))),
          nonce: toNonce('appeal', id, messageId ?? news),
        });
      }
      attempts.succeeded(id);
      await finishAppealNews(db, untold);
    } catch (error) {
      if (signal.aborted) return;
      if (isInboxClosed(error)) {
        await finishAppealNews(db, untold, { wantsMessages: false });
        return;
      }
      attempts.failed(id, error);
    }
  }

  return loop;
}
