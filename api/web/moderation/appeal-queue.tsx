import type { JSX } from 'hono/jsx/jsx-runtime';
import { APPEAL_TABS } from '../../../src/domain/appeal.ts';
import { PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { countAppeals, type ListedAppeal, listAppeals } from '../../../src/queries/appeals/queue.ts';
import { Card } from '../layout/card.tsx';
import { SelectField } from '../layout/form-fields.tsx';
import { type Column, ListTable } from '../layout/list-table.tsx';
import { Moment } from '../layout/moment.tsx';
import { addressWith, PagesNav } from '../layout/pages-nav.tsx';
import { nameOf } from '../layout/person.tsx';
import { PostButton } from '../layout/post-form.tsx';
import { MoreFilters, readSearchText, SearchButton, SearchField } from '../layout/search-form.tsx';
import { textsOf } from '../locales/texts.ts';
import { AppealState } from '../penalties/appeal-conversation.tsx';
import { AdminName, numberedType, ReasonText, ShortStatus } from '../penalties/penalty-words.tsx';
import { PlayerChoice } from '../penalties/player-choice.tsx';
import { tryParseRowId } from '../request/numbers.ts';
import type { UserVisit } from '../request/visit.ts';
import { Frame, type Handler, pathOfTab } from './frame.tsx';
import { findLiftSystem } from './lifts.tsx';
import { findNamedPlayer } from './named-people.ts';

const PATH = pathOfTab('appeals');
const APPEALS_PER_PAGE = 50;
/** The field of a form of the list, to which its action returns. */
export const FROM_LIST = 'from_list';

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
  const { appeals: t, penalties, moderation, lifts } = textsOf(visit.language);
  const stateColumn: Column<ListedAppeal> = [
    t.columns.state,
    ({ appeal }) => <AppealState appeal={appeal} isForStaff visit={visit} />,
  ];
  const systemOf = ({ penalty }: ListedAppeal) => penalty && findLiftSystem(deps.lifts, penalty, visit);
  const liftColumn: Column<ListedAppeal> = [
    lifts.column,
    (row) =>
      systemOf(row) && (
        <PostButton
          visit={visit}
          action={`${PATH}/${row.appeal.id}/lift`}
          label={lifts.column}
          fullLabel={lifts.liftOf(row.appeal.id)}
          class="button button-quiet button-small"
        >
          <input type="hidden" name="reason" value={lifts.reasonOf(row.appeal.id)} />
          <input type="hidden" name={FROM_LIST} value="1" />
        </PostButton>
      ),
  ];
  const total = counts?.[tab] ?? 0;
  return (
    <Frame site={site} visit={visit} cards={['appeals']} tab="appeals">
      <Card id="appeals" title={t.title} icon="shield" notice={visit.notice}>
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
        <form method="get" action={PATH} class="search search-line">
          {tab !== 'staff' && <input type="hidden" name="tab" value={tab} />}
          <SearchField name="player" label={t.columns.player} value={playerText} />
          <SearchButton label={penalties.find} />
          <MoreFilters isOpen={type !== undefined} visit={visit}>
            <SelectField
              name="type"
              label={penalties.columns.type}
              options={[
                ['', penalties.everyType],
                ...PENALTY_TYPES.map((each) => [each, penalties.types[each]] as const),
              ]}
              value={type}
            />
          </MoreFilters>
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
            [t.left, ({ penalty }) => penalty && <ShortStatus penalty={penalty} visit={visit} />],
            [
              penalties.columns.admin,
              ({ penalty }) => penalty && <AdminName penalty={penalty} visit={visit} />,
              'list-words',
            ],
            ...(tab === 'decided' ? [stateColumn] : []),
            [
              t.since[tab],
              ({ appeal }) => (
                <Moment at={(tab === 'decided' && appeal.decidedAt) || appeal.waitingSince} visit={visit} />
              ),
            ],
            ...(tab === 'lift' && rows.some((row) => systemOf(row) !== undefined) ? [liftColumn] : []),
          ]}
        />
        <PagesNav visit={visit} page={page} lastPage={Math.ceil(total / APPEALS_PER_PAGE)} />
      </Card>
    </Frame>
  );
};

type RowProps = { row: ListedAppeal; visit: UserVisit };

/** The player, with a link to the appeal. */
function PlayerOfAppeal({ row: { appeal, penalty }, visit }: RowProps): JSX.Element {
  const player = { nickname: penalty?.playerName ?? '', steamId64: appeal.playerSteamId };
  return (
    <a href={`${PATH}/${appeal.id}`}>
      <bdi>{nameOf(player, visit.language)}</bdi>
    </a>
  );
}

function penaltyOf(id: number, penalty: ListedAppeal['penalty'], { language }: UserVisit): string {
  return penalty ? numberedType({ id, type: penalty.type }, textsOf(language).penalties) : `#${id}`;
}
