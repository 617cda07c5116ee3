import {
  finishAppealNews,
  listUnsentAppealNews,
  type UnsentAppealNews,
} from '../../src/queries/appeals/news.ts';
import type { BotContext } from '../context.ts';
import { linkButton, personalMessage } from '../embeds/message-view.ts';
import { localizationIn } from '../locales/localization.ts';
import { toNonce } from './channel-messages.ts';
import type { DirectMessage, ListDirectMessages } from './direct-messages.ts';

/** Direct messages to players about their appeals: asked, accepted, denied, closed, carried out. */
export function createAppealNews({ db, pages }: Pick<BotContext, 'db' | 'pages'>): ListDirectMessages {
  return async () => {
    const messages: DirectMessage[] = [];
    for (const unsent of await listUnsentAppealNews(db)) {
      const { discordId } = unsent;
      if (discordId === null) await finishAppealNews(db, unsent);
      else messages.push(toDirectMessage({ ...unsent, discordId }));
    }
    return messages;
  };

  function toDirectMessage(unsent: UnsentAppealNews & { discordId: string }): DirectMessage {
    const { id, news, messageId, penaltyId, penaltyType, ending, discordId, language } = unsent;
    const key = `appeal:${id}:${messageId ?? news}`;
    return {
      key,
      turn: 'appeals',
      discordId,
      render: async () => {
        const { texts } = localizationIn(language);
        const text = texts.appeal.news[news]({ type: penaltyType ?? 'penalty', id: penaltyId, ending });
        const link = linkButton(texts.appeal.open, pages.appeal(id, 'player'));
        return { message: personalMessage(text, link), nonce: toNonce(key) };
      },
      sent: () => finishAppealNews(db, unsent),
      closed: () => finishAppealNews(db, unsent, { wantsMessages: false }),
    };
  }
}
