import type { JSX } from 'hono/jsx/jsx-runtime';
import { NotFound } from '../../../src/domain/errors.ts';
import { LIFT_REASON_LENGTH, LiftRefused, type LiftResult, mayLift } from '../../../src/domain/lift.ts';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import { parseWrittenText, WrongLength } from '../../../src/domain/text/written-text.ts';
import type { Lifts } from '../../../src/import/lifting.ts';
import type { PendingLift } from '../../../src/queries/penalties/lifts.ts';
import type { PenaltyDetails } from '../../../src/queries/penalties/row.ts';
import { Card, ProblemLine } from '../layout/card.tsx';
import { TextField } from '../layout/form-fields.tsx';
import { FullMoment } from '../layout/moment.tsx';
import { PostForm } from '../layout/post-form.tsx';
import { type NoticeKey, textsOf } from '../locales/texts.ts';
import { tryParsePositive } from '../request/numbers.ts';
import { PageError } from '../request/page-error.ts';
import type { MemberVisit } from '../request/visit.ts';
import { type Handler, pathOfPenalty } from './frame.tsx';

type LiftCardProps = {
  lifts: Lifts;
  penalty: PenaltyDetails['penalty'];
  /** A lift that the mirror has not read yet. */
  pending: PendingLift | undefined;
  visit: MemberVisit;
};

/** The form that lifts a penalty at its source, for those who may; or what is not known yet of the last lift. */
export function LiftCard({ lifts, penalty, pending, visit }: LiftCardProps): JSX.Element | null {
  const { lifts: t } = textsOf(visit.locale);
  if (pending) {
    return (
      <Card id="lift" title={t.title} icon="shield">
        <p>{pending.outcome === 'written' ? t.unconfirmed : t.unknown}</p>
        <p class="hint">
          <FullMoment at={pending.begunAt} visit={visit} />
        </p>
      </Card>
    );
  }
  const system = lifts.findSystem(penalty);
  const isLiftable = system !== undefined && penalty.status === 'ACTIVE';
  if (!isLiftable || !mayLift(lifts.audience, visit.user, penalty)) return null;
  return (
    <Card id="lift" title={t.title} icon="shield">
      <p class="lead">
        {t.lead(system)} {penalty.type === 'warn' && t.ofWarning}
      </p>
      <PostForm visit={visit} action={`${pathOfPenalty(penalty)}/lift#lift`} class="create create-stacked">
        <LiftReasonField value={visit.form.get('reason')} isRequired visit={visit} />
        <button class="button button-danger" type="submit">
          {t.lift(system)}
        </button>
      </PostForm>
    </Card>
  );
}

/** The field for the reason that the source stores. Its length is checked when it is sent, in code points. */
export function LiftReasonField({
  value,
  isRequired = false,
  visit,
}: {
  value: string | undefined;
  isRequired?: boolean;
  visit: MemberVisit;
}): JSX.Element {
  const { lifts: t } = textsOf(visit.locale);
  return (
    <TextField
      name="reason"
      label={t.reason}
      hint={t.reasonHint(LIFT_REASON_LENGTH.maximum)}
      value={value}
      required={isRequired}
      autocomplete="off"
    />
  );
}

/** @throws {PageError} 400 for a reason that is too short or too long. */
export function parseLiftReason({ form }: MemberVisit): string {
  try {
    return parseWrittenText((form.get('reason') ?? '').replace(/\s+/g, ' '), LIFT_REASON_LENGTH);
  } catch (error) {
    if (!(error instanceof WrongLength)) throw error;
    throw new PageError('lift-reason', 400, { limit: LIFT_REASON_LENGTH.maximum, cause: error });
  }
}

const NOTICES: Record<LiftResult, NoticeKey> = {
  confirmed: 'lift-confirmed',
  unconfirmed: 'lift-unconfirmed',
  'still-in-force': 'not-lifted-still-in-force',
};

/** Lifts a penalty at its source. @returns the notice that says what became of it. */
export async function liftForStaff(
  { lifts }: { lifts: Lifts },
  { user }: MemberVisit,
  { penaltyId, reason }: { penaltyId: number; reason: string },
): Promise<NoticeKey> {
  try {
    return NOTICES[await lifts.lift({ penaltyId, reason, userId: user.id })];
  } catch (error) {
    if (error instanceof LiftRefused) return `not-lifted-${error.reason}`;
    throw error;
  }
}

/** Lifts a penalty at its source. @throws {PageError} 400 · {NotFound} · {Forbidden} */
export const liftPenalty: Handler = async (deps, visit, { id }) => {
  const penaltyId = tryParsePositive(id ?? null);
  if (penaltyId === undefined) throw new NotFound('no such penalty');
  const reason = parseLiftReason(visit);
  const notice = await liftForStaff(deps, visit, { penaltyId, reason });
  return deps.redirect(visit, `${pathOfPenalty({ id: penaltyId })}#penalty`, notice);
};

/** The sources at which nothing can be lifted, and why, for administrators; null for others, and without any. */
export function LiftProblemsCard({ lifts, visit }: { lifts: Lifts; visit: MemberVisit }): JSX.Element | null {
  const problems = lifts.listProblems();
  if (problems.length === 0 || !isAdministrator(visit.user)) return null;
  const { lifts: t } = textsOf(visit.locale);
  return (
    <Card id="lift-problems" title={t.problems.title} icon="warning">
      {problems.map(({ system, problem }) => (
        <>
          <ProblemLine
            message={`${system}: ${
              problem.kind === 'unreachable'
                ? t.problems.unreachable
                : t.problems[problem.kind](problem.table)
            }`}
          />
          {problem.kind !== 'other-database' && (
            <p class="hint">
              <bdi>{problem.reason}</bdi>
            </p>
          )}
        </>
      ))}
    </Card>
  );
}
