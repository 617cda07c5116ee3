import { HeadingLevel, heading, hyperlink, inlineCode, subtext, TimestampStyles } from 'discord.js';
import {
  countsOnlineTime,
  isLiftedByRemoval,
  liftReasonOf,
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  type PenaltyType,
} from '../../src/domain/penalty.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import type { PlayerRecord } from '../../src/queries/penalties/player-record.ts';
import type { SteamBans } from '../../src/queries/steam-bans.ts';
import type { Texts } from '../locales/en.ts';
import { toCustomId } from './custom-id.ts';
import { LIMITS } from './discord-limits.ts';
import {
  button,
  COLOURS,
  linkButton,
  type MessageView,
  menuRow,
  playerLinks,
  type Row,
  row,
} from './message-view.ts';
import { adminOf, lifterOf, type PenaltyView, STATUS_LOOKS, severityEmoji } from './penalty.ts';
import type { LinkReader, SitePages } from './site-pages.ts';
import { absoluteAndRelativeTime, cut, escapeText, relativeTime, toPlainLine } from './text.ts';

/** Steam's own bans of a player, or that they are unavailable. */
export type SteamBansView =
  | Pick<SteamBans, 'vacBans' | 'gameBans' | 'daysSinceLastBan' | 'isCommunityBanned'>
  | 'unknown';

export type RecordFilter = { type?: PenaltyType | undefined; status?: PenaltyStatus | undefined };

/** One page of a player's penalties. */
type RecordView = Omit<PlayerRecord, 'rows' | 'activeRows' | 'playerName'> & {
  playerName: string;
  steamId: SteamId64;
  /** Whether they have an account here. */
  isMember: boolean;
  /** The most severe active penalty, whatever the filter and the page. */
  lead: PenaltyView | undefined;
  /** Undefined: omitted. */
  steamBans: SteamBansView | undefined;
  filter: RecordFilter;
  /** Active ones first. */
  penalties: PenaltyView[];
};

export const PENALTIES_PER_PAGE = 5;
/** Stands for "no filter" in a `custom_id`, and as the value of a menu's entry. */
const NO_FILTER = '-';

/** The fewest penalties with which a record can be filtered. */
const FILTERED_FROM = 5;

type Options = {
  texts: Texts;
  pages: SitePages;
  reader: LinkReader;
  /** Where the player can appeal. */
  appealUrl: string | undefined;
};

/**
 * A player's record: the heading says which penalty is active and until when, then each other penalty of the page takes
 * two lines. Names and reasons are cut if the description would be too long. For moderators, numbers lead to the pages of
 * the penalties.
 */
export function recordMessage(record: RecordView, options: Options): MessageView {
  const { texts, pages, reader, appealUrl } = options;
  const { lead, steamId, active } = record;
  const amount = countPenalties(record);
  const fullText = describe(record, { ...options, divisor: 1 });
  return {
    embeds: [
      {
        author: { name: cut(toPlainLine(record.playerName, texts.user.unnamed), 64) },
        color: active.ban > 0 ? COLOURS.danger : lead ? COLOURS.warning : COLOURS.online,
        description:
          fullText.length <= LIMITS.embedDescription
            ? fullText
            : describe(record, { ...options, divisor: 4 }),
        ...(amount > 0 && { footer: { text: texts.record.page(record) } }),
      },
    ],
    components: [
      ...(record.lastPage === 1 ? [] : [pager(record, texts)]),
      ...(amount < FILTERED_FROM ? [] : filters(record, texts)),
      row(
        ...playerLinks(texts, steamId, pages.player(steamId, reader)),
        // Only the player can appeal.
        ...(lead && reader === 'player' && appealUrl ? [linkButton(texts.buttons.appeal, appealUrl)] : []),
      ),
    ],
  };
}

type DescribeOptions = Options & {
  /** Divides the lengths of names and reasons. */
  divisor: 1 | 4;
};

function describe(record: RecordView, options: DescribeOptions): string {
  const { texts } = options;
  const { record: words } = texts;
  const { lead, steamBans, penalties, isMember } = record;
  const isClean = countPenalties(record) === 0;
  const others = penalties.filter(({ id }) => id !== lead?.id);
  const verdict = isClean ? words.clean : `✅ ${words.noneActive}`;
  const title = lead ? `${severityEmoji(lead.type)} ${inForce(lead, options)}` : verdict;
  const lines = [
    heading(title, HeadingLevel.Three),
    ...(lead ? [subtext(describeDetails(lead, options))] : []),
    ...others.flatMap((penalty) => entryLines(penalty, options)),
    ...(penalties.length === 0 && !isClean ? [words.nothingMatches] : []),
    '',
    `${inlineCode(record.steamId)}${isClean ? '' : ` · ${words.total(countsLine(record.counts, texts))}`}`,
    ...(isMember ? [] : [texts.user.neverSignedIn]),
    ...(steamBans === undefined ? [] : [texts.steamBans.line(steamBansLine(steamBans, texts))]),
  ];
  return lines.join('\n');
}

/** One penalty in two lines. */
function entryLines(penalty: PenaltyView, options: DescribeOptions): string[] {
  const { emoji } = STATUS_LOOKS[penalty.status];
  const { types } = options.texts.record;
  const line =
    penalty.status === 'ACTIVE'
      ? inForce(penalty, options)
      : `${types[penalty.type]}: ${reasonOf(penalty, options)} – ${describeEnd(penalty, options)}`;
  return [`${emoji} ${line}`, subtext(describeDetails(penalty, options))];
}

/** `Banned until 27 November 2026 (in 6 days): Wallhack` */
function inForce(penalty: PenaltyView, options: DescribeOptions): string {
  return `${inForceUntil(penalty, options.texts)}: ${reasonOf(penalty, options)}`;
}

function inForceUntil(penalty: PenaltyView, { record: words }: Texts): string {
  const { type, endsAt, durationMinutes } = penalty;
  if (countsOnlineTime(penalty)) {
    return `${words.types[type]} · ${words.onlineTime(words.durationInWords(durationMinutes))}`;
  }
  return endsAt === null
    ? words.inForce[type].permanently
    : words.inForce[type].until(absoluteAndRelativeTime(endsAt, TimestampStyles.LongDate));
}

/** `expired 2 days ago`, `lifted 3 hours ago by Ola` */
function describeEnd(penalty: PenaltyView, { texts, divisor }: DescribeOptions): string {
  const { record: words } = texts;
  const { type, status, endsAt, liftedAt } = penalty;
  const at = status === 'UNBANNED' ? liftedAt : endsAt;
  const by = status === 'UNBANNED' ? lifterOf(penalty, texts, 64 / divisor) : '';
  const shownStatus = isLiftedByRemoval(penalty) ? 'REMOVED' : status;
  return [words.statusOf(type, shownStatus), at ? relativeTime(at) : '', by === '' ? '' : words.liftedBy(by)]
    .filter(Boolean)
    .join(' ');
}

/** `#12 · 2 hours · Ala · Only Mirage · 1 October 2026 12:00` */
function describeDetails(penalty: PenaltyView, { texts, divisor, pages, reader }: DescribeOptions): string {
  const { record: words } = texts;
  const { id, durationMinutes, serverName, createdAt, status, panelUrl } = penalty;
  const liftReason = status === 'UNBANNED' ? escapeText(liftReasonOf(penalty), { max: 200 / divisor }) : '';
  return [
    reader === 'moderators' ? `[#${id}](${pages.penalty(id)})` : `#${id}`,
    durationMinutes === 0 ? words.permanent : words.durationInWords(durationMinutes),
    adminOf(penalty, texts, 64 / divisor),
    serverName === undefined ? words.noServer : escapeText(serverName, { max: 128 / divisor }),
    relativeTime(createdAt),
    ...(liftReason === '' ? [] : [words.liftReason(liftReason)]),
    ...(panelUrl === undefined ? [] : [hyperlink(words.panel, panelUrl.replace(/[()]/g, encodeCharacter))]),
  ].join(' · ');
}

/** In an address: a parenthesis would end a link. */
function encodeCharacter(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`;
}

function reasonOf({ reason }: PenaltyView, { texts, divisor }: DescribeOptions): string {
  return escapeText(reason, { max: 300 / divisor, fallback: texts.record.noReason });
}

function countPenalties({ counts }: RecordView): number {
  return PENALTY_TYPES.reduce((sum, type) => sum + counts[type], 0);
}

/** How many there are of each type that occurs: `3 bans · 1 gag`. */
export function countsLine(counts: Record<PenaltyType, number>, texts: Texts): string {
  return PENALTY_TYPES.filter((type) => counts[type] > 0)
    .map((type) => texts.record.count(type, counts[type]))
    .join(' · ');
}

/** Steam's own bans in one line; "none" only when Steam confirmed it. */
export function steamBansLine(bans: SteamBansView, { steamBans: words }: Texts): string {
  if (bans === 'unknown') return words.unknown;
  const { vacBans, gameBans, daysSinceLastBan, isCommunityBanned } = bans;
  const parts = [
    vacBans > 0 && words.vac(vacBans),
    gameBans > 0 && words.game(gameBans),
    isCommunityBanned && words.community,
  ].filter((word) => word !== false);
  if (parts.length === 0) return words.none;
  const hasDate = vacBans + gameBans > 0;
  return `⚠️ ${parts.join(' · ')}${hasDate ? ` (${words.last(daysSinceLastBan)})` : ''}`;
}

function pager({ steamId, page, lastPage, filter }: RecordView, { buttons }: Texts): Row {
  // The first argument distinguishes two buttons that lead to the same page: Discord refuses equal custom ids.
  const goTo = (which: string, target: number) =>
    toCustomId('record.page', which, steamId, target, ...toArguments(filter));
  const isFirst = page <= 1;
  const isLast = page >= lastPage;
  return row(
    button(buttons.first, goTo('first', 1), { emoji: '⏮️', isDisabled: isFirst }),
    button(buttons.previous, goTo('previous', Math.max(1, page - 1)), { emoji: '◀️', isDisabled: isFirst }),
    button(buttons.next, goTo('next', Math.min(lastPage, page + 1)), { emoji: '▶️', isDisabled: isLast }),
    button(buttons.last, goTo('last', lastPage), { emoji: '⏭️', isDisabled: isLast }),
  );
}

function filters({ steamId, filter, counts }: RecordView, { record: words }: Texts): Row[] {
  const state = toArguments(filter);
  return [
    menuRow(toCustomId('record.type', steamId, ...state), words.filterType, [
      { label: words.everyType, value: NO_FILTER, default: filter.type === undefined },
      ...PENALTY_TYPES.map((type) => ({
        label: `${words.types[type]} (${counts[type]})`,
        value: type,
        default: filter.type === type,
      })),
    ]),
    menuRow(toCustomId('record.status', steamId, ...state), words.filterStatus, [
      { label: words.everyStatus, value: NO_FILTER, default: filter.status === undefined },
      ...PENALTY_STATUSES.map((status) => ({
        label: words.statuses[status],
        value: status,
        default: filter.status === status,
        emoji: { name: STATUS_LOOKS[status].emoji },
      })),
    ]),
  ];
}

/** The filter as two arguments of a `custom_id`. */
function toArguments({ type, status }: RecordFilter): [string, string] {
  return [type ?? NO_FILTER, status ?? NO_FILTER];
}

/** The filter in two arguments of a `custom_id`; an unknown value is no filter. */
export function readFilter(type: string | undefined, status: string | undefined): RecordFilter {
  return {
    type: PENALTY_TYPES.find((each) => each === type),
    status: PENALTY_STATUSES.find((each) => each === status),
  };
}
