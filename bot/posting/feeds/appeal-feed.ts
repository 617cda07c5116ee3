import { isCarriedOut } from '../../../src/domain/appeal.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import {
  findAppealOfEvent,
  findNextAppeal,
  findShownAppeal,
  type ShownAppeal,
} from '../../../src/queries/discord/feed-appeals.ts';
import { COLOURS, linkButton, type MessageView, row } from '../../embeds/message-view.ts';
import type { SitePages } from '../../embeds/site-pages.ts';
import { code, escapeText } from '../../embeds/text.ts';
import type { Texts } from '../../locales/en.ts';
import type { BotParts } from '../../parts.ts';
import { createEventStep } from './event-feed.ts';

export const stepAppealFeed = createEventStep({
  findNext: findNextAppeal,
  compose: async (deps, feed, upTo) => {
    const appeal = await findAppealOfEvent(deps.db, upTo);
    const { texts } = deps.localizeGuild(feed.locale);
    return appeal && { message: appealMessage(appeal, { ...deps, texts }), subjectId: appeal.appeal.id };
  },
  renew: async (deps, feed, { subjectId }) => {
    const appeal = await findShownAppeal(deps.db, subjectId);
    const { texts } = deps.localizeGuild(feed.locale);
    const view = appeal ? appealMessage(appeal, { ...deps, texts }) : deletedMessage(texts);
    return { view, isFinal: appeal === undefined };
  },
});

/** An appeal, without its texts. */
function appealMessage(
  { appeal, penalty, messages }: ShownAppeal,
  { texts, pages }: { texts: Texts; pages: Pick<SitePages, 'appeal'> },
): MessageView {
  const { appeal: words, record, feed } = texts;
  const entry = penalty ? record.entry({ type: penalty.type, id: appeal.penaltyId }) : `#${appeal.penaltyId}`;
  const name = escapeText(penalty?.playerName ?? '', { max: 64, fallback: feed.unknownPlayer });
  const id = appeal.playerSteamId === UNKNOWN_STEAM_ID ? '' : `\n${code(appeal.playerSteamId)}`;
  const title = words.title({
    entry,
    state: isCarriedOut(appeal) ? words.carriedOut : words.states[appeal.state],
  });
  return {
    content: `⚖️ ${name} · ${entry}`,
    embeds: [
      {
        title,
        color: appeal.state === 'undecided' ? COLOURS.warning : COLOURS.neutral,
        description: words.messages(messages),
        fields: [{ name: feed.player, value: `${name}${id}`, inline: true }],
      },
    ],
    components: [row(linkButton(words.open, pages.appeal(appeal.id, 'moderators')))],
  };
}

/** Replaces an appeal that was deleted: when its player was erased, or after a year. */
function deletedMessage({ appeal }: Texts): MessageView {
  return { content: '', embeds: [{ description: appeal.deleted, color: COLOURS.offline }], components: [] };
}

/** A made-up appeal. */
export function exampleAppeal({ pages }: BotParts, texts: Texts): MessageView {
  return appealMessage(
    {
      appeal: {
        id: 0,
        state: 'undecided',
        ending: null,
        waitsFor: 'staff',
        penaltyId: 0,
        playerSteamId: UNKNOWN_STEAM_ID,
      },
      penalty: { type: 'ban', playerName: texts.feed.examplePlayer },
      messages: 1,
    },
    { texts, pages: { appeal: () => pages.appeals } },
  );
}
