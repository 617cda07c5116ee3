import { type APIEmbed, type APIEmbedField, quote, TimestampStyles } from 'discord.js';
import {
  countsOnlineTime,
  isByConsole,
  isByErasedAdmin,
  isLiftedByRemoval,
  lifterNameOf,
  liftReasonOf,
  type PenaltyStatus,
  type PenaltyType,
} from '../../src/domain/penalty.ts';
import type { ListedPenalty } from '../../src/queries/penalties/row.ts';
import type { Texts } from '../locales/en.ts';
import { COLOURS } from './message-view.ts';
import { absoluteAndRelativeTime, escapeText, relativeTime } from './text.ts';

/** One penalty as messages show it, with the status it has now. `serverName` undefined: it was issued on no server. */
export type PenaltyView = Pick<
  ListedPenalty,
  | 'id'
  | 'type'
  | 'status'
  | 'adminName'
  | 'adminSteamId'
  | 'reason'
  | 'durationMinutes'
  | 'createdAt'
  | 'endsAt'
  | 'liftedAt'
  | 'liftedByName'
  | 'liftedBySteamId'
  | 'liftReason'
  | 'goneAt'
> & {
  serverName: string | undefined;
  /** Its page in the panel of its source, for those who may follow it. */
  panelUrl?: string | undefined;
};

export const STATUS_LOOKS: Record<PenaltyStatus, { emoji: string; colour: number }> = {
  ACTIVE: { emoji: '🔴', colour: COLOURS.danger },
  EXPIRED: { emoji: '⚪', colour: COLOURS.offline },
  UNBANNED: { emoji: '🟢', colour: COLOURS.online },
};

/** What precedes an active penalty of this type. */
export function severityEmoji(type: PenaltyType): string {
  return type === 'ban' ? '⛔' : '⚠️';
}

/** One penalty, in the colour of its status. */
export function penaltyEmbed(penalty: PenaltyView, texts: Texts): APIEmbed {
  const { record: words } = texts;
  const { emoji, colour } = STATUS_LOOKS[penalty.status];
  const field = (name: string, value: string): APIEmbedField => ({ name, value, inline: true });
  return {
    title: `${emoji} ${words.entry(penalty)} · ${words.statusOf(penalty.type, penalty.status)}`,
    color: colour,
    description: `**${words.reason}:** ${escapeText(penalty.reason, { max: 300, fallback: words.noReason })}`,
    fields: [
      field(words.duration, durationOf(penalty, texts)),
      field(words.issued, absoluteAndRelativeTime(penalty.createdAt, TimestampStyles.ShortDateTime)),
      ...endField(penalty, texts).map(([name, value]) => field(name, value)),
      field(words.admin, adminOf(penalty, texts, 64)),
      field(
        words.server,
        penalty.serverName === undefined ? words.noServer : escapeText(penalty.serverName, { max: 128 }),
      ),
      ...(penalty.status === 'UNBANNED' && !isLiftedByRemoval(penalty)
        ? [{ name: words.lifted, value: liftedValue(penalty, texts) }]
        : []),
    ],
  };
}

/** How long it lasts, in words. */
export function durationOf(penalty: PenaltyView, { record: words }: Texts): string {
  if (penalty.durationMinutes === 0) return words.permanent;
  const duration = words.durationInWords(penalty.durationMinutes);
  return countsOnlineTime(penalty) ? words.onlineTime(duration) : duration;
}

/** When it ends or ended: one field, or none for a lifted penalty and where the end is not known. */
function endField(penalty: PenaltyView, { record: words }: Texts): [string, string][] {
  const { status, endsAt } = penalty;
  if (status === 'UNBANNED' || countsOnlineTime(penalty)) return [];
  if (endsAt === null) return status === 'ACTIVE' ? [[words.ends, words.never]] : [];
  return [
    [
      status === 'ACTIVE' ? words.ends : words.ended,
      absoluteAndRelativeTime(endsAt, TimestampStyles.ShortDateTime),
    ],
  ];
}

/** Who issued it, cut and escaped; never an admin's SteamID, which everybody could read. */
export function adminOf(penalty: PenaltyView, { record: words }: Texts, max: number): string {
  if (isByConsole(penalty)) return words.console;
  if (isByErasedAdmin(penalty)) return words.formerAdmin;
  return escapeText(penalty.adminName, { max, fallback: words.unnamedAdmin });
}

/** Who lifted it, cut and escaped; empty when that is not known. */
export function lifterOf(penalty: PenaltyView, { record: words }: Texts, max: number): string {
  return escapeText(lifterNameOf(penalty, words.lifters), { max });
}

function liftedValue(penalty: PenaltyView, texts: Texts): string {
  const { liftedAt } = penalty;
  const { record: words } = texts;
  const by = lifterOf(penalty, texts, 64);
  const head = [liftedAt ? relativeTime(liftedAt) : '', by === '' ? '' : words.liftedBy(by)]
    .filter(Boolean)
    .join(' ');
  const reason = escapeText(liftReasonOf(penalty), { max: 200 });
  return (
    [head, reason === '' ? '' : quote(reason)].filter(Boolean).join('\n') ||
    words.statusOf(penalty.type, 'UNBANNED')
  );
}
