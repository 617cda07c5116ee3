import { NotFound } from '../../../src/domain/errors.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { PersonExport } from '../../../src/queries/personal-data/export.ts';
import { type ExportStream, streamExport } from '../../http/export-streams.ts';
import { PageError } from '../request/page-error.ts';

/** In this process, over all users: each download holds a connection and a snapshot. */
const MAX_AT_ONCE = 4;
/** `Retry-After` for a user whose other download is still running. */
const RETRY_SECONDS = 10;

type Deps = {
  openExport: (
    steamId64: SteamId64,
    options: { actor: { userId: number }; now: Date },
  ) => Promise<PersonExport | undefined>;
};

/** The downloads of own data that this process sends. */
export type Downloads = {
  /**
   * @throws {PageError} 429 while another one of the user runs, 503 when too many are running · {NotFound} when the
   * account was deleted meanwhile.
   */
  begin: (user: { id: number; steamId64: SteamId64 }, now: Date) => Promise<ReadableStream>;
  stop: () => void;
};

export function createDownloads({ openExport }: Deps): Downloads {
  const running = new Set<ExportStream>();
  /** Whose download is running or being opened. */
  const users = new Set<number>();
  return {
    begin: async ({ id: userId, steamId64 }, now) => {
      if (users.has(userId)) throw new PageError('too-many-requests', 429, { limit: RETRY_SECONDS });
      users.add(userId);
      try {
        if (users.size > MAX_AT_ONCE) throw new PageError('unavailable', 503);
        const exported = await openExport(steamId64, { actor: { userId }, now });
        if (!exported) throw new NotFound('The account was deleted');
        const stream = streamExport(exported, () => {
          running.delete(stream);
          users.delete(userId);
        });
        running.add(stream);
        return stream.body;
      } catch (error) {
        users.delete(userId);
        throw error;
      }
    },
    stop: () => {
      for (const stream of running) stream.abort('the service is stopping');
    },
  };
}
