import { InvalidInput } from './errors.ts';
import { splitList } from './text/list.ts';

/** What a feed in a Discord channel is about. */
export const FEED_SUBJECTS = ['penalties', 'servers', 'appeals'] as const;
export type FeedSubject = (typeof FEED_SUBJECTS)[number];

/** Who gets an event of the outbox. */
type Destination = 'streams' | 'webhooks' | `${FeedSubject}-feeds`;
const EVERYWHERE = ['streams', 'webhooks', 'penalties-feeds'] as const;
const APPEALS = ['webhooks', 'appeals-feeds'] as const;

/** The events of the outbox, and where each type goes. `penalty.removed`: it vanished from its source, or was deleted. */
const STORED_EVENTS = {
  'penalty.created': EVERYWHERE,
  'penalty.changed': EVERYWHERE,
  'penalty.lifted': EVERYWHERE,
  'penalty.expired': EVERYWHERE,
  'penalty.removed': EVERYWHERE,
  'appeal.opened': APPEALS,
  'appeal.answered': APPEALS,
  'appeal.decided': APPEALS,
} as const satisfies Record<string, readonly Destination[]>;
export type StoredEventType = keyof typeof STORED_EVENTS;
export const STORED_EVENT_TYPES = Object.keys(STORED_EVENTS) as [StoredEventType, ...StoredEventType[]];

type TypesFor<To extends Destination> = {
  [Type in StoredEventType]: To extends (typeof STORED_EVENTS)[Type][number] ? Type : never;
}[StoredEventType];

function listTypesFor<To extends Destination>(destination: To): TypesFor<To>[] {
  const goesThere = (type: StoredEventType): type is TypesFor<To> =>
    STORED_EVENTS[type].some((each: Destination) => each === destination);
  return STORED_EVENT_TYPES.filter(goesThere);
}

export type PenaltyEventType = Extract<StoredEventType, `penalty.${string}`>;
/** The types of changes of penalties: those of `/penalties/changes`, and of a webhook without chosen types. */
export const PENALTY_EVENT_TYPES = STORED_EVENT_TYPES.filter(isPenaltyEvent);

/** Whether events of this type are changes of penalties. */
export function isPenaltyEvent(type: StoredEventType): type is PenaltyEventType {
  return type.startsWith('penalty.');
}

/** Whether events of this type are about appeals, which exist only with `APPEALS=1`. */
export function isAppealEvent(type: StoredEventType): boolean {
  return type.startsWith('appeal.');
}

export const WEBHOOK_EVENT_TYPES = listTypesFor('webhooks');
export const STREAM_EVENT_TYPES = listTypesFor('streams');

/** The types that feeds of a subject follow: the first begins a message, the others change it. */
export function listFeedTypes(subject: FeedSubject): StoredEventType[] {
  return listTypesFor(`${subject}-feeds`);
}

/** Everybody may follow these in a stream. They are not stored, or a stream would send them twice. */
export const PUBLIC_EVENT_TYPES = [
  'server.up',
  'server.down',
  'server.map',
  'server.players',
  'sound.changed',
] as const;

/** The events of a stream. */
export const EVENT_TYPES = [...STREAM_EVENT_TYPES, ...PUBLIC_EVENT_TYPES] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Whether a token needs the scope `servers` to follow events of this type. */
export function isServerEvent(type: EventType): boolean {
  return type.startsWith('server.');
}

/**
 * Reads a comma-separated list of types and removes duplicates.
 * @param allowed the types that the caller knows.
 * @param name what the error message calls the value.
 * @throws {InvalidInput} for an unknown type and for an empty list.
 */
export function parseEventTypes<Type extends string>(
  text: string,
  allowed: readonly Type[],
  name: string,
): ReadonlySet<Type> {
  const use = `use any of ${allowed.join(', ')}, separated by commas`;
  const types = splitList(text).map((value) => {
    const type = allowed.find((each) => each === value);
    if (type) return type;
    throw new InvalidInput(`${name} ${JSON.stringify(value.slice(0, 64))} isn't valid: ${use}`);
  });
  if (types.length === 0) throw new InvalidInput(`${name} is empty: ${use}`);
  return new Set(types);
}

/** A position in the sequence of events, as clients see it: `EPOCH-NUMBER`. */
export type EventCursor = { epoch: string; id: number };

/** The text that {@link tryParseEventCursor} reads. */
export function formatEventCursor({ epoch, id }: EventCursor): string {
  return `${epoch}-${id}`;
}

/** @returns undefined for a text that is not a cursor. */
export function tryParseEventCursor(text: string): EventCursor | undefined {
  const match = /^([0-9a-f]{8})-(0|[1-9][0-9]{0,14})$/.exec(text);
  return match ? { epoch: match[1] ?? '', id: Number(match[2]) } : undefined;
}
