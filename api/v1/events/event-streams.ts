import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isDatabaseOutage } from '../../../src/db/client.ts';
import {
  type EventType,
  formatEventCursor,
  STREAM_EVENT_TYPES,
  type StoredEventType,
} from '../../../src/domain/event.ts';
import { type EventReader, readEventBatch } from '../../../src/events/event-reader.ts';
import { presentEvent } from '../../../src/events/penalty-payload.ts';
import type { StoredEvent } from '../../../src/queries/events.ts';
import type { OpenResponse } from '../../http/authentication.ts';

type Options = {
  /** Whose streams are counted together: the id of the token's owner, or a guest's address. */
  owner: number | string;
  /** Undefined for a guest, who gets neither penalties nor cursors. */
  tokenId: number | undefined;
  types: ReadonlySet<EventType | StoredEventType>;
  /** The id of the event after which the stream begins; by default the newest. */
  afterId?: number;
};

type Deps = {
  reader: EventReader;
  /** Events of some types after one id and up to another, oldest first, without silent ones. @param range.owner who asks. */
  listEvents: (
    afterId: number,
    range: {
      owner: Options['owner'];
      upToId: number;
      types: readonly StoredEventType[];
      limit: number;
    },
  ) => Promise<StoredEvent[]>;
  log: Logger;
  /** For tests; {@link KEEP_ALIVE_MS} by default. */
  keepAliveMs?: number;
  /** For tests: a monotonic clock and how to wait by it. */
  clockMs?: () => number;
  wait?: (ms: number) => Promise<unknown>;
};

/**
 * A client with more in its queue must read within {@link ROOM_LIMIT_MS}, or is disconnected. Bun holds as much again, which
 * it has taken from the queue and not yet written: together 1 MB.
 */
const MAX_BUFFERED_BYTES = 400_000;
const ROOM_LIMIT_MS = 5000;
const ROOM_CHECK_MS = 50;
export const KEEP_ALIVE_MS = 15_000;
const BATCH = 500;
/** Events are joined into chunks of this size: queued one by one, they take 50 % more memory. */
const PIECE_BYTES = 16_000;
/** An owner's streams together read this often: 2,000 older events a second, or their replays would slow everybody down. */
const BATCH_EVERY_MS = 250;
/** How many streams are written to before other requests are served: about half a millisecond of work. */
const GROUP = 20;
/** Open streams in one process: of one owner; of guests at one address, and of all guests. */
export const MAX_STREAMS = { owner: 5, address: 2, guests: 500 };

class ClientTooSlow extends Error {
  override name = 'ClientTooSlow';
}

type Stream = Options & {
  controller: ReadableStreamDefaultController<Uint8Array>;
  /** Equal for streams of the same event types. */
  key: string;
  /** The id of the last event that was sent or skipped. */
  position: number;
  /** Whether it still reads older events from the database; afterwards it gets each event as the reader finds it. */
  isCatchingUp: boolean;
};

/** Frames of events that are sent together, from the first event to the last. */
type Piece = { first: StoredEvent; last: StoredEvent; bytes: Uint8Array };

/** The open event streams of a process. */
export type EventStreams = {
  open: (options: Options) => ReadableStream;
  /** Streams that an owner, or a guest's address, has open. */
  countOf: (owner: number | string) => number;
  countGuests: () => number;
  count: () => number;
  /** Sends an event that is not stored to the streams open now. */
  send: (event: StreamedEvent) => void;
  listOpen: () => OpenResponse[];
  /** Called when a player is erased: clients reconnect and read from the database what they have not received yet. */
  abortAll: () => void;
  /** Ends all streams once their clients have read what was sent. */
  closeAll: () => void;
  stop: () => void;
};

/**
 * Creates the streams, none open yet. Events are serialised once for all streams of the same types.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function createEventStreams({
  reader,
  listEvents,
  log,
  keepAliveMs = KEEP_ALIVE_MS,
  clockMs = () => performance.now(),
  wait = pause,
}: Deps): EventStreams {
  const streams = new Set<Stream>();
  /** When the next batch of older events may be read, by owner. */
  const nextBatchAtMs = new Map<Stream['owner'], number>();

  const frameOf = (event: StoredEvent): Uint8Array => {
    const data = presentEvent(event, reader);
    return eventFrame({ type: event.type, id: data.cursor, data });
  };

  /** The position of a stream, from which its client may resume; undefined for a guest. */
  const cursorOf = ({ tokenId, position }: Stream) =>
    tokenId === undefined ? undefined : formatEventCursor({ epoch: reader.epoch, id: position });

  function open(options: Options): ReadableStream {
    let stream: Stream | undefined;
    return new ReadableStream(
      {
        start: (controller) => {
          const position = options.afterId ?? reader.newestId();
          const key = [...options.types].sort().join();
          stream = { ...options, controller, key, position, isCatchingUp: true };
          streams.add(stream);
          controller.enqueue(cursorFrame('retry: 3000', cursorOf(stream)));
          void catchUp(stream);
        },
        cancel: () => {
          if (stream) streams.delete(stream);
        },
      },
      // Bun allocates a buffer of this size for each response, and never frees the part that was used.
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    );
  }

  async function catchUp(stream: Stream): Promise<void> {
    try {
      await roomIn(stream);
      while (streams.has(stream) && stream.position < reader.newestId()) await sendOlder(stream);
      stream.isCatchingUp = false;
    } catch (error) {
      if (!(error instanceof ClientTooSlow || isDatabaseOutage(error)))
        log.error({ err: error }, 'an event stream failed');
      // The client reconnects and resumes.
      abort(stream);
    }
  }

  async function awaitTurn({ owner }: Stream): Promise<void> {
    const nowMs = clockMs();
    const atMs = Math.max(nextBatchAtMs.get(owner) ?? nowMs, nowMs);
    nextBatchAtMs.set(owner, atMs + BATCH_EVERY_MS);
    if (atMs > nowMs) await wait(atMs - nowMs);
  }

  async function sendOlder(stream: Stream): Promise<void> {
    const types = STREAM_EVENT_TYPES.filter((type) => stream.types.has(type));
    if (types.length === 0) {
      stream.position = reader.newestId();
      return;
    }
    await awaitTurn(stream);
    const { events, isStale, readUpTo } = await readEventBatch(
      { afterId: stream.position, newestId: reader.newestId(), limit: BATCH },
      (range) => listEvents(stream.position, { ...range, owner: stream.owner, types }),
    );
    for (const { first, last, bytes } of joinFrames(events)) {
      if (!streams.has(stream) || isStale(first)) return;
      stream.position = last.id;
      stream.controller.enqueue(bytes);
      await roomIn(stream);
    }
    stream.position = readUpTo;
  }

  let sending = Promise.resolve();

  /** Sends to the streams in groups, so that other requests are served in between. */
  function sendLive(send: (stream: Stream) => void, isMeant = isLive): void {
    sending = sending.then(async () => {
      let streamCount = 0;
      for (const stream of streams) {
        if (!isMeant(stream)) continue;
        try {
          send(stream);
        } catch {
          // The client left at the same moment.
          streams.delete(stream);
        }
        if (streams.has(stream) && isLive(stream) && isFull(stream)) {
          stream.isCatchingUp = true;
          void catchUp(stream);
        }
        streamCount += 1;
        if (streamCount % GROUP === 0) await setImmediate();
      }
    });
  }

  /** Waits until the client has read enough. @throws {ClientTooSlow} when it does not do so in time. */
  async function roomIn(stream: Stream): Promise<void> {
    const untilMs = performance.now() + ROOM_LIMIT_MS;
    while (streams.has(stream) && isFull(stream)) {
      if (performance.now() > untilMs) throw new ClientTooSlow();
      await pause(ROOM_CHECK_MS);
    }
  }

  /** Breaks the connection of a stream: what the client has not read yet is lost. */
  function abort(stream: Stream): void {
    if (streams.delete(stream)) stream.controller.error(new Error('the event stream was aborted'));
  }

  function sendStoredEvents(events: readonly StoredEvent[]): void {
    const newestId = events.at(-1)?.id ?? 0;
    const pieces = new Map<string, Piece[]>();
    sendLive((stream) => {
      // A stream that was opened a moment ago may be ahead of the first events.
      const unsent = events.filter(({ id }) => id > stream.position);
      const key = `${unsent.length} ${stream.key}`;
      const isWanted = (event: StoredEvent) => !event.isSilent && stream.types.has(event.type);
      const parts = pieces.get(key) ?? [...joinFrames(unsent.filter(isWanted))];
      pieces.set(key, parts);
      for (const { last, bytes } of parts) {
        // It catches up from here once its client has read.
        if (isFull(stream)) return;
        stream.controller.enqueue(bytes);
        stream.position = last.id;
      }
      stream.position = Math.max(stream.position, newestId);
    });
  }

  function* joinFrames(events: readonly StoredEvent[]): Generator<Piece> {
    let first: StoredEvent | undefined;
    let frames: Uint8Array[] = [];
    let sizeBytes = 0;
    for (const event of events) {
      const frame = frameOf(event);
      first ??= event;
      frames.push(frame);
      sizeBytes += frame.length;
      if (sizeBytes < PIECE_BYTES && event !== events.at(-1)) continue;
      yield { first, last: event, bytes: Buffer.concat(frames) };
      first = undefined;
      frames = [];
      sizeBytes = 0;
    }
  }

  function closeAll(): void {
    for (const stream of streams) {
      streams.delete(stream);
      try {
        stream.controller.close();
      } catch {
        // The client left at the same moment.
      }
    }
  }

  const unsubscribe = reader.subscribe(sendStoredEvents);
  // With the cursor: for minutes, a stream may only get events that it skips.
  const keepAlive = setInterval(() => {
    sendLive(
      (stream) => stream.controller.enqueue(cursorFrame(': keep-alive', cursorOf(stream))),
      (stream) => isLive(stream) || !isFull(stream),
    );
  }, keepAliveMs);

  return {
    open,
    countOf: (owner) => [...streams].filter((stream) => stream.owner === owner).length,
    countGuests: () => [...streams].filter(({ tokenId }) => tokenId === undefined).length,
    count: () => streams.size,
    send: (event) => {
      const frame = eventFrame(event);
      sendLive((stream) => {
        if (stream.types.has(event.type)) stream.controller.enqueue(frame);
      });
    },
    listOpen: () =>
      [...streams].flatMap((stream) =>
        stream.tokenId === undefined ? [] : { tokenId: stream.tokenId, abort: () => abort(stream) },
      ),
    abortAll: () => streams.forEach(abort),
    closeAll,
    stop: () => {
      clearInterval(keepAlive);
      unsubscribe();
      closeAll();
    },
  };
}

function isLive({ isCatchingUp }: Stream): boolean {
  return !isCatchingUp;
}

function isFull({ controller }: Stream): boolean {
  return (controller.desiredSize ?? 0) <= -MAX_BUFFERED_BYTES;
}

/** An event as it is sent; without `id` when a stream cannot resume from it. */
export type StreamedEvent = { type: EventType | StoredEventType; id?: string; data: unknown };

function eventFrame({ type, id, data }: StreamedEvent): Uint8Array {
  return encode(`${idLine(id)}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** A frame without an event: a client that reconnects after it resumes from its cursor, if it has one. */
function cursorFrame(line: string, cursor: string | undefined): Uint8Array {
  return encode(`${line}\n${idLine(cursor)}\n`);
}

function idLine(id: string | undefined): string {
  return id === undefined ? '' : `id: ${id}\n`;
}

const encoder = new TextEncoder();
const encode = (text: string) => encoder.encode(text);
