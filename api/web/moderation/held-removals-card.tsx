import type { JSX } from 'hono/jsx/jsx-runtime';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import { USER_FLAG_NAMES, USER_FLAGS } from '../../../src/domain/rights/user-flags.ts';
import type { HeldRemovals } from '../../../src/queries/held-removals.ts';
import { Card } from '../layout/card.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { Moment } from '../layout/moment.tsx';
import { textsOf } from '../locales/texts.ts';
import type { UserVisit } from '../request/visit.ts';

/** What is held back because a source suddenly lacks it, for administrators; null for others, and when nothing is. */
export function HeldRemovalsCard({
  removals,
  visit,
}: {
  removals: readonly HeldRemovals[];
  visit: UserVisit;
}): JSX.Element | null {
  const held = removals.filter(({ kind }) => kind !== 'tables');
  if (held.length === 0 || !isAdministrator(visit.user)) return null;
  const { account, moderation } = textsOf(visit.language);
  const { title, lead, columns } = moderation.held;
  const nameOf = ({ kind, subject }: HeldRemovals) => {
    const flag = USER_FLAG_NAMES.find((name) => name === subject);
    return kind === 'flags' && flag ? account.badges[USER_FLAGS[flag]] : subject;
  };
  return (
    <Card id="held-removals" title={title} icon="warning">
      <p class="lead">{lead}</p>
      <ListTable
        rows={held}
        columns={[
          [columns.name, ({ system }) => system],
          [columns.what, nameOf],
          [columns.removals, (removal) => removal.removals],
          [columns.since, ({ since }) => <Moment at={since} visit={visit} />],
        ]}
      />
    </Card>
  );
}
