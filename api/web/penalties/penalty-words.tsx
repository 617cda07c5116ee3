import type { JSX } from 'hono/jsx/jsx-runtime';
import {
  countsOnlineTime,
  isByConsole,
  isByErasedAdmin,
  isLiftedByRemoval,
  knownEnd,
  lifterNameOf,
  liftReasonOf,
  PENALTY_STATUSES,
  PENALTY_TYPES,
} from '../../../src/domain/penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { durationInWords } from '../../../src/domain/text/duration.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { splitList } from '../../../src/domain/text/list.ts';
import { hasVisibleCharacter } from '../../../src/domain/text/visible-text.ts';
import type { ListedPenalty, Penalty } from '../../../src/queries/penalties/row.ts';
import { Moment } from '../layout/moment.tsx';
import { nameOf } from '../layout/person.tsx';
import type { Texts } from '../locales/en.ts';
import { formatTimeUntil } from '../locales/locale.ts';
import { textsOf } from '../locales/texts.ts';
import { tryParseRowId } from '../request/numbers.ts';
import type { Visit } from '../request/visit.ts';

/** The reason of a penalty, or a placeholder when none was given. */
export function ReasonText({ reason, visit }: { reason: string; visit: Visit }): JSX.Element {
  if (hasVisibleCharacter(reason)) return <bdi>{reason}</bdi>;
  return <span class="hint">{textsOf(visit.language).penalties.noReason}</span>;
}

/** What every list of penalties can be filtered by. What is unknown does not filter. */
export function readPenaltyFilter(parameters: URLSearchParams) {
  const types = parameters.getAll('type').flatMap(splitList);
  return {
    types: PENALTY_TYPES.filter((type) => types.includes(type)),
    status: PENALTY_STATUSES.find((status) => status === parameters.get('status')),
    page: tryParseRowId(parameters.get('page')) ?? 1,
  };
}

/** The choices of a filter by status. */
export function statusOptions(t: Texts['penalties']): [value: string, label: string][] {
  return [
    ['', t.everyStatus],
    ...PENALTY_STATUSES.map((status): [string, string] => [status, t.statuses[status]]),
  ];
}

/** `Ban #4211` */
export function numberedType({ id, type }: Pick<Penalty, 'id' | 'type'>, t: Texts['penalties']): string {
  return `${t.types[type]} #${id}`;
}

type PlayerProps = {
  penalty: Pick<Penalty, 'playerName' | 'playerSteamId'>;
  /** The path of the page about a player. */
  pathOf: (player: { steamId64: SteamId64 }) => string;
  visit: Visit;
};

/** The player whom a penalty concerns, with a link unless they are unknown. */
export function PlayerOfPenalty({ penalty, pathOf, visit }: PlayerProps): JSX.Element {
  const { playerName, playerSteamId: steamId64 } = penalty;
  if (steamId64 === UNKNOWN_STEAM_ID) {
    const { unknownPlayer } = textsOf(visit.language).penalties;
    return <bdi>{hasVisibleCharacter(playerName) ? playerName : unknownPlayer}</bdi>;
  }
  return (
    <a href={pathOf({ steamId64 })}>
      <bdi>{nameOf({ nickname: playerName, steamId64 }, visit.language)}</bdi>
    </a>
  );
}

type AdminProps = { penalty: Pick<Penalty, 'adminName' | 'adminSteamId'>; visit: Visit };

/** The admin who issued a penalty, or the server's console; not the SteamID, which not everybody may see. */
export function AdminName({ penalty, visit }: AdminProps): JSX.Element {
  const t = textsOf(visit.language).penalties;
  if (isByConsole(penalty)) return <bdi>{t.console}</bdi>;
  if (isByErasedAdmin(penalty)) return <bdi>{t.formerAdmin}</bdi>;
  return <bdi>{hasVisibleCharacter(penalty.adminName) ? penalty.adminName : t.unnamedAdmin}</bdi>;
}

/** How long a penalty was to last. */
export function lengthOf(
  { type, durationMinutes }: Pick<Penalty, 'type' | 'durationMinutes'>,
  { language }: Visit,
): string {
  return durationMinutes === 0
    ? textsOf(language).penalties.permanent(type)
    : durationInWords(language, durationMinutes);
}

/** How long an active penalty without a known end lasts. */
export function withoutEnd(penalty: Penalty, visit: Visit): string {
  const t = textsOf(visit.language).penalties;
  return countsOnlineTime(penalty) ? t.forOnlineTime(penalty.durationMinutes) : t.permanently(penalty.type);
}

/** Says that a player is banned now. */
export function BannedBadge({ visit }: { visit: Visit }): JSX.Element {
  return <span class="state state-banned">{textsOf(visit.language).penalties.inForce.ban}</span>;
}

type EndProps = {
  penalty: Pick<ListedPenalty, 'type' | 'status' | 'endsAt' | 'liftedAt' | 'goneAt'>;
  visit: Visit;
};

/** Whether a penalty expired, was lifted or was removed at its source, and when. */
function Ending({ penalty, visit }: EndProps): JSX.Element {
  const { type, status, endsAt, liftedAt } = penalty;
  const t = textsOf(visit.language).penalties;
  const at = status === 'UNBANNED' ? liftedAt : knownEnd({ status, endsAt }, visit.now);
  const isJustNow = at !== null && Math.abs(visit.now.getTime() - at.getTime()) < 60_000;
  return (
    <>
      {t.statusOf(type, isLiftedByRemoval(penalty) ? 'REMOVED' : status)}{' '}
      {at && (
        <Moment at={at} visit={visit}>
          {isJustNow ? t.justNow : undefined}
        </Moment>
      )}
    </>
  );
}

/** Whether a penalty expired or was lifted, and when; then by whom it was lifted and why. */
export function EndOfPenalty({ penalty, visit }: { penalty: ListedPenalty; visit: Visit }): JSX.Element {
  const t = textsOf(visit.language).penalties;
  const isLifted = penalty.status === 'UNBANNED';
  const lifter = lifterNameOf(penalty, t.lifters);
  const liftReason = liftReasonOf(penalty);
  return (
    <span>
      <Ending penalty={penalty} visit={visit} />
      {isLifted && hasVisibleCharacter(lifter) && <bdi> {t.by(isolate(lifter))}</bdi>}
      {isLifted && hasVisibleCharacter(liftReason) && (
        <span class="hint">{t.liftedBecause(isolate(liftReason))}</span>
      )}
    </span>
  );
}

/** The same in short: `30 days left`, `Expired 3 days ago`. */
export function ShortStatus({ penalty, visit }: { penalty: ListedPenalty; visit: Visit }): JSX.Element {
  if (penalty.status !== 'ACTIVE') return <PenaltyStatusText penalty={penalty} visit={visit} />;
  const t = textsOf(visit.language).penalties;
  const { type, endsAt, durationMinutes } = penalty;
  if (endsAt === null) {
    const length = countsOnlineTime(penalty) ? t.forOnlineTime(durationMinutes) : t.permanent(type);
    return <span class="state state-banned">{length}</span>;
  }
  return (
    <span class="state state-banned">
      <Moment at={endsAt} visit={visit}>
        {t.left(formatTimeUntil(visit.language, endsAt, visit.now))}
      </Moment>
    </span>
  );
}

/** Whether a penalty is active and until when, or how and when it ended; not who lifted it. */
export function PenaltyStatusText({ penalty, visit }: { penalty: ListedPenalty; visit: Visit }): JSX.Element {
  const t = textsOf(visit.language).penalties;
  if (penalty.status !== 'ACTIVE') {
    return (
      <span>
        <Ending penalty={penalty} visit={visit} />
      </span>
    );
  }
  return (
    <span>
      <span class="state state-banned">{t.statusOf(penalty.type, 'ACTIVE')}</span>
      {penalty.endsAt ? (
        <>
          {`, ${t.ends}`} <Moment at={penalty.endsAt} visit={visit} />
        </>
      ) : (
        ` ${withoutEnd(penalty, visit)}`
      )}
    </span>
  );
}
