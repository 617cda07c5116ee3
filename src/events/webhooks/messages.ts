import { type EventCursor, formatEventCursor } from '../../domain/penalty-event.ts';
import { formatMessageId, generateTestMessageId, TEST_TYPE } from '../../domain/webhook.ts';
import type { PenaltyEvent } from '../../queries/penalties/events.ts';
import type { Message } from './send.ts';

/** Builds the object that `/penalties/changes` shows for an event. */
export type PresentEvent = (event: PenaltyEvent, cursor: string) => { occurred_at: string };

/** Each event is serialised once, however many endpoints receive it. */
const texts = new WeakMap<PenaltyEvent, string>();

/** The message about an event: the same for every attempt and every manual repetition. */
export function eventMessage(
  present: PresentEvent,
  { webhookId, epoch, event }: { webhookId: number; epoch: string; event: PenaltyEvent },
): Message {
  const cursor: EventCursor = { epoch, id: event.id };
  const text = texts.get(event) ?? textOf(event, present(event, formatEventCursor(cursor)));
  texts.set(event, text);
  return { id: formatMessageId(webhookId, cursor), type: event.type, text };
}

function textOf({ type }: PenaltyEvent, data: ReturnType<PresentEvent>): string {
  return JSON.stringify({ type, timestamp: data.occurred_at, data });
}

/** `2026-11-21T10:00:00+00:00`: the form of `occurred_at`, by which the messages about events are dated. */
function toWholeSeconds(at: Date): string {
  return `${at.toISOString().slice(0, 19)}+00:00`;
}

/** A message without data that tests whether an endpoint can be reached. */
export function testMessage(webhookId: number, now: Date): Message {
  return {
    id: generateTestMessageId(webhookId),
    type: TEST_TYPE,
    text: JSON.stringify({ type: TEST_TYPE, timestamp: toWholeSeconds(now), data: {} }),
  };
}
