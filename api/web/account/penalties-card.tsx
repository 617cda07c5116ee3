import type { HtmlEscapedString } from 'hono/utils/html';
import type { Db } from '../../../src/db/client.ts';
import { Card } from '../layout/card.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { PlayerRecordView, readRecordPage } from '../penalties/player-record-view.tsx';
import type { MemberVisit } from '../request/visit.ts';

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
  const record = await readRecordPage(deps.db, visit.user.steamId64, visit);
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
