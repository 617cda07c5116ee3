import { type APIEmbed, HeadingLevel, heading, inlineCode, subtext, TimestampStyles } from 'discord.js';
import { countsOnlineTime, liftReasonOf, PENALTY_TYPES, type PenaltyType } from '../../src/domain/penalty.ts';
import { LIMITS } from '../discord-limits.ts';
import type { Texts } from '../locales/en.ts';
import type { LinkReader, SitePages } from '../site-pages.ts';
import { absoluteAndRelativeTime, cut, escapeText, relativeTime, toPlainLine } from '../text.ts';
import { COLOURS, type MessageView } from './message.ts';
import { adminOf, lifterOf, STATUS_LOOKS, severityEmoji } from './penalty.ts';
import { recordControls } from './player-record-controls.ts';
import type { PenaltyView, RecordView } from './player-record-view.ts';
import { steamBansLine } from './steam-bans.ts';

export const PENALTIES_PER_PAGE = 5;

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
  const { record: words } = texts;
  const { lead, steamId } = record;
  const whole = describe(record, { ...options, textShare: 1 });
  const isClean = isCleanRecord(record);
  const colour = record.active.ban > 0 ? COLOURS.danger : lead ? COLOURS.warning : COLOURS.online;
  const embed: APIEmbed = {
    author: {
      name: cut(toPlainLine(record.playerName, texts.user.unnamed), 64),
    },
    color: colour,
    description:
      whole.length <= LIMITS.embedDescription ? whole : describe(record, { ...options, textShare: 0.25 }),
    ...(isClean ? {} : { footer: { text: words.page(record) } }),
  };
  return {
    embeds: [embed],
    components: recordControls(record, {
      texts,
      page: pages.player(steamId, reader),
      // Only the player can appeal.
      appealUrl: lead && reader === 'player' ? appealUrl : undefined,
    }),
  };
}

type DescribeOptions = Options & {
  /** How much of names and reasons is shown, above 0 to 1. */
  textShare: number;
};

function describe(record: RecordView, options: DescribeOptions): string {
  const { texts } = options;
  const { record: words } = texts;
  const { lead, steamBans, penalties, isMember } = record;
  const others = penalties.filter(({ id }) => id !== lead?.id);
  const lines = [
    ...(lead ? leadLines(lead, options) : [heading(verdict(record, texts), HeadingLevel.Three)]),
    ...others.filter(isActive).flatMap((penalty) => entryLines(penalty, options)),
    ...others.filter((penalty) => !isActive(penalty)).flatMap((penalty) => entryLines(penalty, options)),
    ...(penalties.length === 0 && !isCleanRecord(record) ? [words.nothingMatches] : []),
    '',
    `${inlineCode(record.steamId)}${isCleanRecord(record) ? '' : ` · ${words.total(countsLine(record.counts, texts))}`}`,
    ...(isMember ? [] : [texts.user.neverSignedIn]),
    ...(steamBans === undefined ? [] : [texts.steamBans.line(steamBansLine(steamBans, texts))]),
  ];
  return lines.join('\n');
}

/** The heading: the most severe active penalty, until when and why; its details below in small print. */
function leadLines(penalty: PenaltyView, options: DescribeOptions): string[] {
  return [
    heading(`${severityEmoji(penalty.type)} ${inForce(penalty, options)}`, HeadingLevel.Three),
    subtext(details(penalty, options)),
  ];
}

/** One penalty in two lines. */
function entryLines(penalty: PenaltyView, options: DescribeOptions): string[] {
  const { emoji } = STATUS_LOOKS[penalty.status];
  const { types } = options.texts.record;
  const line = isActive(penalty)
    ? inForce(penalty, options)
    : `${types[penalty.type]}: ${reasonOf(penalty, options)} – ${over(penalty, options)}`;
  return [`${emoji} ${line}`, subtext(details(penalty, options))];
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
function over(penalty: PenaltyView, { texts, textShare }: DescribeOptions): string {
  const { record: words } = texts;
  const { type, status, endsAt, liftedAt } = penalty;
  const at = status === 'UNBANNED' ? liftedAt : endsAt;
  const by = status === 'UNBANNED' ? lifterOf(penalty, texts, upTo(64, textShare)) : '';
  return [words.statusOf(type, status), at ? relativeTime(at) : '', by === '' ? '' : words.liftedBy(by)]
    .filter(Boolean)
    .join(' ');
}

/** `#12 · 2 hours · Ala · Only Mirage · 1 October 2026 12:00` */
function details(penalty: PenaltyView, { texts, textShare, pages, reader }: DescribeOptions): string {
  const { record: words } = texts;
  const { id, durationMinutes, serverName, createdAt, status } = penalty;
  const lifted =
    status === 'UNBANNED' ? escapeText(liftReasonOf(penalty), { max: upTo(200, textShare) }) : '';
  return [
    reader === 'moderators' ? `[#${id}](${pages.penalty(id)})` : `#${id}`,
    durationMinutes === 0 ? words.permanent : words.durationInWords(durationMinutes),
    adminOf(penalty, texts, upTo(64, textShare)),
    serverName === undefined ? words.allServers : escapeText(serverName, { max: upTo(128, textShare) }),
    relativeTime(createdAt),
    ...(lifted === '' ? [] : [words.liftReason(lifted)]),
  ].join(' · ');
}

function reasonOf({ reason }: PenaltyView, { texts, textShare }: DescribeOptions): string {
  return escapeText(reason, { max: upTo(300, textShare), fallback: texts.record.noReason });
}

function verdict(record: RecordView, { record: words }: Texts): string {
  return isCleanRecord(record) ? words.clean : `✅ ${words.noneActive}`;
}

function isCleanRecord({ counts }: RecordView): boolean {
  return PENALTY_TYPES.every((type) => counts[type] === 0);
}

function isActive({ status }: PenaltyView): boolean {
  return status === 'ACTIVE';
}

function upTo(characters: number, textShare: number): number {
  return Math.floor(characters * textShare);
}

/** How many there are of each type that occurs: `3 bans · 1 gag`. */
export function countsLine(counts: Record<PenaltyType, number>, texts: Texts): string {
  return PENALTY_TYPES.filter((type) => counts[type] > 0)
    .map((type) => texts.record.count(type, counts[type]))
    .join(' · ');
}
