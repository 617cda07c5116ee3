import type { EventType } from './event-models.ts';

/** An event as it is sent; without `id` when a stream cannot resume from it. */
export type StreamedEvent = { type: EventType; id?: string; data: unknown };

/** The frame of an event. */
export function eventFrame({ type, id, data }: StreamedEvent): Uint8Array {
  return encode(`${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** The first frame: a client that reconnects before its first event resumes from this cursor. */
export function openingFrame(cursor: string): Uint8Array {
  return encode(`retry: 3000\nid: ${cursor}\n\n`);
}

/** A comment, with the cursor from which a client that reconnects resumes. */
export function keepAliveFrame(cursor: string): Uint8Array {
  return encode(`: keep-alive\nid: ${cursor}\n\n`);
}

const encoder = new TextEncoder();
const encode = (text: string) => encoder.encode(text);
