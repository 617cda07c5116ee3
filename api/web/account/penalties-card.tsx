import type { HtmlEscapedString } from 'hono/utils/html';
import type { Db } from '../../../src/db/client.ts';
import { loadPlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { Card } from '../layout/card.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import {
  PENALTIES_PER_PAGE,
  PlayerRecordView,
  RECORD_PAGE_PARAMETER,
} from '../penalties/player-record-view.tsx';
import { tryParseRowId } from '../visit/numbers.ts';
import type { MemberVisit } from '../visit/visit.ts';

export type PenaltiesDeps = {
  db: Db;
  /** Where players can appeal a penalty. */
  appealUrl: string | undefined;
};

/** The member's own penalties. */
export async function PenaltiesCard({
  deps,
  visit,
}: {
  deps: PenaltiesDeps;
  visit: MemberVisit;
}): Promise<HtmlEscapedString> {
  const t = textsOf(visit.locale).penalties;
  const record = await loadPlayerRecord(deps.db, visit.user.steamId64, {
    page: tryParseRowId(visit.url.searchParams.get(RECORD_PAGE_PARAMETER)) ?? 1,
    perPage: PENALTIES_PER_PAGE,
    now: visit.now,
  });
  return (
    <Card
      id="penalties"
      title={t.own}
      icon="shield"
      {...(record.total > 0 && { aside: t.count(record.total) })}
    >
      <PlayerRecordView
        record={record}
        visit={visit}
        path="/account"
        words={{ clean: t.ownClean, noneActive: t.ownNoneActive }}
        appealUrl={deps.appealUrl}
      />
    </Card>
  );
}
