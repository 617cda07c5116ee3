import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import {
  APPEAL_LENGTH,
  type AppealObstacle,
  type EarlierAppeal,
  findAppealObstacle,
  MESSAGE_LENGTH,
  mayAnswerAppeal,
} from '../../../src/domain/appeal.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import {
  type AppealDetails,
  answerAppeal,
  findAppeal,
  findObstacle,
  openAppeal,
  setWantsMessages,
  withdrawAppeal,
} from '../../../src/queries/appeals/appeals.ts';
import { type ListedAppeal, listAppealsWithPenalties } from '../../../src/queries/appeals/queue.ts';
import { loadPlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { findPenalty, type PenaltyDetails } from '../../../src/queries/penalties/row.ts';
import { Card } from '../layout/card.tsx';
import { ConfirmButton } from '../layout/confirm-button.tsx';
import { Facts } from '../layout/facts.tsx';
import { Icon } from '../layout/icons.tsx';
import { Layout } from '../layout/layout.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { FullMoment, Moment } from '../layout/moment.tsx';
import { PostForm } from '../layout/post-form.tsx';
import { type NoticeKey, textsOf } from '../locales/texts.ts';
import {
  AppealState,
  Conversation,
  MessageField,
  submitAppealForm,
  UnsentMessage,
} from '../penalties/appeal-conversation.tsx';
import { AdminName, PenaltyStatusText, ReasonText } from '../penalties/penalty-words.tsx';
import { parsePenaltyId, parseRowId } from '../request/numbers.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { UserRoute } from '../request/user-route.ts';
import type { UserVisit } from '../request/visit.ts';
import type { AccountDeps } from './account-deps.ts';

const PENALTIES = '/account#penalties';
const WANTS_MESSAGES = 'discord';

/** The path of a player's own appeal. */
function pathOfAppeal(id: number): string {
  return `/account/appeals/${id}`;
}

function pathOfForm(penaltyId: number): string {
  return `/account/penalties/${penaltyId}/appeal`;
}

/** What a player can do about a penalty in force: appeal, or see their appeal against it, and why they cannot appeal. */
export function appealStepOf(
  { appeals: settings }: Pick<AccountDeps, 'appeals'>,
  { own, earlier }: { own: readonly ListedAppeal[]; earlier: readonly EarlierAppeal[] },
  visit: UserVisit,
): (penalty: { id: number }) => Child {
  const t = textsOf(visit.language).appeals;
  return ({ id }) => {
    if (!settings) return null;
    const obstacle = findAppealObstacle(id, earlier, { ...settings, now: visit.now });
    const newest = own.find(({ appeal }) => appeal.penaltyId === id)?.appeal;
    return (
      <p class="row">
        {newest && obstacle && (
          <>
            <a class="button button-quiet" href={pathOfAppeal(newest.id)}>
              {t.yours}
            </a>
            <AppealState appeal={newest} isForStaff={false} visit={visit} />
          </>
        )}
        {obstacle ? (
          <ObstacleText obstacle={obstacle} visit={visit} />
        ) : (
          <a class="button button-quiet" href={pathOfForm(id)}>
            {t.appeal}
          </a>
        )}
      </p>
    );
  };
}

/** Why a player cannot appeal, and from when they can; null for what the state of their appeal says. */
function ObstacleText({
  obstacle: { reason, until },
  visit,
}: {
  obstacle: AppealObstacle;
  visit: UserVisit;
}): JSX.Element | null {
  const { appeals: t, notices } = textsOf(visit.language);
  const texts: Partial<Record<AppealObstacle['reason'], string>> = {
    denied: until ? t.againFrom : t.neverAgain,
    'too-many': notices['appeal-too-many'],
    'too-many-today': t.tooManyToday,
  };
  if (texts[reason] === undefined) return null;
  return (
    <span class="hint">
      {texts[reason]} {until && <FullMoment at={until} visit={visit} />}
    </span>
  );
}

type OwnProps = { appeals: readonly ListedAppeal[]; visit: UserVisit };

/** The player's appeals, below their penalties. */
export function OwnAppeals({ appeals, visit }: OwnProps): JSX.Element {
  const { appeals: t, penalties } = textsOf(visit.language);
  return (
    <>
      {appeals.length > 0 && <h3 class="minor">{t.own}</h3>}
      <ListTable
        rows={appeals}
        columns={[
          [
            t.columns.penalty,
            ({ appeal, penalty }) => (
              <a href={pathOfAppeal(appeal.id)}>
                {penalty ? penalties.types[penalty.type] : t.removedPenalty}
              </a>
            ),
          ],
          [
            penalties.columns.reason,
            ({ penalty }) => penalty && <ReasonText reason={penalty.reason} visit={visit} />,
            'list-words',
          ],
          [t.columns.state, ({ appeal }) => <AppealState appeal={appeal} isForStaff={false} visit={visit} />],
          [t.columns.opened, ({ appeal }) => <Moment at={appeal.openedAt} visit={visit} />],
        ]}
      />
    </>
  );
}

/** Says that a question waits for the player; null when none does. */
export function QuestionNotice({ appeals, visit }: OwnProps): JSX.Element | null {
  const t = textsOf(visit.language).appeals;
  const asked = appeals.filter(({ appeal }) => appeal.waitsFor === 'player');
  if (asked.length === 0) return null;
  return (
    <p class="warning" role="status">
      <Icon name="warning" />
      <span>
        {asked.map(({ appeal }) => (
          <>
            <a href={pathOfAppeal(appeal.id)}>{t.questionWaits}</a>{' '}
          </>
        ))}
      </span>
    </p>
  );
}

/** Opening an appeal, and reading, answering and withdrawing one's own; none while appeals are switched off. */
export function appealRoutes(deps: AccountDeps): UserRoute[] {
  const { db, appeals: settings } = deps;
  if (!settings) return [];
  const showForm = async (visit: UserVisit, { id }: Record<string, string>) =>
    NewAppealPage({ deps, details: await findOwnPenalty(deps, visit, id), visit });
  const showAppeal = async (visit: UserVisit, { id }: Record<string, string>) =>
    AppealPage({ deps, details: await loadOwnAppeal(deps, visit, id), visit });
  const leadTo = async (visit: UserVisit, details: PenaltyDetails): Promise<Response> => {
    const { penalty } = details;
    const obstacle = await findObstacle(db, details, { ...settings, now: visit.now });
    if (!obstacle) return deps.redirect(visit, pathOfForm(penalty.id));
    const [newest] = await listAppealsWithPenalties(
      db,
      { playerSteamId: visit.user.steamId64, penaltyId: penalty.id },
      visit.now,
    );
    if (newest) return deps.redirect(visit, pathOfAppeal(newest.appeal.id));
    return deps.redirect(visit, PENALTIES, `appeal-${obstacle.reason}`);
  };
  const changeWith =
    (change: typeof answerAppeal, notice: NoticeKey): UserRoute['handle'] =>
    (visit, params) => {
      const appealId = parseRowId(params.id, 'appeal');
      const path = pathOfAppeal(appealId);
      return submitAppealForm(deps, visit, {
        otherwise: path,
        work: async (tx, writing) => {
          await change(tx, appealId, writing);
          return { path, notice };
        },
      });
    };
  return [
    {
      method: 'GET',
      path: '/appeal',
      handle: async (visit) => {
        const { steamId64 } = visit.user;
        const record = await loadPlayerRecord(db, steamId64, { page: 1, perPage: 1, now: visit.now });
        const [only, ...others] = record.activeRows;
        const details = only && others.length === 0 ? await findPenalty(db, only.id, visit.now) : undefined;
        return details ? leadTo(visit, details) : deps.redirect(visit, PENALTIES);
      },
    },
    {
      method: 'GET',
      path: '/appeal/:id',
      handle: async (visit, { id }) => leadTo(visit, await findOwnPenalty(deps, visit, id)),
    },
    {
      method: 'GET',
      path: '/penalties/:id/appeal',
      handle: async (visit, { id }) => {
        const details = await findOwnPenalty(deps, visit, id);
        const obstacle = await findObstacle(db, details, { ...settings, now: visit.now });
        // Before they write what would be refused.
        if (obstacle) return deps.redirect(visit, PENALTIES, `appeal-${obstacle.reason}`);
        return respondWithPage(NewAppealPage({ deps, details, visit }));
      },
    },
    {
      method: 'POST',
      path: '/penalties/:id/appeal',
      showAgain: showForm,
      handle: (visit, params) =>
        submitAppealForm(deps, visit, {
          otherwise: PENALTIES,
          work: async (tx, writing) => {
            const id = await openAppeal(tx, {
              ...writing,
              ...settings,
              penaltyId: parsePenaltyId(params.id),
              language: visit.language,
              wantsMessages: visit.form.has(WANTS_MESSAGES) && visit.user.discordId !== null,
            });
            return { path: pathOfAppeal(id), notice: 'appeal-opened' };
          },
        }),
    },
    {
      method: 'GET',
      path: '/appeals/:id',
      handle: async (visit, params) => respondWithPage(await showAppeal(visit, params)),
    },
    {
      method: 'POST',
      path: '/appeals/:id',
      showAgain: showAppeal,
      handle: changeWith(answerAppeal, 'appeal-answered'),
    },
    {
      method: 'POST',
      path: '/appeals/:id/withdraw',
      showAgain: showAppeal,
      handle: changeWith(withdrawAppeal, 'appeal-withdrawn'),
    },
    {
      method: 'POST',
      path: '/appeals/:id/discord',
      handle: async (visit, { id }) => {
        const { appeal } = await loadOwnAppeal(deps, visit, id);
        const wantsMessages = visit.form.has(WANTS_MESSAGES) && visit.user.discordId !== null;
        await setWantsMessages(db, appeal.id, wantsMessages);
        const notice = wantsMessages ? 'appeal-discord-on' : 'appeal-discord-off';
        return deps.redirect(visit, pathOfAppeal(appeal.id), notice);
      },
    },
  ];
}

/** @throws {NotFound} for a penalty of somebody else, too. */
async function findOwnPenalty(
  { db }: AccountDeps,
  { user, now }: UserVisit,
  id: string | undefined,
): Promise<PenaltyDetails> {
  const details = await findPenalty(db, parsePenaltyId(id), now);
  if (details?.penalty.playerSteamId !== user.steamId64) throw new NotFound('no such penalty of this player');
  return details;
}

/** @throws {NotFound} for an appeal of somebody else, too. */
async function loadOwnAppeal(
  { db }: AccountDeps,
  { user, now }: UserVisit,
  id: string | undefined,
): Promise<AppealDetails> {
  const found = await findAppeal(db, parseRowId(id, 'appeal'), now);
  if (found?.appeal.playerSteamId !== user.steamId64) throw new NotFound('no such appeal of this player');
  return found;
}

type PageProps = { deps: AccountDeps; visit: UserVisit };

function NewAppealPage({ deps, details, visit }: PageProps & { details: PenaltyDetails }): JSX.Element {
  const { appeals: t, penalties } = textsOf(visit.language);
  const { penalty } = details;
  const action = pathOfForm(penalty.id);
  return (
    <OwnPage deps={deps} visit={visit} title={t.newTitle(penalties.types[penalty.type])}>
      <PenaltyFacts details={details} visit={visit} />
      <p class="lead">{t.lead}</p>
      <PostForm visit={visit} action={action} isSentOnce class="create create-stacked">
        <MessageField action={action} label={t.text} limits={APPEAL_LENGTH} visit={visit} />
        <DiscordBox isChecked={visit.form.has(WANTS_MESSAGES)} deps={deps} visit={visit} />
        <button class="button button-primary" type="submit">
          {t.send}
        </button>
      </PostForm>
    </OwnPage>
  );
}

/** The checkbox for direct messages on Discord; without a linked account, a link to the page that links one. */
function DiscordBox({ isChecked, deps, visit }: PageProps & { isChecked: boolean }): JSX.Element | null {
  const t = textsOf(visit.language).appeals;
  if (visit.user.discordId !== null) {
    return (
      <label class="check">
        <input type="checkbox" name={WANTS_MESSAGES} checked={isChecked} />
        <span>{t.wantsMessages}</span>
      </label>
    );
  }
  if (!deps.discord) return null;
  return (
    <p class="hint">
      {t.notLinked} <a href="/account#discord">{t.linkDiscord}</a>
    </p>
  );
}

type AppealProps = PageProps & { details: AppealDetails };

async function AppealPage({ deps, details, visit }: AppealProps): Promise<HtmlEscapedString> {
  const { appeal, messages, penalty } = details;
  const { appeals: t, penalties, errors } = textsOf(visit.language);
  const isUndecided = appeal.state === 'undecided';
  const mayAnswer = mayAnswerAppeal(messages.map(({ kind }) => kind));
  const path = pathOfAppeal(appeal.id);
  const obstacle =
    deps.appeals && penalty && appeal.state === 'denied'
      ? await findObstacle(deps.db, penalty, { ...deps.appeals, now: visit.now })
      : undefined;
  return (
    <OwnPage
      deps={deps}
      visit={visit}
      title={penalty ? t.newTitle(penalties.types[penalty.penalty.type]) : t.yours}
      aside={<AppealState appeal={appeal} isForStaff={false} visit={visit} />}
    >
      {penalty && <PenaltyFacts details={penalty} visit={visit} />}
      <Conversation appeal={appeal} messages={messages} isForStaff={false} visit={visit} />
      {obstacle?.reason === 'denied' && (
        <p>
          <ObstacleText obstacle={obstacle} visit={visit} />
        </p>
      )}
      {isUndecided && mayAnswer ? (
        <PostForm visit={visit} action={path} isSentOnce class="create create-stacked">
          <MessageField action={path} label={t.answer} limits={MESSAGE_LENGTH} visit={visit} />
          <button class="button button-primary" type="submit">
            {t.sendAnswer}
          </button>
        </PostForm>
      ) : (
        <UnsentMessage visit={visit} />
      )}
      {isUndecided && !mayAnswer && visit.problem === undefined && (
        <p>{errors['appeal-too-many-messages']}</p>
      )}
      {appeal.waitsFor !== null && <AppealSettings {...{ deps, details, visit }} />}
    </OwnPage>
  );
}

/** The forms for direct messages on Discord and for withdrawing. */
function AppealSettings({ deps, details: { appeal }, visit }: AppealProps): JSX.Element {
  const t = textsOf(visit.language).appeals;
  const path = pathOfAppeal(appeal.id);
  return (
    <div class="appeal-settings">
      <PostForm visit={visit} action={`${path}/discord`}>
        <DiscordBox isChecked={appeal.wantsMessages} deps={deps} visit={visit} />
        {visit.user.discordId !== null && (
          <button class="button button-quiet button-small" type="submit">
            {t.save}
          </button>
        )}
      </PostForm>
      {appeal.state === 'undecided' && (
        <ConfirmButton
          visit={visit}
          action={`${path}/withdraw`}
          label={t.withdraw}
          title={t.withdrawTitle}
          lead={t.withdrawLead}
        />
      )}
    </div>
  );
}

type OwnPageProps = PageProps & { title: string; aside?: Child; children: Child };

function OwnPage({ deps, visit, title, aside, children }: OwnPageProps): JSX.Element {
  const t = textsOf(visit.language);
  return (
    <Layout site={deps.site} visit={visit} title={title}>
      <p>
        <a href={PENALTIES}>← {t.penalties.own}</a>
      </p>
      <Card id="appeal" title={title} heading="h1" icon="shield" aside={aside}>
        {children}
      </Card>
    </Layout>
  );
}

function PenaltyFacts({ details, visit }: { details: PenaltyDetails; visit: UserVisit }): JSX.Element {
  const { penalties: t } = textsOf(visit.language);
  const { penalty } = details;
  return (
    <Facts
      class="facts facts-inline"
      facts={[
        [t.columns.status, <PenaltyStatusText penalty={penalty} visit={visit} />],
        [t.columns.reason, <ReasonText reason={penalty.reason} visit={visit} />],
        [t.columns.admin, <AdminName penalty={penalty} visit={visit} />],
        [t.columns.issued, <FullMoment at={penalty.createdAt} visit={visit} />],
      ]}
    />
  );
}
