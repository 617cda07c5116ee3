import type { JSX } from 'hono/jsx/jsx-runtime';
import { serverNameOf } from '../../../src/domain/penalty.ts';
import type { RecordedPenalty } from '../../../src/queries/penalties/player-record.ts';
import { Icon } from '../layout/icons.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment, Moment } from '../layout/moment.tsx';
import type { Visit } from '../request/visit.ts';
import { AdminName, lengthOf, ReasonText, withoutEnd } from './penalty-words.tsx';

/** The path of a penalty's page. */
export type PathOfPenalty = (penalty: { id: number }) => string;

type ActiveProps = {
  penalty: RecordedPenalty;
  /** Absent where nobody may open that page. */
  pathOf?: PathOfPenalty | undefined;
  visit: Visit;
};

/** An active penalty: type and end as the heading, then reason, admin, server and date. */
export function ActivePenalty({ penalty, pathOf, visit }: ActiveProps): JSX.Element {
  const t = textsOf(visit.locale).penalties;
  return (
    <li class={`penalty penalty-${penalty.type}`}>
      <p class="penalty-heading">
        <Icon name={penalty.type === 'ban' ? 'forbidden' : 'warning'} />
        <strong>
          {t.inForce[penalty.type]}{' '}
          {penalty.endsAt ? (
            <>
              {t.until} <FullMoment at={penalty.endsAt} locale={visit.locale} />
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
      <dl class="facts facts-inline">
        <dt>{t.columns.reason}</dt>
        <dd>
          <ReasonText reason={penalty.reason} visit={visit} />
        </dd>
        <dt>{t.columns.admin}</dt>
        <dd>
          <AdminName penalty={penalty} visit={visit} />
        </dd>
        <dt>{t.columns.server}</dt>
        <dd>
          <bdi>{serverNameOf(penalty) ?? t.allServers}</bdi>
        </dd>
        {penalty.endsAt && (
          <>
            <dt>{t.columns.duration}</dt>
            <dd>{lengthOf(penalty, visit)}</dd>
          </>
        )}
        <dt>{t.columns.issued}</dt>
        <dd>
          <Moment at={penalty.createdAt} visit={visit} />
        </dd>
      </dl>
    </li>
  );
}
