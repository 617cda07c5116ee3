import type { PenaltyExport } from '../../../src/queries/penalties/export.ts';

/** How long a client may take to read what it was sent last: some hundred records. */
const PATIENCE_MS = 30_000;
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
 * Sends an export line by line, as fast as the client reads and no faster. A client that stops reading is given up, and
 * whoever leaves frees everything at once.
 */
export function streamExport(opened: PenaltyExport, { formatEnd, onEnd }: Deps): ExportStream {
  let count = 0;
  let isOver = false;
  let patience: ReturnType<typeof setTimeout> | undefined;
  let controllerOf: ReadableStreamDefaultController<Uint8Array> | undefined;
  // Timers of their own, not withTimeLimit: one begins anew with each read, and both have to break the response off.
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

  function waitForClient(): void {
    clearTimeout(patience);
    patience = setTimeout(() => abort('the client does not read'), PATIENCE_MS);
  }

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    waitForClient();
    try {
      const { done, value } = await opened.records.next();
      if (isOver) return;
      if (done) {
        controller.enqueue(encoder.encode(`${formatEnd(count)}\n`));
        controller.close();
        end();
        return;
      }
      count += value.count;
      controller.enqueue(value.bytes);
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
