import type { JSX } from 'hono/jsx/jsx-runtime';
import type { ListedAppeal } from '../../../src/queries/appeals/queue.ts';
import { Card } from '../layout/card.tsx';
import { Moment } from '../layout/moment.tsx';
import { textsOf } from '../locales/texts.ts';
import { AppealState } from '../penalties/appeal-conversation.tsx';
import { numberedType } from '../penalties/penalty-words.tsx';
import type { UserVisit } from '../request/visit.ts';
import { pathOfTab } from './frame.tsx';

/** The path of an appeal: of the visitor's own one the page of its player, since nobody handles their own as staff. */
export function pathOfAppeal(
  { id, playerSteamId }: ListedAppeal['appeal'],
  { user }: Pick<UserVisit, 'user'>,
): string {
  return playerSteamId === user.steamId64 ? `/account/appeals/${id}` : `${pathOfTab('appeals')}/${id}`;
}

/** The appeals against a penalty or of a player; null without any. */
export function AppealsCard({
  rows,
  visit,
}: {
  rows: readonly ListedAppeal[];
  visit: UserVisit;
}): JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <Card id="appeals" title={textsOf(visit.language).appeals.title} icon="shield">
      <AppealLinks rows={rows} visit={visit} />
    </Card>
  );
}

/** Appeals with their states, each a link. */
export function AppealLinks({
  rows,
  visit,
}: {
  rows: readonly ListedAppeal[];
  visit: UserVisit;
}): JSX.Element {
  const { appeals: t, penalties } = textsOf(visit.language);
  return (
    <ul class="short-list">
      {rows.map(({ appeal, penalty }) => (
        <li>
          <a href={pathOfAppeal(appeal, visit)}>
            {penalty ? t.newTitle(numberedType(penalty, penalties)) : t.against(appeal.penaltyId)}
          </a>{' '}
          <AppealState appeal={appeal} isForStaff visit={visit} />
          <span class="hint">
            <Moment at={appeal.decidedAt ?? appeal.openedAt} visit={visit} />
          </span>
        </li>
      ))}
    </ul>
  );
}
