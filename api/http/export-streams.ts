import type { OpenResponse } from './authentication.ts';

/** Exports of one kind in this process, over all owners: each holds a connection and a snapshot. */
const MAX_AT_ONCE = 4;
/** How long the database may take for some hundred records. */
const DATABASE_LIMIT_MS = 30_000;
/** The least that a client has to read per second of the time that the export waits for it. */
export const SLOWEST_BYTES_PER_SECOND = 64 * 1024;
const LIMITS = {
  /** How long a client may take to begin reading. */
  beginMs: 10_000,
  /** How often a client's speed is checked; it counts from the third check on. */
  checkEveryMs: 30_000,
  /** Enough for ten million records at 32 Mbit/s. Limited because an open snapshot keeps PostgreSQL from vacuuming. */
  wholeMs: 15 * 60_000,
};

/** What is exported, read only as fast as it is sent. */
type Exported = {
  chunks: AsyncIterator<Uint8Array, void>;
  /** Closes the database connection and the snapshot, even while a chunk is being read. */
  close: () => Promise<unknown>;
};

/** Who runs an export; without `tokenId`, somebody who is signed in. */
type Owner = {
  id: number;
  /** Whether they may take the last slot. */
  isPreferred: boolean;
  tokenId?: number;
};

/** The exports of one kind that this process sends. */
export type Exports = {
  /**
   * Streams an export, with backpressure. A client is disconnected when it has not begun to read after ten seconds, when it
   * reads too slowly after the first minute, and by Bun when it reads nothing for 30 seconds. The export's database
   * connection and snapshot are released as soon as its client is gone.
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
export function createExports(
  errors: { second: () => Error; tooMany: () => Error },
  limits: typeof LIMITS = LIMITS,
): Exports {
  /** The owners whose export runs or is being opened. */
  const owners = new Map<number, Owner>();
  const running = new Map<(reason: string) => void, Owner>();

  function send({ chunks, close }: Exported, owner: Owner): ReadableStream<Uint8Array> {
    let readTimer: ReturnType<typeof setTimeout> | undefined;
    let streamController: ReadableStreamDefaultController<Uint8Array> | undefined;
    const beganAtMs = performance.now();
    /** What was sent and is not yet read: since when, and how many bytes. */
    let unread: { sinceMs: number; bytes: number } | undefined;
    // Over the whole export: the system takes megabytes at once, and then nothing for as long as a slow client reads them.
    let readBytes = 0;
    let waitedMs = 0;
    let checks = 0;
    // Not withTimeLimit: every limit has to abort the response.
    const checkTimer = setInterval(check, limits.checkEveryMs);

    function check(): void {
      const nowMs = performance.now();
      if (unread) waitedMs += nowMs - unread.sinceMs;
      if (unread) unread.sinceMs = nowMs;
      checks += 1;
      const isSlow = checks > 2 && readBytes < (waitedMs / 1000) * SLOWEST_BYTES_PER_SECOND;
      if (isSlow) abort('the client reads too slowly');
      if (nowMs - beganAtMs >= limits.wholeMs) abort('the export took too long');
    }

    function end(): void {
      if (!running.delete(abort)) return;
      owners.delete(owner.id);
      clearTimeout(readTimer);
      clearInterval(checkTimer);
      close().catch(() => undefined);
    }

    function abort(reason: string): void {
      if (!running.has(abort)) return;
      end();
      streamController?.error(new Error(reason));
    }

    async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
      clearTimeout(readTimer);
      const isFirst = unread === undefined;
      if (unread) {
        readBytes += unread.bytes;
        waitedMs += performance.now() - unread.sinceMs;
      }
      unread = undefined;
      readTimer = setTimeout(() => abort('the database is slow'), DATABASE_LIMIT_MS);
      try {
        const { done, value } = await chunks.next();
        clearTimeout(readTimer);
        if (!running.has(abort)) return;
        if (!done) {
          unread = { sinceMs: performance.now(), bytes: value.byteLength };
          if (isFirst) readTimer = setTimeout(() => abort('nobody reads the export'), limits.beginMs);
          return controller.enqueue(value);
        }
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

  /** Whether there is a slot for an owner, who is already in {@link owners}. */
  function hasSlot({ isPreferred }: Owner): boolean {
    const others = [...owners.values()].filter((one) => !one.isPreferred);
    return owners.size <= MAX_AT_ONCE && (isPreferred || others.length < MAX_AT_ONCE);
  }

  return {
    begin: async (owner, open, check) => {
      if (owners.has(owner.id)) throw errors.second();
      owners.set(owner.id, owner);
      try {
        await check?.();
        if (!hasSlot(owner)) throw errors.tooMany();
        return send(await open(), owner);
      } catch (error) {
        owners.delete(owner.id);
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
