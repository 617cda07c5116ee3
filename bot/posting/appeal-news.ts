import { finishAppealNews, listUntoldAppeals, type UntoldAppeal } from '../../src/queries/appeals/news.ts';
import { linkButton, personalMessage } from '../embeds/message-view.ts';
import { localizationIn } from '../locales/localization.ts';
import type { BotParts } from '../parts.ts';
import { toNonce } from './channel-messages.ts';
import type { DirectMessage, ListDirectMessages } from './direct-messages.ts';

/** Direct messages to players about their appeals: asked, accepted, denied, closed, carried out. */
export function createAppealNews({ db, pages }: Pick<BotParts, 'db' | 'pages'>): ListDirectMessages {
  return async () => {
    const messages: DirectMessage[] = [];
    for (const untold of await listUntoldAppeals(db)) {
      const { discordId } = untold;
      if (discordId === null) await finishAppealNews(db, untold);
      else messages.push(toDirectMessage({ ...untold, discordId }));
    }
    return messages;
  };

  function toDirectMessage(untold: UntoldAppeal & { discordId: string }): DirectMessage {
    const { id, news, messageId, penaltyId, penaltyType, ending, discordId, locale } = untold;
    const key = `appeal:${id}:${messageId ?? news}`;
    return {
      key,
      turn: 'appeals',
      discordId,
      render: async () => {
        const { texts } = localizationIn(locale);
        const text = texts.appeal.news[news]({ type: penaltyType ?? 'penalty', id: penaltyId, ending });
        const link = linkButton(texts.appeal.open, pages.appeal(id, 'player'));
        return { message: personalMessage(text, link), nonce: toNonce(key) };
      },
      sent: () => finishAppealNews(db, untold),
      closed: () => finishAppealNews(db, untold, { wantsMessages: false }),
    };
  }
}
