import { NotFound } from '../../../src/domain/errors.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { PersonExport } from '../../../src/queries/personal-data/export.ts';
import { type ExportStream, streamExport } from '../../http/export-streams.ts';
import type { KeyedMutex } from '../../http/keyed-mutex.ts';
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
  /** One for each user. */
  mutex: KeyedMutex;
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

export function createDownloads({ openExport, mutex }: Deps): Downloads {
  const running = new Set<ExportStream>();
  let count = 0;
  return {
    begin: async ({ id: userId, steamId64 }, now) => {
      const release = await mutex.claim(`user ${userId}`);
      if (!release) throw new PageError('too-many-requests', 429, { limit: RETRY_SECONDS });
      count += 1;
      const end = () => {
        count -= 1;
        release();
      };
      try {
        if (count > MAX_AT_ONCE) throw new PageError('unavailable', 503);
        const exported = await openExport(steamId64, { actor: { userId }, now });
        if (!exported) throw new NotFound('The account was deleted');
        const stream = streamExport(exported, () => {
          running.delete(stream);
          end();
        });
        running.add(stream);
        return stream.body;
      } catch (error) {
        end();
        throw error;
      }
    },
    stop: () => {
      for (const stream of running) stream.abort('the service is stopping');
    },
  };
}
