import { Elysia } from 'elysia';
import type { ServerList } from '../../../src/live/server-list.ts';
import type { Incoming, Routes } from '../../http/routes.ts';
import { describeOperation } from '../../openapi/describe.ts';
import type { Operation } from '../../openapi/operation.ts';
import type { BodyCache } from '../body-cache.ts';
import {
  PlayerListModel,
  presentPlayerList,
  presentServerDetail,
  presentServerList,
  ServerListModel,
  ServerResponseModel,
} from './server-models.ts';
import { SERVER_ID_PARAMETER, SERVER_NOT_FOUND, SLUG_PARAMETER } from './server-parameters.ts';

const LIST_SERVERS = {
  id: 'listServers',
  tag: 'Servers',
  summary: 'All servers with live status',
  description: 'As of the last poll of each, without players.',
  policy: 'public',
  parameters: {},
  success: { model: ServerListModel },
  failures: [],
} satisfies Operation;

const GET_SERVER = {
  id: 'getServer',
  tag: 'Servers',
  summary: 'One server with its players',
  description: 'Players are sorted by score, highest first; an offline server has none.',
  policy: 'public',
  parameters: { slug: SLUG_PARAMETER },
  success: { model: ServerResponseModel },
  failures: [SERVER_NOT_FOUND],
} satisfies Operation;

const LIST_SERVER_PLAYERS = {
  id: 'listServerPlayers',
  tag: 'Servers',
  summary: 'The players on a server',
  description: 'Sorted by score, highest first. The server is named by its id, not its slug.',
  policy: 'public',
  parameters: { id: SERVER_ID_PARAMETER },
  success: { model: PlayerListModel },
  failures: [SERVER_NOT_FOUND],
} satisfies Operation;

export const SERVER_OPERATIONS: readonly Operation[] = [LIST_SERVERS, GET_SERVER, LIST_SERVER_PLAYERS];

type Deps = {
  serverList: ServerList;
  /** Shared by both bases. */
  bodies: BodyCache;
  now: () => Date;
};

/** The handler of `/servers`. */
export function createServerLister(
  routes: Routes,
  { serverList, bodies, now }: Deps,
): (incoming: Incoming) => Response | Promise<Response> {
  const buildList = () => bodies('list', () => presentServerList(serverList.current(), now()));
  return (incoming) => routes.handlePublic(incoming, LIST_SERVERS, buildList);
}

/** Public server status: specification 4.1. Bodies are rebuilt when the list changes. */
export function servers(routes: Routes, { serverList, bodies, now }: Deps) {
  const listServers = createServerLister(routes, { serverList, bodies, now });
  return new Elysia()
    .get('/servers', ({ request, server }) => listServers({ request, server }), {
      detail: describeOperation(LIST_SERVERS),
    })
    .get(
      '/servers/:server',
      ({ request, server, params }) =>
        routes.handlePublic({ request, server, params }, GET_SERVER, ({ slug }) => {
          const found = serverList.findBySlug(slug);
          if (!found) throw SERVER_NOT_FOUND.error();
          return bodies(`detail ${slug}`, () => presentServerDetail(found, now()));
        }),
      { detail: describeOperation(GET_SERVER) },
    )
    .get(
      '/servers/:server/players',
      ({ request, server, params }) =>
        routes.handlePublic({ request, server, params }, LIST_SERVER_PLAYERS, ({ id }) => {
          const found = id === undefined ? undefined : serverList.findById(id);
          if (!found) throw SERVER_NOT_FOUND.error();
          return bodies(`players ${id}`, () => presentPlayerList(found));
        }),
      { detail: describeOperation(LIST_SERVER_PLAYERS) },
    );
}
