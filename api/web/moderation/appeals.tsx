import type { JSX } from 'hono/jsx/jsx-runtime';
import {
  APPEAL_TABS,
  MESSAGE_LENGTH,
  mayHandleAppeal,
  STAFF_ACTIONS,
  type StaffAction,
} from '../../../src/domain/appeal.ts';
import { Forbidden, InvalidInput, NotFound } from '../../../src/domain/errors.ts';
import { findPanelUrl } from '../../../src/domain/panel.ts';
import { PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { actOnAppeal, findAppeal } from '../../../src/queries/appeals/appeals.ts';
import { countAppeals, type ListedAppeal, listAppeals } from '../../../src/queries/appeals/queue.ts';
import {
  AppealState,
  Conversation,
  MessageField,
  stateOf,
  submitAppealForm,
} from '../appeals/conversation.tsx';
import { Card, ProblemLine } from '../layout/card.tsx';
import { Facts } from '../layout/facts.tsx';
import { SelectField } from '../layout/form-fields.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { Moment } from '../layout/moment.tsx';
import { addressWith, PagesNav } from '../layout/pages-nav.tsx';
import { nameOf } from '../layout/person.tsx';
import { PostForm } from '../layout/post-form.tsx';
import { readSearchText, SearchButton, SearchField } from '../layout/search-form.tsx';
import { textsOf } from '../locales/texts.ts';
import {
  AdminName,
  numberedType,
  PenaltyStatusText,
  ReasonText,
  ShortStatus,
} from '../penalties/penalty-words.tsx';
import { PlayerChoice } from '../penalties/player-choice.tsx';
import { parseRowId, tryParseRowId } from '../request/numbers.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame, type Handler, pathOfPenalty, pathOfTab, type Show } from './frame.tsx';
import { findNamedPlayer } from './named-people.ts';
import { pathOfPlayer } from './player-link.tsx';

const PATH = pathOfTab('appeals');
const APPEALS_PER_PAGE = 50;
const BUTTONS: Record<StaffAction, string> = {
  asked: 'button-quiet',
  accepted: 'button-primary',
  denied: 'button-danger',
};

/** The appeals of all players in tabs: what waits for staff, for the player and for a lift, and what is decided. */
export const showAppeals: Handler = async (deps, visit) => {
  const { db, site } = deps;
  const { searchParams } = visit.url;
  const tab = APPEAL_TABS.find((each) => each === searchParams.get('tab')) ?? 'staff';
  const type = PENALTY_TYPES.find((each) => each === searchParams.get('type'));
  const playerText = readSearchText(searchParams, 'player');
  const page = tryParseRowId(searchParams.get('page')) ?? 1;
  const player = await findNamedPlayer(deps, playerText, visit);
  const filter = { viewer: visit.user.steamId64, type, playerSteamId: player.steamId64 };
  const range = { limit: APPEALS_PER_PAGE, offset: (page - 1) * APPEALS_PER_PAGE, now: visit.now };
  const [counts, rows] = player.hasNoMatch
    ? [undefined, []]
    : await Promise.all([countAppeals(db, filter), listAppeals(db, tab, { ...filter, ...range })]);
  const { appeals: t, penalties, moderation } = textsOf(visit.locale);
  const total = counts?.[tab] ?? 0;
  return (
    <Frame site={site} visit={visit} tab="appeals">
      <Card id="appeals" title={t.title} icon="shield">
        <nav class="tabs" aria-label={t.title}>
          <ul>
            {APPEAL_TABS.map((each) => (
              <li>
                <a
                  href={addressWith(visit, { tab: each === 'staff' ? undefined : each, page: undefined })}
                  aria-current={each === tab ? 'page' : undefined}
                >
                  {t.tabs[each]} <span class="tab-count">{counts?.[each] ?? 0}</span>
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <form method="get" action={PATH} class="search search-flag">
          {tab !== 'staff' && <input type="hidden" name="tab" value={tab} />}
          <SearchField name="player" label={t.columns.player} value={playerText} />
          <SelectField
            name="type"
            label={penalties.columns.type}
            options={[
              ['', penalties.everyType],
              ...PENALTY_TYPES.map((each) => [each, penalties.types[each]] as const),
            ]}
            value={type}
          />
          <SearchButton label={penalties.find} />
        </form>
        <PlayerChoice candidates={player.candidates} parameter="player" visit={visit} />
        <ListTable
          isDense
          rows={rows}
          empty={
            player.candidates.length === 0 && (player.isUnresolved ? moderation.unresolved : t.none[tab])
          }
          columns={[
            [t.columns.player, (row) => <PlayerOfAppeal row={row} visit={visit} />, 'list-words'],
            [t.columns.penalty, ({ appeal, penalty }) => penaltyOf(appeal.penaltyId, penalty, visit)],
            [
              penalties.columns.reason,
              ({ penalty }) => penalty && <ReasonText reason={penalty.reason} visit={visit} />,
              'list-words list-cut',
            ],
            [
              penalties.columns.status,
              ({ penalty }) => penalty && <ShortStatus penalty={penalty} visit={visit} />,
            ],
            [
              penalties.columns.admin,
              ({ penalty }) => penalty && <AdminName penalty={penalty} visit={visit} />,
              'list-words',
            ],
            [t.columns.state, ({ appeal }) => <AppealState appeal={appeal} visit={visit} />],
            [
              t.since[tab],
              ({ appeal }) => (
                <Moment at={(tab === 'decided' && appeal.decidedAt) || appeal.waitingSince} visit={visit} />
              ),
            ],
          ]}
        />
        <PagesNav visit={visit} page={page} lastPage={Math.ceil(total / APPEALS_PER_PAGE)} />
      </Card>
    </Frame>
  );
};

type RowProps = { row: ListedAppeal; visit: MemberVisit };

/** The player, with a link to the appeal. */
function PlayerOfAppeal({ row: { appeal, penalty }, visit }: RowProps): JSX.Element {
  const player = { nickname: penalty?.playerName ?? '', steamId64: appeal.playerSteamId };
  return (
    <a href={`${PATH}/${appeal.id}`}>
      <bdi>{nameOf(player, visit.locale)}</bdi>
    </a>
  );
}

function penaltyOf(id: number, penalty: ListedAppeal['penalty'], { locale }: MemberVisit): string {
  return penalty ? numberedType({ id, type: penalty.type }, textsOf(locale).penalties) : `#${id}`;
}

/** An appeal with its conversation, and the form to ask the player or to decide. */
export const showAppeal: Show = async ({ db, site, panels }, visit, { id }) => {
  const found = await findAppeal(db, parseRowId(id, 'appeal'), visit.now);
  if (!found) throw new NotFound('no such appeal');
  const { appeal, messages, penalty: details } = found;
  if (!mayHandleAppeal(visit.user, appeal)) throw new Forbidden('nobody handles their own appeal');
  const { appeals: t, penalties, records } = textsOf(visit.locale);
  const penalty = details?.penalty;
  const panelUrl = penalty && findPanelUrl(panels, penalty);
  const title = t.against(appeal.penaltyId);
  return (
    <Frame site={site} visit={visit} cards={['appeal']} tab="appeals" title={title}>
      <Card id="appeal" title={title} icon="shield" aside={stateOf(appeal, visit)} notice={visit.notice}>
        <Facts
          class="facts facts-inline"
          facts={[
            [
              penalties.columns.player,
              <a href={pathOfPlayer({ steamId64: appeal.playerSteamId })}>
                <bdi>
                  {nameOf(
                    { nickname: penalty?.playerName ?? '', steamId64: appeal.playerSteamId },
                    visit.locale,
                  )}
                </bdi>
              </a>,
            ],
            [
              t.columns.penalty,
              penalty && <a href={pathOfPenalty(penalty)}>{numberedType(penalty, penalties)}</a>,
            ],
            [penalties.columns.status, penalty && <PenaltyStatusText penalty={penalty} visit={visit} />],
            [penalties.columns.reason, penalty && <ReasonText reason={penalty.reason} visit={visit} />],
            [penalties.columns.admin, penalty && <AdminName penalty={penalty} visit={visit} />],
          ]}
        />
        {panelUrl !== undefined && (
          <p>
            <a class="button button-quiet" href={panelUrl} rel="noreferrer noopener">
              {records.penalty.panel}
            </a>
          </p>
        )}
        <Conversation appeal={appeal} messages={messages} isForStaff visit={visit} />
        {appeal.state === 'undecided' && (
          <>
            {penalty?.adminSteamId === visit.user.steamId64 && <ProblemLine message={t.issuedByYou} />}
            <PostForm
              visit={visit}
              action={`${PATH}/${appeal.id}#appeal`}
              isSentOnce
              class="create create-stacked"
            >
              <MessageField label={t.toPlayer} hint={t.decideHint} limits={MESSAGE_LENGTH} visit={visit} />
              <p class="row">
                {STAFF_ACTIONS.map((action) => (
                  <button class={`button ${BUTTONS[action]}`} type="submit" name="action" value={action}>
                    {t.actions[action]}
                  </button>
                ))}
              </p>
            </PostForm>
          </>
        )}
      </Card>
    </Frame>
  );
};

/** Asks the player something, or decides an appeal. */
export const handleAppeal: Handler = async (deps, visit, { id }) => {
  const appealId = parseRowId(id, 'appeal');
  const action = parseAction(visit.form.get('action'));
  const path = `${PATH}/${appealId}#appeal`;
  return submitAppealForm(deps, visit, {
    pathOf: () => path,
    otherwise: path,
    work: async (tx, writing) => {
      await actOnAppeal(tx, appealId, { ...writing, action });
      return appealId;
    },
  });
};

/** @throws {InvalidInput} */
function parseAction(text: string | undefined): StaffAction {
  const action = STAFF_ACTIONS.find((each) => each === text);
  if (!action) throw new InvalidInput(`action is none of ${STAFF_ACTIONS.join(', ')}`);
  return action;
}
