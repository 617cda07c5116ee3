import { knownEnd, serverNameOf, statusAt } from '../../../src/domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import {
  countWaitingPenalties,
  type FeedEvent,
  findPenaltyEvent,
  findWaitingPenalty,
} from '../../../src/queries/discord/feed-penalties.ts';
import type { PenaltyCounts } from '../../../src/queries/penalties/filter.ts';
import type { BotContext } from '../../context.ts';
import {
  COLOURS,
  linkButton,
  type MessageView,
  playerLinks,
  recordButton,
  row,
} from '../../embeds/message-view.ts';
import {
  durationOf,
  type PenaltyView,
  penaltyEmbed,
  STATUS_LOOKS,
  severityEmoji,
} from '../../embeds/penalty.ts';
import { countsLine } from '../../embeds/player-record.ts';
import type { SitePages } from '../../embeds/site-pages.ts';
import { code, escapeText, relativeTime } from '../../embeds/text.ts';
import type { Texts } from '../../locales/en.ts';
import { createEventStep } from './event-feed.ts';

/** More new penalties than this become one message. */
const SHOWN_ONE_BY_ONE = 20;

export const stepPenaltyFeed = createEventStep({
  findNext: async (db, feed, newestId) => {
    const { first, amount } = await countWaitingPenalties(db, feed, newestId);
    return amount > SHOWN_ONE_BY_ONE ? newestId : first?.id;
  },
  compose: async (deps, feed, upTo) => {
    const { db, pages, now } = deps;
    const { amount, counts, first } = await countWaitingPenalties(db, feed, upTo);
    const { texts } = deps.localizeGuild(feed.locale);
    const event = amount === 1 ? await findWaitingPenalty(db, feed, upTo) : undefined;
    if (event) {
      return { message: feedPenalty(event, { texts, pages, now: now() }), subjectId: event.penalty.id };
    }
    return (
      first && {
        message: feedSummary({ amount, counts, since: first.occurredAt }, { texts, pages }),
        subjectId: undefined,
      }
    );
  },
  renew: async (deps, feed, { eventId }) => {
    const { db, pages, now } = deps;
    const event = await findPenaltyEvent(db, eventId);
    const { texts } = deps.localizeGuild(feed.locale);
    return {
      view: event && feedPenalty(event, { texts, pages, now: now() }),
      isFinal: event?.isDeleted ?? false,
    };
  },
});

type ShownEvent = Pick<FeedEvent, 'isDeleted' | 'goneAt' | 'serverName'> & {
  penalty: Omit<PenaltyView, 'goneAt' | 'serverName'> &
    Pick<FeedEvent['penalty'], 'playerName' | 'playerSteamId' | 'serverId'>;
};

/**
 * A penalty as a feed shows it after an event, with the status it has at `now`: the content names the player first, so that
 * a notification says whom it is about. A deleted penalty is shown without names and reason: it gets no further events, so an
 * erasure could not remove them from the message.
 */
function feedPenalty(
  { isDeleted, goneAt, penalty, serverName }: ShownEvent,
  { texts, pages, now }: { texts: Texts; pages: SitePages; now: Date },
): MessageView {
  const { feed: words } = texts;
  const removalEmbed = {
    title: `🗑️ ${texts.record.entry(penalty)} · ${texts.record.statusOf(penalty.type, 'REMOVED')}`,
    color: COLOURS.offline,
  };
  if (isDeleted) return { embeds: [removalEmbed], components: [] };
  const { playerName, playerSteamId, serverId } = penalty;
  const status = statusAt(penalty.status, penalty.endsAt, now);
  const endsAt = knownEnd({ ...penalty, status }, now);
  const view = { ...penalty, status, endsAt, goneAt, serverName: serverNameOf({ serverId, serverName }) };
  const embed = penaltyEmbed(view, texts);
  const hasSteamId = playerSteamId !== UNKNOWN_STEAM_ID;
  const name = escapeText(playerName, {
    max: 64,
    fallback: hasSteamId ? texts.user.unnamed : words.unknownPlayer,
  });
  const player = hasSteamId ? `${name}\n${code(playerSteamId)}` : name;
  return {
    content: headlineOf(view, name, texts),
    embeds: [
      {
        ...embed,
        ...(goneAt && removalEmbed),
        fields: [{ name: words.player, value: player, inline: true }, ...(embed.fields ?? [])],
      },
    ],
    components: hasSteamId
      ? [
          row(
            recordButton(playerSteamId, texts),
            ...playerLinks(texts, playerSteamId, pages.player(playerSteamId, 'everyone')),
          ),
        ]
      : [],
  };
}

/** A made-up ban of an hour. */
export function examplePenalty({ pages, now: clock }: BotContext, texts: Texts): MessageView {
  const now = clock();
  const penalty = {
    ...({ id: 0, type: 'ban', status: 'ACTIVE', createdAt: now, durationMinutes: 60 } as const),
    ...{ endsAt: new Date(now.getTime() + 3_600_000), liftedAt: null },
    ...{ liftedByName: null, liftedBySteamId: null, liftReason: null },
    ...{ playerName: texts.feed.examplePlayer, reason: texts.feed.exampleReason, serverId: 0 },
    ...{ playerSteamId: UNKNOWN_STEAM_ID, adminName: '', adminSteamId: UNKNOWN_STEAM_ID },
  };
  const event = { penalty, isDeleted: false, goneAt: null, serverName: undefined };
  return feedPenalty(event, { texts, pages, now });
}

/** `⛔ Name · banned for 30 days`, `🟢 Name · ban lifted` */
function headlineOf(penalty: PenaltyView, name: string, texts: Texts): string {
  const { record: words } = texts;
  const { type, status, durationMinutes, goneAt } = penalty;
  const isRemoved = goneAt !== null;
  const isActive = status === 'ACTIVE' && !isRemoved;
  const emoji = isRemoved ? '🗑️' : isActive ? severityEmoji(type) : STATUS_LOOKS[status].emoji;
  const what = isActive
    ? durationMinutes === 0
      ? words.inForce[type].permanently
      : words.inForce[type].during(durationOf(penalty, texts))
    : `${words.types[type]} ${words.statusOf(type, isRemoved ? 'REMOVED' : status)}`;
  return `${emoji} ${name} · ${what.charAt(0).toLowerCase()}${what.slice(1)}`;
}

/** Many new penalties in one message. */
function feedSummary(
  { amount, counts, since }: { amount: number; counts: PenaltyCounts; since: Date },
  { texts, pages }: { texts: Texts; pages: Pick<SitePages, 'penalties'> },
): MessageView {
  const { feed: words, buttons } = texts;
  const description = words.summary({ since: relativeTime(since), counts: countsLine(counts, texts) });
  return {
    content: `🔴 ${words.summaryTitle(amount)}`,
    embeds: [{ color: COLOURS.danger, description }],
    components: pages.penalties ? [row(linkButton(buttons.site, pages.penalties))] : [],
  };
}
