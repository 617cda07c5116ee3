import type { Logger } from 'pino';
import { type Board, createBoard } from './board.ts';
import type { Db } from './db/client.ts';
import { listServerStatuses, type ServerStatus } from './queries/servers.ts';

/** All listed servers with their latest poll, by name. */
export type ServerBoard = Board<readonly ServerStatus[]> & {
  findBySlug: (slug: string) => ServerStatus | undefined;
  findById: (id: number) => ServerStatus | undefined;
};

/** @throws what the first read throws. */
export async function createServerBoard(db: Db, log: Logger): Promise<ServerBoard> {
  const board = await createBoard<ServerStatus[], readonly ServerStatus[]>({
    name: 'servers',
    log,
    read: () => listServerStatuses(db),
    build: (statuses) => statuses,
  });
  let index = indexOf(board.current());
  board.onChange((statuses) => {
    index = indexOf(statuses);
  });
  return {
    ...board,
    findBySlug: (slug) => index.bySlug.get(slug),
    findById: (id) => index.byId.get(id),
  };
}

function indexOf(statuses: readonly ServerStatus[]) {
  return {
    bySlug: new Map(statuses.map((status) => [status.server.slug, status])),
    byId: new Map(statuses.map((status) => [status.server.id, status])),
  };
}
