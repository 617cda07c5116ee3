import { InvalidInput } from './errors.ts';
import { splitList } from './text/list.ts';

/** What can happen to a penalty. `penalty.removed`: it vanished from its source, or was deleted. */
export const PENALTY_EVENT_TYPES = [
  'penalty.created',
  'penalty.changed',
  'penalty.lifted',
  'penalty.expired',
  'penalty.removed',
] as const;
export type PenaltyEventType = (typeof PENALTY_EVENT_TYPES)[number];

/** The events of the outbox: webhooks receive them, and streams resume from them. */
export const STORED_EVENT_TYPES = PENALTY_EVENT_TYPES;
export type StoredEventType = (typeof STORED_EVENT_TYPES)[number];

/** Everybody may follow these in a stream. They are stored nowhere. */
export const PUBLIC_EVENT_TYPES = [
  'server.up',
  'server.down',
  'server.map',
  'server.players',
  'sound.changed',
] as const;

/** The events of a stream. */
export const EVENT_TYPES = [...STORED_EVENT_TYPES, ...PUBLIC_EVENT_TYPES] as const;
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
