import type { PenaltyExport } from '../../../src/queries/penalties/export.ts';

/** The lowest rate at which a client must read, in bytes a second: some four hundred records. */
const MIN_PER_SECOND = 128 * 1024;
/**
 * How far a client may fall behind that rate, pauses included. Time that the database takes does not count, and reading
 * faster earns no credit: a client that stops, or reads byte by byte, holds a snapshot for no longer than this.
 */
const PATIENCE_MS = 25_000;
/** How long the database may take for some hundred records. */
const DATABASE_LIMIT_MS = 30_000;
/** Enough for ten million records at 32 Mbit/s. Limited because an open snapshot keeps PostgreSQL from vacuuming. */
const WHOLE_LIMIT_MS = 15 * 60_000;

type Deps = {
  /** Formats the last line. @param count the number of records before it. */
  formatEnd: (count: number) => string;
  /** Called once, however the export ends. */
  onEnd: () => void;
};

export type ExportStream = {
  body: ReadableStream<Uint8Array>;
  /** Aborts the response, so that the client sees that it is incomplete. */
  abort: (reason: string) => void;
};

/**
 * Streams an export line by line, with backpressure. A client that reads too slowly is disconnected; when a client
 * disconnects, its connection and snapshot are released at once.
 */
export function streamExport(opened: PenaltyExport, { formatEnd, onEnd }: Deps): ExportStream {
  let count = 0;
  let isOver = false;
  let patienceMs = PATIENCE_MS;
  let waitingSinceMs = performance.now();
  /** The time limit of the current wait, for the client or for the database. */
  let patience: ReturnType<typeof setTimeout> | undefined;
  let controllerOf: ReadableStreamDefaultController<Uint8Array> | undefined;
  // Not withTimeLimit: both limits have to abort the response, and the other one restarts with each read.
  const whole = setTimeout(() => abort('the export took too long'), WHOLE_LIMIT_MS);

  function end(): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(patience);
    clearTimeout(whole);
    opened.close().catch(() => undefined);
    onEnd();
  }

  function abort(reason: string): void {
    if (isOver) return;
    end();
    controllerOf?.error(new Error(reason));
  }

  /** Starts the client's time limit, which runs from when it has data to read until it asks for more. */
  function waitForClient(): void {
    waitingSinceMs = performance.now();
    patience = setTimeout(() => abort('the client reads too slowly'), patienceMs);
  }

  function stopWaiting(): void {
    clearTimeout(patience);
    patienceMs -= performance.now() - waitingSinceMs;
  }

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    stopWaiting();
    patience = setTimeout(() => abort('the database is slow'), DATABASE_LIMIT_MS);
    try {
      const { done, value } = await opened.records.next();
      clearTimeout(patience);
      if (isOver) return;
      if (done) {
        controller.enqueue(encoder.encode(`${formatEnd(count)}\n`));
        controller.close();
        end();
        return;
      }
      count += value.count;
      controller.enqueue(value.bytes);
      patienceMs = Math.min(patienceMs + (value.bytes.length / MIN_PER_SECOND) * 1000, PATIENCE_MS);
      waitForClient();
    } catch {
      abort('the database failed');
    }
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        controllerOf = controller;
        waitForClient();
      },
      pull,
      cancel: end,
    },
    { highWaterMark: 1 },
  );
  return { body, abort };
}

const encoder = new TextEncoder();
