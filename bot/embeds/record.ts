import { type APIEmbed, embedLength, inlineCode } from 'discord.js';
import { PENALTY_TYPES, type PenaltyType } from '../../src/penalty.ts';
import { LIMITS } from '../limits.ts';
import type { Texts } from '../locales/en.ts';
import { escapeText } from '../text.ts';
import { COLOURS, type MessageView } from './message.ts';
import { penaltyEmbed } from './penalty.ts';
import { recordControls } from './record-controls.ts';
import type { RecordView } from './record-view.ts';

export const PENALTIES_PER_PAGE = 5;

/** A player's record: a summary, then one embed for each penalty. Texts are cut shorter if the message would be too long. */
export function recordMessage(
  record: RecordView,
  { texts, invokerId }: { texts: Texts; invokerId: string },
): MessageView {
  const embedsWith = (textShare: number) => [
    summaryEmbed(record, texts),
    ...record.penalties.map((penalty) => penaltyEmbed(penalty, texts, textShare)),
  ];
  const whole = embedsWith(1);
  return {
    embeds: isTooLong(whole) ? embedsWith(0.3) : whole,
    components: recordControls(record, { texts, invokerId }),
  };
}

function isTooLong(embeds: APIEmbed[]): boolean {
  return embeds.reduce((sum, embed) => sum + embedLength(embed), 0) > LIMITS.messageEmbeds;
}

function summaryEmbed(record: RecordView, texts: Texts): APIEmbed {
  const { record: words } = texts;
  const name = escapeText(record.playerName, { max: 64, fallback: texts.user.unnamed });
  const isClean = PENALTY_TYPES.every((type) => record.counts[type] === 0);
  const active = countsLine(record.active, texts);
  const lines = isClean
    ? [words.clean]
    : [
        active === '' ? words.noneActive : words.active(active),
        words.total(countsLine(record.counts, texts)),
        ...(record.penalties.length === 0 ? ['', words.nothingMatches] : []),
      ];
  const isBanned = record.active.ban > 0;
  return {
    title: `${isBanned ? '⛔' : active === '' ? '✅' : '⚠️'} ${words.title(name)}`,
    color: isBanned ? COLOURS.danger : active === '' ? COLOURS.online : COLOURS.warning,
    description: [inlineCode(record.steamId), ...lines].join('\n'),
    ...(isClean ? {} : { footer: { text: words.page(record) } }),
  };
}

function countsLine(counts: Record<PenaltyType, number>, texts: Texts): string {
  return PENALTY_TYPES.filter((type) => counts[type] > 0)
    .map((type) => texts.record.count(type, counts[type]))
    .join(' · ');
}
