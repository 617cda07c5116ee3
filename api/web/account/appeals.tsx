import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import {
  APPEAL_LENGTH,
  findAppealObstacle,
  MESSAGE_LENGTH,
  mayAnswerAppeal,
} from '../../../src/domain/appeal.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import {
  type Appeal,
  answerAppeal,
  findAppeal,
  findObstacle,
  openAppeal,
} from '../../../src/queries/appeals/appeals.ts';
import { findPenalty, type PenaltyDetails } from '../../../src/queries/penalties/row.ts';
import { Conversation, MessageField, stateOf, submitAppealForm } from '../appeals/conversation.tsx';
import { Card } from '../layout/card.tsx';
import { Facts } from '../layout/facts.tsx';
import { Layout } from '../layout/layout.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { Moment } from '../layout/moment.tsx';
import { PostForm } from '../layout/post-form.tsx';
import { textsOf } from '../locales/texts.ts';
import { AdminName, numberedType, PenaltyStatusText, ReasonText } from '../penalties/penalty-words.tsx';
import type { MemberRoute } from '../request/member-route.ts';
import { parseRowId, tryParsePositive } from '../request/numbers.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import type { AccountDeps } from './account-deps.ts';

const PENALTIES = '/account#penalties';
const WANTS_MESSAGES = 'discord';

function pathOfAppeal(id: number): string {
  return `/account/appeals/${id}`;
}

/** What a player can do about a penalty in force: appeal, or see their appeal against it. */
export function appealLinkOf(
  { appeals: settings }: Pick<AccountDeps, 'appeals'>,
  earlier: readonly Appeal[],
  { now, locale }: MemberVisit,
): (penalty: { id: number; goneAt: Date | null }) => { href: string; label: string } | undefined {
  const t = textsOf(locale).appeals;
  return ({ id, goneAt }) => {
    if (!settings) return undefined;
    const [newest] = earlier.filter(({ penaltyId }) => penaltyId === id);
    const isPossible = goneAt === null && findAppealObstacle(id, earlier, { ...settings, now }) === undefined;
    if (isPossible) return { href: `/account/penalties/${id}/appeal`, label: t.appeal };
    return newest && { href: pathOfAppeal(newest.id), label: t.yours };
  };
}

/** The player's appeals, below their penalties. */
export function OwnAppeals({
  appeals,
  visit,
}: {
  appeals: readonly Appeal[];
  visit: MemberVisit;
}): JSX.Element {
  const t = textsOf(visit.locale).appeals;
  return (
    <>
      {appeals.length > 0 && <h3 class="minor">{t.own}</h3>}
      <ListTable
        rows={appeals}
        columns={[
          [t.columns.penalty, ({ id, penaltyId }) => <a href={pathOfAppeal(id)}>{t.against(penaltyId)}</a>],
          [t.columns.state, (appeal) => stateOf(appeal, visit)],
          [t.columns.opened, ({ openedAt }) => <Moment at={openedAt} visit={visit} />],
        ]}
      />
    </>
  );
}

/** Opening an appeal, and reading and answering one's own; none while appeals are switched off. */
export function appealRoutes(deps: AccountDeps): MemberRoute[] {
  const { db, appeals: settings } = deps;
  if (!settings) return [];
  const formPath = '/penalties/:id/appeal';
  const showForm = async (visit: MemberVisit, { id }: Record<string, string>) =>
    NewAppealPage({ deps, details: await findOwnPenalty(deps, visit, id), visit });
  const showAppeal = async (visit: MemberVisit, { id }: Record<string, string>) =>
    AppealPage({ deps, appealId: parseRowId(id, 'appeal'), visit });
  return [
    {
      method: 'GET',
      path: formPath,
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
      path: formPath,
      showAgain: showForm,
      handle: (visit, { id }) =>
        submitAppealForm(deps, visit, {
          pathOf: pathOfAppeal,
          otherwise: PENALTIES,
          work: (tx, writing) =>
            openAppeal(tx, {
              ...writing,
              ...settings,
              penaltyId: parsePenaltyId(id),
              locale: visit.locale,
              wantsMessages: visit.form.has(WANTS_MESSAGES) && visit.user.discordId !== null,
            }),
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
      handle: (visit, { id }) => {
        const appealId = parseRowId(id, 'appeal');
        return submitAppealForm({ db, redirect: deps.redirect }, visit, {
          pathOf: pathOfAppeal,
          otherwise: pathOfAppeal(appealId),
          work: async (tx, writing) => {
            await answerAppeal(tx, appealId, writing);
            return appealId;
          },
        });
      },
    },
  ];
}

/** @throws {NotFound} */
function parsePenaltyId(text: string | undefined): number {
  const id = tryParsePositive(text ?? null);
  if (id === undefined) throw new NotFound(`no penalty ${text}`);
  return id;
}

/** @throws {NotFound} for a penalty of somebody else, too. */
async function findOwnPenalty(
  { db }: AccountDeps,
  { user, now }: MemberVisit,
  id: string | undefined,
): Promise<PenaltyDetails> {
  const details = await findPenalty(db, parsePenaltyId(id), now);
  if (details?.penalty.playerSteamId !== user.steamId64) throw new NotFound('no such penalty of this player');
  return details;
}

type PageProps = { deps: AccountDeps; visit: MemberVisit };

function NewAppealPage({ deps, details, visit }: PageProps & { details: PenaltyDetails }): JSX.Element {
  const { appeals: t, penalties } = textsOf(visit.locale);
  const { penalty } = details;
  const title = t.newTitle(numberedType(penalty, penalties));
  return (
    <OwnPage deps={deps} visit={visit} title={title}>
      <PenaltyFacts details={details} visit={visit} />
      <p class="lead">{t.lead}</p>
      <PostForm
        visit={visit}
        action={`/account/penalties/${penalty.id}/appeal`}
        isSentOnce
        class="create create-stacked"
      >
        <MessageField label={t.text} limits={APPEAL_LENGTH} visit={visit} />
        {visit.user.discordId !== null && (
          <label class="check">
            <input type="checkbox" name={WANTS_MESSAGES} checked={visit.form.has(WANTS_MESSAGES)} />
            <span>{t.wantsMessages}</span>
          </label>
        )}
        <button class="button button-primary" type="submit">
          {t.send}
        </button>
      </PostForm>
    </OwnPage>
  );
}

async function AppealPage({
  deps,
  appealId,
  visit,
}: PageProps & { appealId: number }): Promise<HtmlEscapedString> {
  const found = await findAppeal(deps.db, appealId, visit.now);
  if (found?.appeal.playerSteamId !== visit.user.steamId64)
    throw new NotFound('no such appeal of this player');
  const { appeal, messages, penalty } = found;
  const { appeals: t, notices } = textsOf(visit.locale);
  const isUndecided = appeal.state === 'undecided';
  const mayAnswer = mayAnswerAppeal(messages.map(({ kind }) => kind));
  return (
    <OwnPage deps={deps} visit={visit} title={t.yours} aside={stateOf(appeal, visit)}>
      {penalty && <PenaltyFacts details={penalty} visit={visit} />}
      <Conversation appeal={appeal} messages={messages} isForStaff={false} visit={visit} />
      {isUndecided && !mayAnswer && <p>{notices['appeal-too-many-messages']}</p>}
      {isUndecided && mayAnswer && (
        <PostForm visit={visit} action={pathOfAppeal(appeal.id)} isSentOnce class="create create-stacked">
          <MessageField label={t.answer} limits={MESSAGE_LENGTH} visit={visit} />
          <button class="button button-primary" type="submit">
            {t.sendAnswer}
          </button>
        </PostForm>
      )}
    </OwnPage>
  );
}

type OwnPageProps = PageProps & { title: string; aside?: string; children: Child };

function OwnPage({ deps, visit, title, aside, children }: OwnPageProps): JSX.Element {
  const t = textsOf(visit.locale);
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

function PenaltyFacts({ details, visit }: { details: PenaltyDetails; visit: MemberVisit }): JSX.Element {
  const { penalties: t } = textsOf(visit.locale);
  const { penalty } = details;
  return (
    <Facts
      class="facts facts-inline"
      facts={[
        [t.columns.type, numberedType(penalty, t)],
        [t.columns.status, <PenaltyStatusText penalty={penalty} visit={visit} />],
        [t.columns.reason, <ReasonText reason={penalty.reason} visit={visit} />],
        [t.columns.admin, <AdminName penalty={penalty} visit={visit} />],
      ]}
    />
  );
}
