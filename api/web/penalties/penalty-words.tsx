import type { JSX } from 'hono/jsx/jsx-runtime';
import {
  countsOnlineTime,
  isByConsole,
  isByErasedAdmin,
  knownEnd,
  lifterNameOf,
  liftReasonOf,
} from '../../../src/domain/penalty.ts';
import { durationInWords } from '../../../src/domain/text/duration.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { hasVisibleCharacter } from '../../../src/domain/text/visible-text.ts';
import type { Penalty } from '../../../src/queries/penalties/row.ts';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import type { Visit } from '../request/visit.ts';

/** The reason of a penalty, or a placeholder when none was given. */
export function ReasonText({ reason, visit }: { reason: string; visit: Visit }): JSX.Element {
  if (hasVisibleCharacter(reason)) return <bdi>{reason}</bdi>;
  return <span class="hint">{textsOf(visit.locale).penalties.noReason}</span>;
}

type AdminProps = { penalty: Pick<Penalty, 'adminName' | 'adminSteamId'>; visit: Visit };

/** The admin who issued a penalty, or the server's console; not the SteamID, which not everybody may see. */
export function AdminName({ penalty, visit }: AdminProps): JSX.Element {
  const t = textsOf(visit.locale).penalties;
  if (isByConsole(penalty)) return <bdi>{t.console}</bdi>;
  if (isByErasedAdmin(penalty)) return <bdi>{t.formerAdmin}</bdi>;
  return <bdi>{hasVisibleCharacter(penalty.adminName) ? penalty.adminName : t.unnamedAdmin}</bdi>;
}

type DurationProps = Pick<Penalty, 'status' | 'durationMinutes' | 'endsAt'>;

/** How long a penalty was to last. */
export function lengthOf({ durationMinutes }: Pick<Penalty, 'durationMinutes'>, { locale }: Visit): string {
  return durationMinutes === 0
    ? textsOf(locale).penalties.permanent
    : durationInWords(locale, durationMinutes);
}

/** How long an active penalty without a known end lasts. */
export function withoutEnd(penalty: DurationProps, visit: Visit): string {
  const t = textsOf(visit.locale).penalties;
  return countsOnlineTime(penalty) ? t.forOnlineTime(penalty.durationMinutes) : t.permanently;
}

type EndProps = {
  penalty: Pick<
    Penalty,
    'type' | 'status' | 'reason' | 'endsAt' | 'liftedAt' | 'liftedByName' | 'liftReason'
  >;
};

/** Whether a penalty expired or was lifted, and when; then by whom it was lifted and why. */
export function EndOfPenalty({ penalty, visit }: EndProps & { visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).penalties;
  const { type, status, endsAt, liftedAt } = penalty;
  const liftReason = liftReasonOf(penalty);
  const at = status === 'UNBANNED' ? liftedAt : knownEnd({ status, endsAt }, visit.now);
  const lifter = lifterNameOf(penalty, t);
  return (
    <span>
      {t.statusOf(type, status)} {at && <Moment at={at} visit={visit} />}
      {status === 'UNBANNED' && hasVisibleCharacter(lifter) && <bdi> {t.by(isolate(lifter))}</bdi>}
      {status === 'UNBANNED' && hasVisibleCharacter(liftReason) && (
        <span class="hint">
          {' ('}
          <bdi>{t.quoted(liftReason)}</bdi>)
        </span>
      )}
    </span>
  );
}
