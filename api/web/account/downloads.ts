import { NotFound } from '../../../src/domain/errors.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { PersonExport } from '../../../src/queries/personal-data/export.ts';
import { createExports } from '../../http/export-streams.ts';
import { PageError } from '../request/page-error.ts';

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

/** Creates the downloads of this process: one for each user at a time, and a limited number for all. */
export function createDownloads({ openExport }: Deps): Downloads {
  const { begin, stop } = createExports({
    second: () => new PageError('too-many-requests', 429, { limit: RETRY_SECONDS }),
    tooMany: () => new PageError('unavailable', 503),
  });
  return {
    begin: ({ id, steamId64 }, now) =>
      begin({ id, isPreferred: true }, async () => {
        const download = await openExport(steamId64, { actor: { userId: id }, now });
        if (!download) throw new NotFound('The account was deleted');
        return download;
      }),
    stop,
  };
}
