import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { RequestDb } from '../../../src/db/client.ts';
import { findLead, serverNameOf } from '../../../src/domain/penalty.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import {
  loadPlayerRecord,
  type PlayerRecord,
  type RecordedPenalty,
} from '../../../src/queries/penalties/player-record.ts';
import { Facts } from '../layout/facts.tsx';
import { Icon } from '../layout/icons.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { FullMoment, Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { textsOf } from '../locales/texts.ts';
import { tryParseRowId } from '../request/numbers.ts';
import type { Visit } from '../request/visit.ts';
import { AdminName, EndOfPenalty, lengthOf, numberedType, ReasonText, withoutEnd } from './penalty-words.tsx';

/** The path of a penalty's page. */
type PathOfPenalty = (penalty: { id: number }) => string;

type StepOfPenalty = (penalty: { id: number }) => Child;

/** The query parameter with the page number of a record. */
const RECORD_PAGE_PARAMETER = 'record';
const PENALTIES_PER_PAGE = 10;

type RecordProps = {
  record: PlayerRecord;
  visit: Visit;
  /** The path of the page that shows the record, without query. */
  path: string;
  /** The page of a penalty, on pages of those who may open it. */
  pathOfPenalty?: PathOfPenalty;
  /** Linked below the active penalties. */
  appealUrl?: string | undefined;
  /** What the player can do about an active penalty. */
  stepOf?: StepOfPenalty;
};

/** Loads the page of a player's record that the query selects. */
export function readRecordPage(
  db: RequestDb,
  steamId64: SteamId64,
  { url, now }: Visit,
): Promise<PlayerRecord> {
  return loadPlayerRecord(db, steamId64, {
    page: tryParseRowId(url.searchParams.get(RECORD_PAGE_PARAMETER)) ?? 1,
    perPage: PENALTIES_PER_PAGE,
    now,
  });
}

/** A page of a player's record: the penalty that counts most, the other active ones, then ended ones. */
export function PlayerRecordView(props: RecordProps): JSX.Element {
  const { record, visit, path, pathOfPenalty, appealUrl, stepOf } = props;
  const t = textsOf(visit.language).penalties;
  const lead = record.page === 1 ? findLead(record.activeRows) : undefined;
  const otherRows = record.rows.filter(({ id, status }) => status === 'ACTIVE' && id !== lead?.id);
  const activeRows = lead ? [lead, ...otherRows] : otherRows;
  const endedRows = record.rows.filter(({ status }) => status !== 'ACTIVE');
  const isAnythingActive = Object.values(record.active).some((count) => count > 0);
  return (
    <>
      {record.total === 0 && <p class="empty">{t.clean}</p>}
      {record.total > 0 && !isAnythingActive && <p class="lead">{t.noneActive}</p>}
      {activeRows.length > 0 && (
        <ul class="penalties">
          {activeRows.map((penalty) => (
            <ActivePenalty penalty={penalty} pathOf={pathOfPenalty} step={stepOf?.(penalty)} visit={visit} />
          ))}
        </ul>
      )}
      {activeRows.length > 0 && appealUrl !== undefined && (
        <p>
          <a class="button button-primary" href={appealUrl} rel="noreferrer noopener">
            {t.appeal}
          </a>
        </p>
      )}
      {endedRows.length > 0 && <h3 class="minor">{t.ended}</h3>}
      <ListTable
        rows={endedRows}
        columns={[
          [
            t.columns.type,
            (penalty) => (
              <>
                {pathOfPenalty ? (
                  <a href={pathOfPenalty(penalty)}>{numberedType(penalty, t)}</a>
                ) : (
                  t.types[penalty.type]
                )}{' '}
                <span class="hint">{lengthOf(penalty, visit)}</span>
              </>
            ),
          ],
          [t.columns.reason, ({ reason }) => <ReasonText reason={reason} visit={visit} />, 'list-words'],
          [t.columns.admin, (penalty) => <AdminName penalty={penalty} visit={visit} />, 'list-words'],
          [t.columns.server, (penalty) => <bdi>{serverNameOf(penalty) ?? t.noServer}</bdi>, 'list-words'],
          [t.columns.issued, ({ createdAt }) => <Moment at={createdAt} visit={visit} />],
          [t.columns.end, (penalty) => <EndOfPenalty penalty={penalty} visit={visit} />, 'list-words'],
        ]}
      />
      <PagesNav
        visit={visit}
        page={record.page}
        lastPage={record.lastPage}
        parameter={RECORD_PAGE_PARAMETER}
        path={path}
        card="penalties"
      />
    </>
  );
}

type ActiveProps = {
  penalty: RecordedPenalty;
  pathOf: PathOfPenalty | undefined;
  step: Child;
  visit: Visit;
};

/** An active penalty: type and end as the heading, then reason, admin, server and date. */
function ActivePenalty({ penalty, pathOf, step, visit }: ActiveProps): JSX.Element {
  const t = textsOf(visit.language).penalties;
  return (
    <li class={`penalty penalty-${penalty.type}`}>
      <p class="penalty-heading">
        <Icon name={penalty.type === 'ban' ? 'forbidden' : 'warning'} />
        <strong>
          {t.inForce[penalty.type]}{' '}
          {penalty.endsAt ? (
            <>
              {t.until(penalty.type)} <FullMoment at={penalty.endsAt} visit={visit} />
            </>
          ) : (
            withoutEnd(penalty, visit)
          )}
        </strong>
        {penalty.endsAt && (
          <span class="hint">
            (<Moment at={penalty.endsAt} visit={visit} />)
          </span>
        )}
        {pathOf && <a href={pathOf(penalty)}>#{penalty.id}</a>}
      </p>
      <Facts
        class="facts facts-inline"
        facts={[
          [t.columns.reason, <ReasonText reason={penalty.reason} visit={visit} />],
          [t.columns.admin, <AdminName penalty={penalty} visit={visit} />],
          [t.columns.server, <bdi>{serverNameOf(penalty) ?? t.noServer}</bdi>],
          [t.columns.duration, penalty.endsAt && lengthOf(penalty, visit)],
          [t.columns.issued, <Moment at={penalty.createdAt} visit={visit} />],
        ]}
      />
      {step}
    </li>
  );
}
