import type { Logger } from 'pino';
import type { Db } from '../db/client.ts';
import { listServerStatuses, type ServerStatus } from '../queries/servers/servers.ts';
import { createLiveQuery, type LiveQuery } from './live-query.ts';

/** All listed servers with their latest poll, by name. */
export type ServerList = LiveQuery<readonly ServerStatus[]> & {
  findBySlug: (slug: string) => ServerStatus | undefined;
  findById: (id: number) => ServerStatus | undefined;
};

/** Reads the servers, and again after each change. @throws what the first read throws. */
export async function createServerList(db: Db, log: Logger): Promise<ServerList> {
  const query = await createLiveQuery<ServerStatus[], readonly ServerStatus[]>({
    name: 'servers',
    log,
    read: () => listServerStatuses(db),
    build: (statuses) => statuses,
  });
  return {
    ...query,
    findBySlug: (slug) => query.current().find(({ server }) => server.slug === slug),
    findById: (id) => query.current().find(({ server }) => server.id === id),
  };
}
