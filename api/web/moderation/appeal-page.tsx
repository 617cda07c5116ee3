import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import {
  MESSAGE_LENGTH,
  mayHandleAppeal,
  STAFF_ACTIONS,
  type StaffAction,
} from '../../../src/domain/appeal.ts';
import { Forbidden, InvalidInput, NotFound } from '../../../src/domain/errors.ts';
import { mayLift } from '../../../src/domain/lift.ts';
import { findPanelUrl } from '../../../src/domain/panel.ts';
import { type AppealDetails, actOnAppeal, findAppeal } from '../../../src/queries/appeals/appeals.ts';
import {
  type ListedAppeal,
  listAppeals,
  listAppealsWithPenalties,
} from '../../../src/queries/appeals/queue.ts';
import { settleAppeals } from '../../../src/queries/appeals/settling.ts';
import { findPendingLift } from '../../../src/queries/penalties/lifts.ts';
import { loadPlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { withNewDeadline } from '../../../src/runtime/request.ts';
import { Card, ProblemLine } from '../layout/card.tsx';
import { type Fact, Facts } from '../layout/facts.tsx';
import { FullMoment, Moment } from '../layout/moment.tsx';
import { nameOf } from '../layout/person.tsx';
import { PostForm } from '../layout/post-form.tsx';
import { languageName } from '../locales/locale.ts';
import { type NoticeKey, textsOf } from '../locales/texts.ts';
import {
  AppealState,
  Conversation,
  MessageField,
  submitAppealForm,
  UnsentMessage,
} from '../penalties/appeal-conversation.tsx';
import {
  AdminName,
  lengthOf,
  numberedType,
  PenaltyStatusText,
  ReasonText,
  ShortStatus,
} from '../penalties/penalty-words.tsx';
import { parseRowId } from '../request/numbers.ts';
import type { UserVisit } from '../request/visit.ts';
import { AppealLinks, pathOfAppeal } from './appeal-links.tsx';
import { FROM_LIST } from './appeal-queue.tsx';
import { Frame, type Handler, type ModerationDeps, pathOfPenalty, pathOfTab, type Show } from './frame.tsx';
import { findLiftSystem, LiftForm, LiftReasonField, liftForStaff, parseLiftReason } from './lifts.tsx';
import { linkToAdmin } from './penalties.tsx';
import { pathOfPlayer } from './player-link.tsx';
import { NotesCard, notesOf } from './staff-notes.tsx';

const PATH = pathOfTab('appeals');
const PENALTIES_SHOWN = 5;
/** The action that accepts, and lifts the penalty at its source. */
const ACCEPT_AND_LIFT = 'accepted-and-lift';
const BUTTONS: Record<StaffAction, string> = {
  asked: 'button-primary',
  accepted: 'button-quiet',
  denied: 'button-danger',
};

/** Loads the appeal of a path. @throws {NotFound} · {Forbidden} for the visitor's own one. */
async function loadAppeal(
  { db }: ModerationDeps,
  { user, now }: UserVisit,
  id: string | undefined,
): Promise<AppealDetails> {
  const found = await findAppeal(db, parseRowId(id, 'appeal'), now);
  if (!found) throw new NotFound('no such appeal');
  if (!mayHandleAppeal(user, found.appeal)) throw new Forbidden('nobody handles their own appeal');
  return found;
}

/** An appeal with everything that a decision needs: penalty, conversation, and the player's history and notes. */
export const showAppeal: Show = async (deps, visit, { id }) => {
  const { db, site } = deps;
  const details = await loadAppeal(deps, visit, id);
  const { appeal } = details;
  const [next] = (
    await listAppeals(db, 'staff', { viewer: visit.user.steamId64, limit: 2, offset: 0, now: visit.now })
  ).filter((row) => row.appeal.id !== appeal.id);
  const { appeals: t, penalties } = textsOf(visit.language);
  const penalty = details.penalty?.penalty;
  const title = penalty ? t.newTitle(numberedType(penalty, penalties)) : t.against(appeal.penaltyId);
  const isUndecided = appeal.state === 'undecided';
  return (
    <Frame
      site={site}
      visit={visit}
      cards={['appeal', 'notes']}
      tab="appeals"
      title={title}
      skipTo={isUndecided ? { id: 'reply', label: t.skipToReply } : undefined}
    >
      <div class="case">
        <Card
          id="appeal"
          title={title}
          icon="shield"
          aside={<AppealState appeal={appeal} isForStaff visit={visit} />}
          notice={visit.notice}
        >
          {visit.notice?.card === 'appeal' && <NextSteps next={next} visit={visit} />}
          <PenaltyOfAppeal deps={deps} details={details} visit={visit} />
          <Conversation {...details} isForStaff visit={visit} />
          {appeal.waitsFor === 'lift' && <LiftOfAppeal deps={deps} details={details} visit={visit} />}
          {isUndecided ? (
            <Reply deps={deps} details={details} visit={visit} />
          ) : (
            <UnsentMessage visit={visit} />
          )}
          {visit.notice?.card !== 'appeal' && <NextSteps next={next} visit={visit} />}
        </Card>
        <div class="stack">
          <HistoryCard deps={deps} details={details} visit={visit} />
          <NotesCard
            db={db}
            subject={{ steamId64: appeal.playerSteamId }}
            path={`${PATH}/${appeal.id}`}
            visit={visit}
          />
        </div>
      </div>
    </Frame>
  );
};

type PartProps = { details: AppealDetails; visit: UserVisit };
type DepsProps = PartProps & { deps: ModerationDeps };

/** What the appeal is about. */
function PenaltyOfAppeal({ deps, details, visit }: DepsProps): JSX.Element {
  const { appeals: t, penalties: words, records } = textsOf(visit.language);
  const { appeal, penalty: found } = details;
  const penalty = found?.penalty;
  const { playerSteamId: steamId64 } = appeal;
  const panelUrl = penalty && findPanelUrl(deps.panels, penalty);
  return (
    <>
      <Facts
        class="facts facts-inline"
        facts={[
          [
            words.columns.player,
            <a href={pathOfPlayer({ steamId64 })}>
              <bdi>{nameOf({ nickname: penalty?.playerName ?? '', steamId64 }, visit.language)}</bdi>
            </a>,
          ],
          [
            t.columns.penalty,
            penalty && (
              <>
                <a href={pathOfPenalty(penalty)}>{numberedType(penalty, words)}</a>{' '}
                <PenaltyStatusText penalty={penalty} visit={visit} />
              </>
            ),
          ],
          [words.columns.reason, penalty && <ReasonText reason={penalty.reason} visit={visit} />],
          [words.columns.duration, penalty && lengthOf(penalty, visit)],
          [
            words.columns.admin,
            penalty && linkToAdmin(penalty.adminSteamId, <AdminName penalty={penalty} visit={visit} />),
          ],
          [words.columns.issued, penalty && <Moment at={penalty.createdAt} visit={visit} />],
          [t.writtenIn, languageName(visit.language, appeal.language)],
          ...(appeal.waitsFor
            ? [
                [
                  t.waitingSince[appeal.waitsFor],
                  <FullMoment at={appeal.waitingSince} visit={visit} />,
                ] satisfies Fact,
              ]
            : []),
        ]}
      />
      {panelUrl !== undefined && (
        <p>
          <a class="button button-quiet" href={panelUrl} rel="noreferrer noopener">
            {records.penalty.panel}
          </a>
        </p>
      )}
    </>
  );
}

/** The form to ask the player or to decide. */
function Reply({ deps, details: { appeal, penalty }, visit }: DepsProps): JSX.Element {
  const { appeals: t, lifts } = textsOf(visit.language);
  const system = penalty && findLiftSystem(deps.lifts, penalty.penalty, visit);
  const action = `${PATH}/${appeal.id}#appeal`;
  return (
    <div id="reply">
      {penalty?.penalty.adminSteamId === visit.user.steamId64 && <ProblemLine message={t.issuedByYou} />}
      <PostForm visit={visit} action={action} isSentOnce class="create create-stacked">
        <MessageField
          action={action}
          label={t.toPlayer}
          hint={t.decideHint}
          limits={MESSAGE_LENGTH}
          visit={visit}
        />
        <p class="row decisions">
          {STAFF_ACTIONS.map((each) => (
            <button class={`button ${BUTTONS[each]}`} type="submit" name="action" value={each}>
              {t.actions[each]}
            </button>
          ))}
        </p>
        {system !== undefined && (
          <>
            <LiftReasonField action={action} reason={lifts.reasonOf(appeal.id)} visit={visit} />
            <p class="row">
              <button class="button button-quiet" type="submit" name="action" value={ACCEPT_AND_LIFT}>
                {lifts.acceptAndLift(system)}
              </button>
            </p>
          </>
        )}
      </PostForm>
    </div>
  );
}

/** What follows an acceptance: the form that lifts the penalty, or the hint that it must be lifted elsewhere. */
async function LiftOfAppeal({
  deps,
  details: { appeal, penalty },
  visit,
}: DepsProps): Promise<HtmlEscapedString | null> {
  const { appeals: t, lifts } = textsOf(visit.language);
  if (penalty && penalty.penalty.status !== 'ACTIVE') return null;
  const pending = await findPendingLift(deps.db, appeal.penaltyId);
  const isHere = penalty && (pending || findLiftSystem(deps.lifts, penalty.penalty, visit) !== undefined);
  if (!isHere) return <ProblemLine message={t.liftNow} />;
  return (
    <LiftForm
      lifts={deps.lifts}
      penalty={penalty.penalty}
      pending={pending}
      action={`${PATH}/${appeal.id}/lift#appeal`}
      reason={lifts.reasonOf(appeal.id)}
      visit={visit}
    />
  );
}

/** The next appeal that waits for staff, and the way back to the list. */
function NextSteps({ next, visit }: { next: ListedAppeal | undefined; visit: UserVisit }): JSX.Element {
  const { appeals: t, penalties } = textsOf(visit.language);
  return (
    <p class="row next-steps">
      {next && (
        <a class="button button-quiet" href={pathOfAppeal(next.appeal, visit)}>
          <span>
            {t.next}{' '}
            <bdi>
              {nameOf(
                { nickname: next.penalty?.playerName ?? '', steamId64: next.appeal.playerSteamId },
                visit.language,
              )}
            </bdi>
            {next.penalty && `, ${penalties.types[next.penalty.type]}`}
          </span>
        </a>
      )}
      <a href={PATH}>{next ? t.backToQueue : t.noneNext}</a>
    </p>
  );
}

/** The player's record in short: what is in force, how much has ended, and other appeals. */
async function HistoryCard({ deps, details: { appeal }, visit }: DepsProps): Promise<HtmlEscapedString> {
  const { db } = deps;
  const { playerSteamId: steamId64 } = appeal;
  const { appeals: t, penalties: words } = textsOf(visit.language);
  const [record, appeals] = await Promise.all([
    loadPlayerRecord(db, steamId64, { page: 1, perPage: PENALTIES_SHOWN, now: visit.now }),
    listAppealsWithPenalties(db, { playerSteamId: steamId64 }, visit.now),
  ]);
  const others = appeals.filter((row) => row.appeal.id !== appeal.id);
  const inForce = Object.values(record.active).reduce((sum, amount) => sum + amount, 0);
  return (
    <Card id="history" title={t.history} icon="info">
      <p>
        <a href={pathOfPlayer({ steamId64 })}>{t.amounts({ inForce, ended: record.total - inForce })}</a>
      </p>
      <ul class="short-list">
        {record.rows.map((penalty) => (
          <li>
            <a href={pathOfPenalty(penalty)}>{numberedType(penalty, words)}</a>{' '}
            <ShortStatus penalty={penalty} visit={visit} />
            <span class="hint">
              <ReasonText reason={penalty.reason} visit={visit} />
            </span>
          </li>
        ))}
      </ul>
      <h3 class="minor">{t.others}</h3>
      {others.length === 0 ? <p class="hint">{t.noOthers}</p> : <AppealLinks rows={others} visit={visit} />}
    </Card>
  );
}

/** The notes on the page of an appeal; new ones belong to its penalty. */
export const appealNotes = notesOf(async (deps, visit, { id }) => {
  const { appeal, penalty } = await loadAppeal(deps, visit, id);
  return { steamId64: appeal.playerSteamId, penaltyId: penalty?.penalty.id };
});

/** Asks the player something, or decides an appeal; then lifts the penalty, if asked to. */
export const handleAppeal: Handler = async (deps, visit, params) => {
  const appealId = parseRowId(params.id, 'appeal');
  const isLift = visit.form.get('action') === ACCEPT_AND_LIFT;
  const action = isLift ? 'accepted' : parseAction(visit.form.get('action'));
  const reason = isLift ? await parseAllowedLift(deps, visit, params.id) : undefined;
  const path = `${PATH}/${appealId}#appeal`;
  return submitAppealForm(deps, visit, {
    otherwise: path,
    work: async (tx, writing) => {
      const { penaltyId } = await actOnAppeal(tx, appealId, { ...writing, action });
      if (reason === undefined) return { path, notice: `appeal-now-${action}` };
      return { path, notice: () => liftAppealed(deps, visit, { penaltyId, reason }) };
    },
  });
};

/** The reason for a lift, before anything is decided. @throws {PageError} 400 · {Forbidden} */
async function parseAllowedLift(
  deps: ModerationDeps,
  visit: UserVisit,
  id: string | undefined,
): Promise<string> {
  const { appeal } = await loadAppeal(deps, visit, id);
  if (!mayLift(deps.lifts.audience, visit.user, appeal)) throw new Forbidden('this user may not lift');
  return parseLiftReason(visit);
}

/** Lifts the penalty of an accepted appeal, which then is shown as carried out at once. */
async function liftAppealed(
  deps: ModerationDeps,
  visit: UserVisit,
  lift: Parameters<typeof liftForStaff>[2],
): Promise<NoticeKey> {
  const notice = await liftForStaff(deps, visit, lift);
  if (notice === 'lift-confirmed') await withNewDeadline(() => settleAppeals(deps.db, visit.now));
  return notice;
}

/** Lifts the penalty of an accepted appeal, from its page or from the list. @throws {PageError} 400 · {Forbidden} */
export const liftOfAppeal: Handler = async (deps, visit, { id }) => {
  const { appeal } = await loadAppeal(deps, visit, id);
  const reason = parseLiftReason(visit);
  const notice: NoticeKey =
    appeal.waitsFor === 'lift'
      ? await liftAppealed(deps, visit, { penaltyId: appeal.penaltyId, reason })
      : 'not-lifted-not-in-force';
  const isFromList = visit.form.has(FROM_LIST);
  return deps.redirect(
    visit,
    isFromList ? `${PATH}?tab=lift#appeals` : `${PATH}/${appeal.id}#appeal`,
    notice,
  );
};

/** @throws {InvalidInput} */
function parseAction(text: string | undefined): StaffAction {
  const action = STAFF_ACTIONS.find((each) => each === text);
  if (!action) throw new InvalidInput(`action is none of ${STAFF_ACTIONS.join(', ')}`);
  return action;
}
