import { type APIEmbed, embedLength, inlineCode, quote, TimestampStyles } from 'discord.js';
import { PENALTY_STATUSES, PENALTY_TYPES, type PenaltyStatus, type PenaltyType } from '../../src/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../src/steam-id.ts';
import { toCustomId } from '../custom-id.ts';
import { LIMITS } from '../limits.ts';
import type { Texts } from '../locales/en.ts';
import { absoluteAndRelativeTime, escapeText, relativeTime } from '../text.ts';
import type { PenaltyView, RecordFilter, RecordView } from '../view.ts';
import { button, COLOURS, linkButton, type MessageView, menuRow, type Row, row } from './message.ts';

export const PENALTIES_A_PAGE = 5;

const STATUS_LOOKS: Record<PenaltyStatus, { emoji: string; colour: number }> = {
  ACTIVE: { emoji: '🔴', colour: COLOURS.danger },
  EXPIRED: { emoji: '⚪', colour: COLOURS.offline },
  UNBANNED: { emoji: '🟢', colour: COLOURS.online },
};

/** Stands for "no filter" in a `custom_id` and as a menu's value. */
export const NO_FILTER = '-';

/**
 * A player's record: a summary, then one embed a penalty in the colour of its status. Texts that would not fit are cut
 * shorter, those of all penalties alike.
 */
export function recordMessage(
  record: RecordView,
  { texts, invokerId }: { texts: Texts; invokerId: string },
): MessageView {
  const embedsWith = (share: number) => [
    summary(record, texts),
    ...record.penalties.map((penalty) => penaltyEmbed(penalty, texts, share)),
  ];
  const whole = embedsWith(1);
  return {
    embeds: isTooLong(whole) ? embedsWith(0.3) : whole,
    components: controls(record, texts, invokerId),
  };
}

function isTooLong(embeds: APIEmbed[]): boolean {
  return embeds.reduce((sum, embed) => sum + embedLength(embed), 0) > LIMITS.messageEmbeds;
}

/** One penalty; `share` of the usual length for texts of others, 0 to 1. */
function penaltyEmbed(penalty: PenaltyView, texts: Texts, share: number): APIEmbed {
  const upTo = (characters: number) => Math.floor(characters * share);
  const { record: words } = texts;
  const { emoji, colour } = STATUS_LOOKS[penalty.status];
  const field = (name: string, value: string) => ({ name, value, inline: true });
  return {
    title: `${emoji} ${words.statuses[penalty.status]} · ${words.entry(penalty)}`,
    color: colour,
    description: quote(escapeText(penalty.reason, { max: upTo(300), fallback: words.noReason })),
    fields: [
      field(
        words.duration,
        penalty.durationMinutes === 0 ? words.permanent : words.durationInWords(penalty.durationMinutes),
      ),
      field(words.issued, absoluteAndRelativeTime(penalty.createdAt, TimestampStyles.ShortDateTime)),
      ...endField(penalty, texts).map(([name, value]) => field(name, value)),
      field(words.admin, adminOf(penalty, texts, upTo(64))),
      field(
        words.server,
        penalty.serverName === undefined
          ? words.allServers
          : escapeText(penalty.serverName, { max: upTo(128) }),
      ),
      ...(penalty.status === 'UNBANNED'
        ? [{ name: words.lifted, value: liftOf(penalty, texts, share) }]
        : []),
    ],
  };
}

function summary(record: RecordView, texts: Texts): APIEmbed {
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

function endField({ status, endsAt }: PenaltyView, { record: words }: Texts): [string, string][] {
  if (status === 'UNBANNED') return [];
  if (endsAt === null) return status === 'ACTIVE' ? [[words.ends, words.never]] : [];
  return [
    [
      status === 'ACTIVE' ? words.ends : words.ended,
      absoluteAndRelativeTime(endsAt, TimestampStyles.ShortDateTime),
    ],
  ];
}

function adminOf({ adminName, adminSteamId }: PenaltyView, { record: words }: Texts, max: number): string {
  return escapeText(adminName, {
    max,
    fallback: adminSteamId === UNKNOWN_STEAM_ID ? words.console : adminSteamId,
  });
}

function liftOf(
  { liftedAt, liftedByName, liftReason }: PenaltyView,
  { record: words }: Texts,
  share: number,
): string {
  const by = escapeText(liftedByName ?? '', { max: Math.floor(64 * share) });
  const head = [liftedAt ? relativeTime(liftedAt) : '', by === '' ? '' : words.liftedBy(by)]
    .filter(Boolean)
    .join(' ');
  const reason = escapeText(liftReason ?? '', { max: Math.floor(200 * share) });
  return [head, reason === '' ? '' : `> ${reason}`].filter(Boolean).join('\n') || words.statuses.UNBANNED;
}

function controls(record: RecordView, texts: Texts, invokerId: string): Row[] {
  const { steamId, page, lastPage, filter } = record;
  const profile = linkButton(texts.buttons.profile, `https://steamcommunity.com/profiles/${steamId}`);
  if (PENALTY_TYPES.every((type) => record.counts[type] === 0)) return [row(profile)];
  const state = stateOf(filter);
  // The first argument keeps the ids of two buttons that lead to the same page apart.
  const goTo = (which: string, target: number) =>
    toCustomId('record.page', which, invokerId, steamId, target, ...state);
  const isFirst = page <= 1;
  const isLast = page >= lastPage;
  return [
    row(
      button(texts.buttons.first, goTo('first', 1), { emoji: '⏮️', isDisabled: isFirst }),
      button(texts.buttons.previous, goTo('previous', Math.max(1, page - 1)), {
        emoji: '◀️',
        isDisabled: isFirst,
      }),
      button(texts.buttons.next, goTo('next', Math.min(lastPage, page + 1)), {
        emoji: '▶️',
        isDisabled: isLast,
      }),
      button(texts.buttons.last, goTo('last', lastPage), { emoji: '⏭️', isDisabled: isLast }),
      profile,
    ),
    filterMenu('record.type', texts.record.filterType, texts.record.everyType),
    statusMenu(),
  ];

  function filterMenu(name: string, placeholder: string, every: string): Row {
    return menuRow(toCustomId(name, invokerId, steamId, ...state), placeholder, [
      { label: every, value: NO_FILTER, default: filter.type === undefined },
      ...PENALTY_TYPES.map((type) => ({
        label: `${texts.record.types[type]} (${record.counts[type]})`,
        value: type,
        default: filter.type === type,
      })),
    ]);
  }

  function statusMenu(): Row {
    return menuRow(toCustomId('record.status', invokerId, steamId, ...state), texts.record.filterStatus, [
      { label: texts.record.everyStatus, value: NO_FILTER, default: filter.status === undefined },
      ...PENALTY_STATUSES.map((status) => ({
        label: texts.record.statuses[status],
        value: status,
        default: filter.status === status,
        emoji: { name: STATUS_LOOKS[status].emoji },
      })),
    ]);
  }
}

function stateOf({
  type = NO_FILTER,
  status = NO_FILTER,
}: {
  type?: string | undefined;
  status?: string | undefined;
}): [string, string] {
  return [type, status];
}

/** Reads the filter out of two arguments of a `custom_id`; what is not known is no filter. */
export function readFilter(type: string | undefined, status: string | undefined): RecordFilter {
  return {
    type: PENALTY_TYPES.find((known) => known === type),
    status: PENALTY_STATUSES.find((known) => known === status),
  };
}
