import type { JSX } from 'hono/jsx/jsx-runtime';
import { LIFT_REASON_LENGTH, LiftRefused, type LiftResult, mayLift } from '../../../src/domain/lift.ts';
import type { PenaltyOrigin } from '../../../src/domain/panel.ts';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import { parseWrittenText, WrongLength } from '../../../src/domain/text/written-text.ts';
import type { Lifts } from '../../../src/import/lifting.ts';
import type { PendingLift } from '../../../src/queries/penalties/lifts.ts';
import type { ListedPenalty } from '../../../src/queries/penalties/row.ts';
import { Card, ProblemLine } from '../layout/card.tsx';
import { FullMoment } from '../layout/moment.tsx';
import { enteredIn, PostForm } from '../layout/post-form.tsx';
import { type NoticeKey, textsOf } from '../locales/texts.ts';
import { parsePenaltyId } from '../request/numbers.ts';
import { PageError } from '../request/page-error.ts';
import type { UserVisit } from '../request/visit.ts';
import { type Handler, pathOfPenalty } from './frame.tsx';

type LiftedPenalty = ListedPenalty & PenaltyOrigin;

/** The name of the system in which the visitor can lift a penalty; undefined if they cannot. */
export function findLiftSystem(
  lifts: Lifts,
  penalty: LiftedPenalty,
  { user }: UserVisit,
): string | undefined {
  const mayBeLifted = penalty.status === 'ACTIVE' && mayLift(lifts.audience, user, penalty);
  return mayBeLifted ? lifts.findSystem(penalty) : undefined;
}

type LiftFormProps = {
  lifts: Lifts;
  penalty: LiftedPenalty;
  /** A lift that the mirror has not read yet. */
  pending: PendingLift | undefined;
  /** The path to which the form posts. */
  action: string;
  /** The reason with which the field is filled in. */
  reason?: string;
  visit: UserVisit;
};

/** The form that lifts a penalty at its source, for those who may; or the state of an unconfirmed lift. */
export function LiftForm(props: LiftFormProps): JSX.Element | null {
  const { lifts, penalty, pending, action, reason, visit } = props;
  const { lifts: t } = textsOf(visit.language);
  if (pending) {
    return (
      <>
        <p>{pending.outcome === 'written' ? t.unconfirmed : t.unknown}</p>
        <p class="hint">
          <FullMoment at={pending.begunAt} visit={visit} />
        </p>
      </>
    );
  }
  const system = findLiftSystem(lifts, penalty, visit);
  if (system === undefined) return null;
  return (
    <>
      <p class="lead">
        {t.lead(system)} {penalty.type === 'warn' && t.ofWarning}
      </p>
      <PostForm visit={visit} action={action} class="create create-stacked">
        <LiftReasonField action={action} reason={reason} isRequired visit={visit} />
        <button class="button button-danger" type="submit">
          {t.lift(system)}
        </button>
      </PostForm>
    </>
  );
}

/** The card of a penalty's page with the form; null for those who cannot lift it. */
export function LiftCard(props: Omit<LiftFormProps, 'action'>): JSX.Element | null {
  const { lifts, penalty, pending, visit } = props;
  if (!pending && findLiftSystem(lifts, penalty, visit) === undefined) return null;
  return (
    <Card id="lift" title={textsOf(visit.language).lifts.title} icon="shield">
      <LiftForm {...props} action={`${pathOfPenalty(penalty)}/lift#lift`} />
    </Card>
  );
}

type ReasonFieldProps = {
  /** The path that its form posts to. */
  action: string;
  /** The reason that is filled in. */
  reason?: string | undefined;
  isRequired?: boolean;
  visit: UserVisit;
};

/**
 * The field for the reason that the source stores. It has several lines: in a field of one line, the return key would
 * press the first button of the form, perhaps the wrong one. The length is checked when it is sent, in code points.
 */
export function LiftReasonField({
  action,
  reason,
  isRequired = false,
  visit,
}: ReasonFieldProps): JSX.Element {
  const { lifts: t } = textsOf(visit.language);
  return (
    <div class="field">
      <label for="reason">{t.reason}</label>
      <textarea id="reason" name="reason" rows={2} required={isRequired} aria-describedby="reason-hint">
        {enteredIn(visit, action, 'reason') ?? reason}
      </textarea>
      <p class="hint" id="reason-hint">
        {t.reasonHint(LIFT_REASON_LENGTH.maximum)}
      </p>
    </div>
  );
}

/** The reason of a form in one line. @throws {PageError} 400 if it is too short or too long. */
export function parseLiftReason({ form }: UserVisit): string {
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

/** Lifts a penalty at its source. @returns the notice that says what became of it. @throws {NotFound} · {Forbidden} */
export async function liftForStaff(
  { lifts }: { lifts: Lifts },
  { user }: UserVisit,
  { penaltyId, reason }: { penaltyId: number; reason: string },
): Promise<NoticeKey> {
  try {
    return NOTICES[await lifts.lift({ penaltyId, reason, userId: user.id })];
  } catch (error) {
    if (error instanceof LiftRefused) return `not-lifted-${error.reason}`;
    throw error;
  }
}

/** Lifts a penalty from its page. @throws {PageError} 400 · {NotFound} · {Forbidden} */
export const liftPenalty: Handler = async (deps, visit, { id }) => {
  const penaltyId = parsePenaltyId(id);
  const reason = parseLiftReason(visit);
  const notice = await liftForStaff(deps, visit, { penaltyId, reason });
  return deps.redirect(visit, `${pathOfPenalty({ id: penaltyId })}#penalty`, notice);
};

/** The sources at which nothing can be lifted, and why, for administrators; null for others, and without any. */
export function LiftProblemsCard({ lifts, visit }: { lifts: Lifts; visit: UserVisit }): JSX.Element | null {
  const problems = lifts.listProblems();
  if (problems.length === 0 || !isAdministrator(visit.user)) return null;
  const { lifts: t } = textsOf(visit.language);
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
