import type { Logger } from 'pino';
import type { Db } from '../db/client.ts';
import { listServerStatuses, type ServerStatus } from '../queries/servers/servers.ts';
import { createLiveQuery, type LiveQuery } from './live-query.ts';
import { compareServerViews, type ServerView, toServerView } from './server-view.ts';

/** All listed servers with their latest poll, by name. */
export type ServerList = LiveQuery<readonly ServerStatus[]> & {
  findBySlug: (slug: string) => ServerStatus | undefined;
  findById: (id: number) => ServerStatus | undefined;
  /** What messages and pages show of a server now. */
  toView: (status: ServerStatus) => ServerView;
  /** What they show of all servers now: online ones first, then by position, then by name. */
  listViews: () => ServerView[];
};

/**
 * Reads the servers, and again after each change.
 * @param options.staleAfterMs when a poll no longer says whether a server is online; never by default.
 * @throws what the first read throws.
 */
export async function createServerList(
  db: Db,
  log: Logger,
  {
    staleAfterMs,
    now = () => new Date(),
    debounceMs,
  }: { staleAfterMs?: number; now?: () => Date; debounceMs?: number } = {},
): Promise<ServerList> {
  const query = await createLiveQuery<ServerStatus[], readonly ServerStatus[]>({
    name: 'servers',
    log,
    read: () => listServerStatuses(db),
    build: (statuses) => statuses,
    debounceMs,
  });
  const checkedAfter = () => new Date(staleAfterMs === undefined ? 0 : now().getTime() - staleAfterMs);
  const toView = (status: ServerStatus) => toServerView(status, checkedAfter());
  return {
    ...query,
    findBySlug: (slug) => query.current().find(({ server }) => server.slug === slug),
    findById: (id) => query.current().find(({ server }) => server.id === id),
    toView,
    listViews: () => query.current().map(toView).sort(compareServerViews),
  };
}
