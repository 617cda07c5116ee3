import { knownEnd, serverNameOf, statusAt } from '../../src/domain/penalty.ts';
import { steamProfileUrl } from '../../src/domain/profile-address.ts';
import { UNKNOWN_STEAM_ID } from '../../src/domain/steam-id.ts';
import type { FeedEvent } from '../../src/queries/discord-feeds/penalty-posts.ts';
import type { PenaltyCounts } from '../../src/queries/penalties/filter.ts';
import type { Texts } from '../locales/en.ts';
import { code, escapeText, relativeTime } from '../text.ts';
import { COLOURS, type MessageView } from './message.ts';
import { penaltyEmbed } from './penalty.ts';
import { countsLine } from './player-record.ts';

/**
 * A penalty as a feed shows it after an event, with the status it has at `now`. A deleted penalty is shown without names
 * and reason: it gets no further events, so an erasure could not remove them from the message.
 */
export function feedPenalty(
  { isDeleted, isRemoved, penalty, serverName }: FeedEvent,
  { texts, now }: { texts: Texts; now: Date },
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
  const isKnown = playerSteamId !== UNKNOWN_STEAM_ID;
  const name = escapeText(playerName, {
    max: 64,
    fallback: isKnown ? texts.user.unnamed : words.unknownPlayer,
  });
  const player = isKnown ? `${name}\n${code(playerSteamId)}` : name;
  return {
    embeds: [
      {
        ...embed,
        ...(isKnown && { url: steamProfileUrl(playerSteamId) }),
        ...(isRemoved && removed),
        fields: [{ name: words.player, value: player, inline: true }, ...(embed.fields ?? [])],
      },
    ],
    components: [],
  };
}

/** Many new penalties in one message. */
export function feedSummary(
  { amount, counts, since }: { amount: number; counts: PenaltyCounts; since: Date },
  texts: Texts,
): MessageView {
  const { feed: words } = texts;
  return {
    embeds: [
      {
        title: `🔴 ${words.summaryTitle(amount)}`,
        color: COLOURS.danger,
        description: words.summary({ since: relativeTime(since), counts: countsLine(counts, texts) }),
      },
    ],
    components: [],
  };
}
