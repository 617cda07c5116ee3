import type { PenaltyExport } from '../../../src/queries/penalties/export.ts';

/** What a client has to read at least, in bytes a second: some four hundred records. */
const LEAST_PER_SECOND = 128 * 1024;
/**
 * How far a client may fall behind that, stops included. Time that the database takes is not counted, and what was read
 * ahead of it is not saved up: a client that stops, or reads a byte at a time, holds a snapshot for no longer than this.
 */
const PATIENCE_MS = 25_000;
/** How long the database may take for some hundred records. */
const DATABASE_LIMIT_MS = 30_000;
/** Ten million records take as many bytes as 32 Mbit/s carry in this time; a snapshot keeps the database from tidying up. */
const WHOLE_LIMIT_MS = 15 * 60_000;

type Deps = {
  /** The last line, by the number of records before it. */
  formatEnd: (count: number) => string;
  /** Called once, however it ends. */
  onEnd: () => void;
};

export type ExportStream = {
  body: ReadableStream<Uint8Array>;
  /** Breaks the response off, so that the client sees that it is incomplete. */
  abort: (reason: string) => void;
};

/**
 * Sends an export line by line, as fast as the client reads and no faster. A client that reads too slowly is given up,
 * and one that disconnects frees everything at once.
 */
export function streamExport(opened: PenaltyExport, { formatEnd, onEnd }: Deps): ExportStream {
  let count = 0;
  let isOver = false;
  let patienceMs = PATIENCE_MS;
  let waitingSinceMs = performance.now();
  /** For whatever is waited for: the client, or the database. */
  let patience: ReturnType<typeof setTimeout> | undefined;
  let controllerOf: ReadableStreamDefaultController<Uint8Array> | undefined;
  // Timers of their own, not withTimeLimit: one restarts with each read, and both have to abort the response.
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

  /** From when the client has something to read until it wants more. */
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
      patienceMs = Math.min(patienceMs + (value.bytes.length / LEAST_PER_SECOND) * 1000, PATIENCE_MS);
      waitForClient();
    } catch {
      abort('the database broke off');
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
