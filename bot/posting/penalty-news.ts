import { knownEnd, serverNameOf, statusAt } from '../../src/domain/penalty.ts';
import {
  closePenaltyNews,
  findNewestOutdatedEvent,
  findPenaltyNews,
  finishPenaltyNews,
  listPenaltyNews,
  type PenaltyNews,
} from '../../src/queries/discord/penalty-news.ts';
import { readEventLog } from '../../src/queries/events.ts';
import type { BotContext } from '../context.ts';
import { linkButton, type MessageView, personalMessage } from '../embeds/message-view.ts';
import { durationOf, penaltyEmbed } from '../embeds/penalty.ts';
import { escapeText } from '../embeds/text.ts';
import { localizationIn } from '../locales/localization.ts';
import { toNonce } from './channel-messages.ts';
import type { DirectMessage, ListDirectMessages } from './direct-messages.ts';

type Options = Pick<BotContext, 'pages' | 'now'> & {
  /** Where a penalty can be appealed. */
  appealUrl: string | undefined;
  takesAppeals: boolean;
};

/** Direct messages to people about their own penalties, if they ticked the checkbox on the account page. */
export function createPenaltyNews(context: BotContext & Options): ListDirectMessages {
  const { db, now, takesAppeals } = context;
  /** Everything about events up to this one has been sent. */
  let sentUpTo: number | undefined;

  return async () => {
    sentUpTo ??= await findNewestOutdatedEvent(db, now());
    const { newestId } = await readEventLog(db);
    if (newestId === sentUpTo) return [];
    const news = await listPenaltyNews(db, sentUpTo, { now: now(), takesAppeals });
    if (news.length === 0) sentUpTo = newestId;
    return news.map(toDirectMessage);
  };

  function toDirectMessage(news: PenaltyNews): DirectMessage {
    const key = `penalty:${news.event.id}`;
    return {
      key,
      turn: 'penalties',
      discordId: news.discordId,
      render: async () => {
        const current = await findPenaltyNews(db, news, { now: now(), takesAppeals });
        return current && { message: penaltyMessage(current, context), nonce: toNonce(key) };
      },
      sent: () => finishPenaltyNews(db, news),
      closed: () => closePenaltyNews(db, news, now()),
    };
  }
}

function penaltyMessage(
  { fact, event: { penalty }, serverName, language }: PenaltyNews,
  { pages, now, appealUrl }: Options,
): MessageView {
  const { texts } = localizationIn(language);
  const { personal: words, record, buttons } = texts;
  const { id, type, durationMinutes, serverId } = penalty;
  const status = fact === 'lifted' ? 'UNBANNED' : statusAt(penalty.status, penalty.endsAt, now());
  const view = {
    ...penalty,
    status,
    endsAt: knownEnd({ ...penalty, status }, now()),
    goneAt: null,
    serverName: serverNameOf({ serverId, serverName }),
  };
  const inForce = record.inForce[type];
  const what = durationMinutes === 0 ? inForce.permanently : inForce.during(durationOf(view, texts));
  const reason = escapeText(penalty.reason, { max: 300, fallback: record.noReason });
  const text = fact === 'begun' ? words.begun({ what, reason }) : words[fact]({ type, id });
  const link =
    fact === 'begun' && appealUrl !== undefined
      ? linkButton(buttons.appeal, appealUrl)
      : linkButton(buttons.site, pages.account);
  return { ...personalMessage(text, link), embeds: [penaltyEmbed(view, texts)] };
}
