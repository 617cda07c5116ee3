import { t } from 'elysia';
import { LimitReached } from '../../../src/domain/errors.ts';
import {
  EVENT_TYPES,
  type EventType,
  formatEventCursor,
  isServerEvent,
  PENALTY_EVENT_TYPES,
  PUBLIC_EVENT_TYPES,
  parseEventTypes,
} from '../../../src/domain/event.ts';
import { splitList } from '../../../src/domain/text/list.ts';
import { presentChange } from '../../../src/events/penalty-payload.ts';
import { type ChangePage, cursorGone } from '../../../src/queries/events.ts';
import type { ApiToken } from '../../../src/queries/users/api-tokens.ts';
import { defineFailure, scopeMissing } from '../../http/documented-failures.ts';
import { optional, type Parameter } from '../../http/parameters.ts';
import { requireScope } from '../../http/pipeline.ts';
import { splitQuery } from '../../http/query.ts';
import { unreadStream } from '../../http/responses.ts';
import { protectedRoute } from '../../http/route-definition.ts';
import { namedObject, oneOf, strictObject, successModel, TimestampModel } from '../models.ts';
import { limitParameter } from '../parameters.ts';
import { PenaltyWithLiftModel } from '../penalties/penalty-models.ts';
import { type EventStreams, MAX_STREAMS } from './event-streams.ts';

const CursorModel = t.String({
  description: 'A position in the order of changes; opaque.',
  examples: ['5f0c9a1b-4211'],
});

const changeFields = {
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
};
const ChangeModel = namedObject('PenaltyChange', changeFields, 'The penalty is as it was after the change.');

const ChangesModel = successModel('PenaltyChanges', {
  data: t.Array(ChangeModel),
  meta: strictObject({
    cursor: CursorModel,
    has_more: t.Boolean({
      description: 'Whether there are more changes after this cursor.',
      examples: [false],
    }),
  }),
});

const EventStreamModel = t.String({
  $id: 'EventStream',
  description:
    'Server-sent events. For penalties, `id` is the cursor and `data` a PenaltyChange. Other events have no `id`: for servers, `data` is `{"type", "occurred_at", "server"}`; for a round-end sound that was published, replaced or removed, `{"type", "occurred_at", "steamid64", "has_sound", "v", "voice_v"}`, where `v` is that of the URL and `voice_v` that of the voice URL, or null. A comment every 15 seconds keeps the connection open.',
  examples: [
    'id: 5f0c9a1b-4211\nevent: penalty.created\ndata: {"cursor":"5f0c9a1b-4211","type":"penalty.created","occurred_at":"2026-11-21T10:00:00+00:00","penalty":{"id":4211}}\n\n',
  ],
});

const EVENT_STREAM = 'text/event-stream';

const CURSOR_PARAMETER = {
  name: 'cursor',
  description:
    'Where to continue: the cursor from an export or from the previous response. Without it, the response has no changes and the current cursor.',
  example: '5f0c9a1b-4211',
  parse: (text: string | undefined) => text,
} as const satisfies Parameter<string | undefined>;

const LIMIT_PARAMETER = limitParameter('limit', {
  what: 'Maximum number of changes',
  defaultLimit: 100,
  maximum: 500,
});

const TYPES_PARAMETER = {
  name: 'types',
  aliases: ['event', 'events', 'event_type', 'event_types'],
  description: `Comma-separated: ${EVENT_TYPES.join(', ')}. With a token, server events need the scope \`servers\`. By default, all that the token may see.`,
  example: 'penalty.created,penalty.lifted',
  refused: 'penalty.kicked',
  parse: optional((text) => parseEventTypes(text, EVENT_TYPES, 'types')),
} as const satisfies Parameter<ReadonlySet<EventType> | undefined>;

const LAST_EVENT_ID_PARAMETER = {
  in: 'header',
  name: 'Last-Event-ID',
  description:
    'The cursor after which the stream begins: the id of the last event that the client received. Without it, the stream has what happens from now on.',
  example: CURSOR_PARAMETER.example,
  parse: (text: string | undefined) => text,
} as const satisfies Parameter<string | undefined>;

const CURSOR_GONE = defineFailure(
  'CursorGone',
  'The cursor is unknown, or older than 30 days: export again.',
  cursorGone,
);
const TOO_MANY_STREAMS = defineFailure(
  'TooManyStreams',
  `The token's owner has ${MAX_STREAMS.owner} streams open.`,
  () => new LimitReached(`At most ${MAX_STREAMS.owner} event streams at once: close one first`, 5),
);
const TOO_MANY_GUEST_STREAMS = defineFailure(
  'TooManyGuestStreams',
  `Without a token: the address has ${MAX_STREAMS.address} streams open, or all addresses together ${MAX_STREAMS.guests}.`,
  () =>
    new LimitReached(
      `At most ${MAX_STREAMS.address} event streams of an address, and ${MAX_STREAMS.guests} of all, without a token`,
      5,
    ),
);

type ChangesDeps = {
  /** @throws {Gone} for a cursor that cannot be resumed from. */
  listChanges: (cursor: string | undefined, limit: number) => Promise<ChangePage>;
};

export const listPenaltyChanges = protectedRoute({
  path: '/penalties/changes',
  id: 'listPenaltyChanges',
  tag: 'Events',
  summary: 'Changes of penalties since a cursor',
  description:
    'Oldest first, in the order in which they were committed. An export followed by the changes from its cursor on misses nothing and repeats nothing. Changes are kept for 30 days.',
  isExtension: true,
  scope: 'penalties',
  parameters: { cursor: CURSOR_PARAMETER, limit: LIMIT_PARAMETER },
  success: { model: ChangesModel },
  failures: [CURSOR_GONE],
  handle: async ({ listChanges }: ChangesDeps, { cursor, limit }) => {
    const { epoch, changes, newestId, hasMore } = await listChanges(cursor, limit);
    return {
      json: {
        success: true,
        data: changes.map((change) => presentChange(change, { epoch })),
        meta: { cursor: formatEventCursor({ epoch, id: newestId }), has_more: hasMore },
      },
    };
  },
});

type StreamDeps = {
  eventStreams: EventStreams;
  /** The id of a cursor's event; without a cursor, of the newest. @throws {Gone} for one that cannot be resumed from. */
  locateEvent: (cursor: string | undefined) => Promise<number>;
};

export const streamEvents = protectedRoute({
  path: '/events',
  id: 'streamEvents',
  tag: 'Events',
  summary: 'Events as they happen',
  description: `Server-sent events. A client is disconnected when it has had 1 MB unread for five seconds, when its token is revoked or expires, or when the owner is blocked. A stream of nothing but ${PUBLIC_EVENT_TYPES.join(', ')} needs no token.`,
  isExtension: true,
  scope: 'events',
  parameters: { types: TYPES_PARAMETER, lastEventId: LAST_EVENT_ID_PARAMETER },
  // A proxy that compresses may hold the last events of a burst until more bytes follow.
  cacheControl: 'private, no-cache, no-transform',
  success: {
    model: EventStreamModel,
    contentType: EVENT_STREAM,
    headers: {
      'X-Accel-Buffering': {
        description: 'Tells nginx to pass events on at once.',
        schema: { type: 'string', enum: ['no'] },
        example: 'no',
      },
    },
  },
  failures: [scopeMissing('servers'), CURSOR_GONE, TOO_MANY_STREAMS, TOO_MANY_GUEST_STREAMS],
  handle: async ({ eventStreams, locateEvent }: StreamDeps, { types, lastEventId }, { token, isHead }) => {
    const streamTypes = typesFor(token, types);
    const afterId = await locateEvent(lastEventId);
    if (isHead) return streamOf(unreadStream());
    const { id: tokenId, userId: owner } = token;
    if (eventStreams.countOf(owner) >= MAX_STREAMS.owner) throw TOO_MANY_STREAMS.error();
    return streamOf(eventStreams.open({ owner, tokenId, types: streamTypes, afterId }));
  },
  guests: ({ eventStreams }) => ({
    isFor: (request) => isPublic(splitList(splitQuery(request.url).getAll('types').at(-1) ?? '')),
    work: ({ types = new Set<EventType>() }, { address: owner, isHead }) => {
      if (isHead) return streamOf(unreadStream());
      const isFull =
        eventStreams.countOf(owner) >= MAX_STREAMS.address ||
        eventStreams.countGuests() >= MAX_STREAMS.guests;
      if (isFull) throw TOO_MANY_GUEST_STREAMS.error();
      return streamOf(eventStreams.open({ owner, tokenId: undefined, types }));
    },
  }),
});

function streamOf(stream: ReadableStream) {
  return { contentType: EVENT_STREAM, headers: { 'X-Accel-Buffering': 'no' }, stream };
}

function isPublic(types: readonly string[]): boolean {
  const publicTypes: readonly string[] = PUBLIC_EVENT_TYPES;
  return types.length > 0 && types.every((type) => publicTypes.includes(type));
}

export type EventsDeps = ChangesDeps & StreamDeps;

/**
 * The event types of a stream: those requested, by default all that the token's scopes allow.
 * @throws {Forbidden} when a requested type needs a scope that the token lacks.
 */
function typesFor(
  token: Pick<ApiToken, 'scopes'>,
  requested: ReadonlySet<EventType> | undefined,
): ReadonlySet<EventType> {
  if (requested === undefined) {
    const mayFollowServers = token.scopes.includes('servers');
    return new Set(EVENT_TYPES.filter((type) => mayFollowServers || !isServerEvent(type)));
  }
  if ([...requested].some(isServerEvent)) requireScope(token, 'servers');
  return requested;
}
