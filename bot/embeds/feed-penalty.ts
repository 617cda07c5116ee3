import { knownEnd, serverNameOf, statusAt } from '../../src/domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../src/domain/steam-id.ts';
import type { FeedEvent } from '../../src/queries/discord-feeds/penalty-posts.ts';
import type { PenaltyCounts } from '../../src/queries/penalties/filter.ts';
import type { Texts } from '../locales/en.ts';
import type { SitePages } from '../site-pages.ts';
import { code, escapeText, relativeTime } from '../text.ts';
import { COLOURS, type MessageView, playerLinks, row } from './message.ts';
import { durationOf, penaltyEmbed, STATUS_LOOKS, severityEmoji } from './penalty.ts';
import { countsLine } from './player-record.ts';
import type { PenaltyView } from './player-record-view.ts';
import { recordButton } from './user.ts';

/**
 * A penalty as a feed shows it after an event, with the status it has at `now`: the content names the player first, so that
 * a notification says whom it is about. A deleted penalty is shown without names and reason: it gets no further events, so an
 * erasure could not remove them from the message.
 */
export function feedPenalty(
  { isDeleted, isRemoved, penalty, serverName }: FeedEvent,
  { texts, pages, now }: { texts: Texts; pages: SitePages; now: Date },
): MessageView {
  const { feed: words } = texts;
  const removed = {
    title: `🗑️ ${texts.record.entry(penalty)} · ${texts.record.statusOf(penalty.type, 'REMOVED')}`,
    color: COLOURS.offline,
  };
  if (isDeleted) return { embeds: [removed], components: [] };
  const { playerName, playerSteamId, serverId } = penalty;
  const status = statusAt(penalty.status, penalty.endsAt, now);
  const endsAt = knownEnd({ ...penalty, status }, now);
  const view = { ...penalty, status, endsAt, serverName: serverNameOf({ serverId, serverName }) };
  const embed = penaltyEmbed(view, texts);
  const hasSteamId = playerSteamId !== UNKNOWN_STEAM_ID;
  const name = escapeText(playerName, {
    max: 64,
    fallback: hasSteamId ? texts.user.unnamed : words.unknownPlayer,
  });
  const player = hasSteamId ? `${name}\n${code(playerSteamId)}` : name;
  return {
    content: headlineOf(view, { name, isRemoved, texts }),
    embeds: [
      {
        ...embed,
        ...(isRemoved && removed),
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

/** `⛔ Name · banned for 30 days`, `🟢 Name · ban lifted` */
function headlineOf(
  penalty: PenaltyView,
  { name, isRemoved, texts }: { name: string; isRemoved: boolean; texts: Texts },
): string {
  const { record: words } = texts;
  const { type, status, durationMinutes } = penalty;
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
export function feedSummary(
  { amount, counts, since }: { amount: number; counts: PenaltyCounts; since: Date },
  texts: Texts,
): MessageView {
  const { feed: words } = texts;
  const description = words.summary({ since: relativeTime(since), counts: countsLine(counts, texts) });
  return {
    content: `🔴 ${words.summaryTitle(amount)}`,
    embeds: [{ color: COLOURS.danger, description }],
    components: [],
  };
}
