import { t } from 'elysia';
import { PENALTY_EVENT_TYPES } from '../../../src/domain/event.ts';
import { oneOf, STRICT, successModel, TimestampModel } from '../models.ts';
import { PenaltyWithLiftModel } from '../penalties/penalty-models.ts';

const CursorModel = t.String({
  description: 'A position in the order of changes; opaque.',
  examples: ['5f0c9a1b-4211'],
});

const ChangeModel = t.Object(
  {
    cursor: CursorModel,
    type: oneOf(PENALTY_EVENT_TYPES),
    occurred_at: TimestampModel,
    penalty: PenaltyWithLiftModel,
    is_deleted: t.Optional(
      t.Literal(true, {
        description:
          'Only with penalty.removed: the record is no longer in any list. When absent, the record is gone at its source but stays listed.',
      }),
    ),
  },
  { ...STRICT, $id: 'PenaltyChange', description: 'The penalty is as it was after the change.' },
);

export const ChangesModel = successModel('PenaltyChanges', {
  data: t.Array(ChangeModel),
  meta: t.Object(
    {
      cursor: CursorModel,
      has_more: t.Boolean({
        description: 'Whether there are more changes after this cursor.',
        examples: [false],
      }),
    },
    STRICT,
  ),
});

export const EventStreamModel = t.String({
  $id: 'EventStream',
  description:
    'Server-sent events. For penalties, `id` is the cursor and `data` a PenaltyChange. Other events have no `id`: for servers, `data` is `{"type", "occurred_at", "server"}`; for a round-end sound that was published, replaced or removed, `{"type", "occurred_at", "steamid64", "has_sound", "v"}`, where `v` is that of the URL, or null. A comment every 15 seconds keeps the connection open.',
  examples: [
    'id: 5f0c9a1b-4211\nevent: penalty.created\ndata: {"cursor":"5f0c9a1b-4211","type":"penalty.created","occurred_at":"2026-11-21T10:00:00+00:00","penalty":{"id":4211}}\n\n',
  ],
});
