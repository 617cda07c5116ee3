import { isCarriedOut } from '../../../src/domain/appeal.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { DAY_MS } from '../../../src/domain/time.ts';
import {
  type AppealEvent,
  countWaitingAppeals,
  findAppealEvent,
  findNextAppeal,
  findShownAppeal,
  type ShownAppeal,
  saveReminder,
} from '../../../src/queries/discord/feed-appeals.ts';
import type { DiscordFeed } from '../../../src/queries/discord/feeds.ts';
import type { BotContext } from '../../context.ts';
import { COLOURS, linkButton, type MessageView, type Row, row } from '../../embeds/message-view.ts';
import type { SitePages } from '../../embeds/site-pages.ts';
import { code, escapeText } from '../../embeds/text.ts';
import type { Texts } from '../../locales/en.ts';
import { type ChannelMessage, toNonce } from '../channel-messages.ts';
import { createEventStep } from './event-feed.ts';
import { type FeedDeps, findRole, postToFeed } from './feed-messages.ts';

/** The player's answers within this time cause one reply. */
const ANSWERS_MS = 5 * 60_000;

const stepEvents = createEventStep({
  findNext: findNextAppeal,
  compose: async (deps, feed, upTo) => {
    const event = await findAppealEvent(deps.db, feed.id, upTo);
    const shown = event && (await findShownAppeal(deps.db, event.appealId));
    if (!shown) return undefined;
    const { id: subjectId, waitsFor } = shown.appeal;
    const roleId = waitsFor === 'staff' ? await findRole(deps, feed) : null;
    const options = { ...deps, texts: deps.localizeGuild(feed.locale).texts };
    if (event.isOpening) return { message: { ...appealMessage(shown, options), roleId }, subjectId };
    if (!needsReply(event, shown)) return undefined;
    const reply = { ...answerMessage(subjectId, options), roleId, replyTo: event.post?.messageId };
    return { message: reply, subjectId, repliedAt: event.occurredAt };
  },
  renew: async (deps, feed, { subjectId }) => {
    const shown = await findShownAppeal(deps.db, subjectId);
    const { texts } = deps.localizeGuild(feed.locale);
    const view = shown ? appealMessage(shown, { ...deps, texts }) : deletedMessage(texts);
    return { view, isFinal: shown === undefined };
  },
});

/** Posts or edits one message about an appeal; if there is none, says once a day what has been waiting for long. */
export async function stepAppealFeed(deps: FeedDeps, feed: DiscordFeed): Promise<boolean> {
  if (await stepEvents(deps, feed)) return true;
  if (deps.takesAppeals) await remind(deps, feed);
  return false;
}

/** Whether the player's answer is news for the staff. */
function needsReply({ post, occurredAt }: AppealEvent, { appeal }: ShownAppeal): boolean {
  if (!post || appeal.waitsFor !== 'staff') return false;
  const sinceMs = occurredAt.getTime() - (post.repliedAt?.getTime() ?? 0);
  return sinceMs < 0 || sinceMs >= ANSWERS_MS;
}

async function remind(deps: FeedDeps, feed: DiscordFeed): Promise<void> {
  const { db, pages } = deps;
  const now = deps.now();
  const sinceMs = now.getTime() - (feed.remindedAt?.getTime() ?? 0);
  // Negative if the clock was ahead at the last one.
  if (sinceMs >= 0 && sinceMs < DAY_MS) return;
  const { staff = 0, lift = 0 } = await countWaitingAppeals(db, new Date(now.getTime() - DAY_MS));
  if (staff + lift === 0) return;
  const { appeal: words } = deps.localizeGuild(feed.locale).texts;
  const message = {
    content: `⏳ ${words.waitForLong({ staff, lift })}`,
    embeds: [],
    components: [row(linkButton(words.openAll, pages.appeals))],
  };
  await postToFeed(deps, feed, {
    message,
    nonce: toNonce('waiting', feed.id, feed.remindedAt?.getTime() ?? 0),
  });
  await saveReminder(db, feed.id, now);
}

type Options = { texts: Texts; pages: Pick<SitePages, 'appeal'>; takesAppeals?: boolean };

/** An appeal, without its texts. */
function appealMessage({ appeal, penalty }: ShownAppeal, options: Options): MessageView {
  const { appeal: words, record, feed } = options.texts;
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
        ...(appeal.waitsFor && { description: words.waitsFor[appeal.waitsFor] }),
        fields: [{ name: feed.player, value: `${name}${id}`, inline: true }],
      },
    ],
    components: appealButtons(appeal.id, options),
  };
}

/** The reply to the message about an appeal; without a name, since it stays as it is. */
function answerMessage(appealId: number, options: Options): MessageView {
  return {
    content: `💬 ${options.texts.appeal.answered}`,
    embeds: [],
    components: appealButtons(appealId, options),
  };
}

function appealButtons(appealId: number, { texts, pages, takesAppeals = true }: Options): Row[] {
  return takesAppeals ? [row(linkButton(texts.appeal.open, pages.appeal(appealId, 'moderators')))] : [];
}

/** Replaces an appeal that was deleted: when its player was erased, or after a year. */
function deletedMessage({ appeal }: Texts): MessageView {
  return { content: '', embeds: [{ description: appeal.deleted, color: COLOURS.offline }], components: [] };
}

/** A made-up appeal. */
export function exampleAppeal({ pages }: BotContext, texts: Texts, roleId: string | null): ChannelMessage {
  const message = appealMessage(
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
    },
    { texts, pages: { appeal: () => pages.appeals } },
  );
  return { ...message, roleId };
}
