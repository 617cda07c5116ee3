import { isCarriedOut } from '../../../src/domain/appeal.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import {
  findNextAppeal,
  findOutdatedPost,
  passAppealEvents,
  type ShownAppeal,
  saveShownAppeal,
} from '../../../src/queries/discord/appeal-posts.ts';
import type { DiscordFeed } from '../../../src/queries/discord/feeds.ts';
import { COLOURS, linkButton, type MessageView, row } from '../../embeds/message-view.ts';
import type { SitePages } from '../../embeds/site-pages.ts';
import { code, escapeText } from '../../embeds/text.ts';
import type { Texts } from '../../locales/en.ts';
import type { BotParts } from '../../parts.ts';
import { type Messenger, toNonce } from '../channel-messages.ts';
import { followEventLog } from './event-log.ts';
import { editInFeed, postToFeed } from './feed-messages.ts';

/**
 * Posts or edits one message of a feed of appeals: new appeals come first, then outdated messages.
 * @returns whether there may be more to do.
 */
export async function stepAppealFeed(deps: BotParts & Messenger, feed: DiscordFeed): Promise<boolean> {
  const { db, pages } = deps;
  const newestId = await followEventLog(deps, feed);
  if (newestId === undefined) return true;
  if (feed.cursor === newestId) return editOne(deps, feed);
  const next = await findNextAppeal(db, feed, newestId);
  if (!next) {
    await passAppealEvents(db, feed, { upTo: newestId });
    // In the same step: a step that succeeds ends a row of refusals, and nothing was sent yet.
    return editOne(deps, feed);
  }
  const { texts } = deps.localizeGuild(feed.locale);
  const content = {
    message: appealMessage(next, { texts, pages }),
    nonce: toNonce(feed.epoch, feed.id, next.eventId),
  };
  const messageId = await postToFeed(deps, feed, content, { appeal: next.appeal.id });
  await passAppealEvents(db, feed, {
    upTo: next.eventId,
    ...(messageId !== undefined && { posted: { appealId: next.appeal.id, messageId, shown: next.shown } }),
  });
  return true;
}

async function editOne(deps: BotParts & Messenger, feed: DiscordFeed): Promise<boolean> {
  const { db, pages } = deps;
  const post = await findOutdatedPost(db, feed.id);
  if (!post) return false;
  const { appealId, messageId, current } = post;
  const { texts } = deps.localizeGuild(feed.locale);
  const view = current ? appealMessage(current, { texts, pages }) : deletedMessage(texts);
  const isThere = await editInFeed(deps, feed, { messageId, view }, { appeal: appealId });
  await saveShownAppeal(db, feed.id, { appealId, shown: isThere ? current?.shown : undefined });
  return true;
}

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
    { texts, pages },
  );
}
