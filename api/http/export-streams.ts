/** How long the database may take for some hundred records. */
const DATABASE_LIMIT_MS = 30_000;
/** Enough for ten million records at 32 Mbit/s. Limited because an open snapshot keeps PostgreSQL from vacuuming. */
const WHOLE_LIMIT_MS = 15 * 60_000;

/** What is exported, read only as fast as it is sent. */
type Exported = {
  chunks: AsyncIterator<Uint8Array, void>;
  /** Closes the database connection and the snapshot, even while a chunk is being read. */
  close: () => Promise<void>;
};

export type ExportStream = {
  body: ReadableStream<Uint8Array>;
  /** Aborts the response, so that the client sees that it is incomplete. */
  abort: (reason: string) => void;
};

/**
 * Streams an export, with backpressure. Bun disconnects a client that reads nothing for 30 seconds; when a
 * client disconnects, the export's database connection and snapshot are released at once.
 * @param onEnd called once, however the export ends.
 */
export function streamExport({ chunks, close }: Exported, onEnd: () => void): ExportStream {
  let isOver = false;
  let read: ReturnType<typeof setTimeout> | undefined;
  let controllerOf: ReadableStreamDefaultController<Uint8Array> | undefined;
  // Not withTimeLimit: both limits have to abort the response.
  const whole = setTimeout(() => abort('the export took too long'), WHOLE_LIMIT_MS);

  function end(): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(read);
    clearTimeout(whole);
    close().catch(() => undefined);
    onEnd();
  }

  function abort(reason: string): void {
    if (isOver) return;
    end();
    controllerOf?.error(new Error(reason));
  }

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    read = setTimeout(() => abort('the database is slow'), DATABASE_LIMIT_MS);
    try {
      const { done, value } = await chunks.next();
      clearTimeout(read);
      if (isOver) return;
      if (done) {
        controller.close();
        end();
        return;
      }
      controller.enqueue(value);
    } catch {
      abort('the database failed');
    }
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        controllerOf = controller;
      },
      pull,
      cancel: end,
    },
    { highWaterMark: 1 },
  );
  return { body, abort };
}
