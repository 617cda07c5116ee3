import type { OpenResponse } from './authentication.ts';

/** Exports of one kind in this process, over all owners: each holds a connection and a snapshot. */
const MAX_AT_ONCE = 4;
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

/** Who runs an export; without `tokenId`, somebody who is signed in. */
type Owner = { id: number; tokenId?: number };

/** The exports of one kind that this process sends. */
export type Exports = {
  /**
   * Streams an export, with backpressure. Bun disconnects a client that reads nothing for 30 seconds; when a client
   * disconnects, the export's database connection and snapshot are released at once.
   * @param check rejects when the owner may not begin an export.
   * @throws what `check` and `open` throw, and the two errors of {@link createExports}.
   */
  begin: (
    owner: Owner,
    open: () => Promise<Exported>,
    check?: () => Promise<void>,
  ) => Promise<ReadableStream<Uint8Array>>;
  /** The running exports that were begun with a token. */
  listOpen: () => OpenResponse[];
  /** Aborts all exports, so that clients see that they are incomplete. */
  stop: () => void;
};

/**
 * Creates the exports of one kind: one at a time for each owner, and a limited number in all.
 * @param errors `second`: the owner has a running export; `tooMany`: the process sends as many as it may.
 */
export function createExports(errors: { second: () => Error; tooMany: () => Error }): Exports {
  /** The owners whose export runs or is being opened. */
  const ownerIds = new Set<number>();
  const running = new Map<(reason: string) => void, Owner>();

  function send({ chunks, close }: Exported, owner: Owner): ReadableStream<Uint8Array> {
    let readTimer: ReturnType<typeof setTimeout> | undefined;
    let streamController: ReadableStreamDefaultController<Uint8Array> | undefined;
    // Not withTimeLimit: both limits have to abort the response.
    const wholeTimer = setTimeout(() => abort('the export took too long'), WHOLE_LIMIT_MS);

    function end(): void {
      if (!running.delete(abort)) return;
      ownerIds.delete(owner.id);
      clearTimeout(readTimer);
      clearTimeout(wholeTimer);
      close().catch(() => undefined);
    }

    function abort(reason: string): void {
      if (!running.has(abort)) return;
      end();
      streamController?.error(new Error(reason));
    }

    async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
      readTimer = setTimeout(() => abort('the database is slow'), DATABASE_LIMIT_MS);
      try {
        const { done, value } = await chunks.next();
        clearTimeout(readTimer);
        if (!running.has(abort)) return;
        if (!done) return controller.enqueue(value);
        controller.close();
        end();
      } catch {
        abort('the database failed');
      }
    }

    running.set(abort, owner);
    const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      streamController = controller;
    };
    return new ReadableStream({ start, pull, cancel: end }, { highWaterMark: 1 });
  }

  return {
    begin: async (owner, open, check) => {
      if (ownerIds.has(owner.id)) throw errors.second();
      ownerIds.add(owner.id);
      try {
        await check?.();
        if (ownerIds.size > MAX_AT_ONCE) throw errors.tooMany();
        return send(await open(), owner);
      } catch (error) {
        ownerIds.delete(owner.id);
        throw error;
      }
    },
    listOpen: () =>
      [...running].flatMap(([abort, { tokenId }]) =>
        tokenId === undefined ? [] : { tokenId, abort: () => abort('the token is no longer valid') },
      ),
    stop: () => {
      for (const abort of running.keys()) abort('the service is stopping');
    },
  };
}
