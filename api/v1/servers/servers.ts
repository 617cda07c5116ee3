import { NotFound } from '../../../src/domain/errors.ts';
import type { ServerList } from '../../../src/live/server-list.ts';
import { defineFailure } from '../../http/documented-failures.ts';
import { type EncodedBody, encodeJson } from '../../http/encoding.ts';
import type { Parameter } from '../../http/parameters.ts';
import { publicRoute } from '../../http/route-definition.ts';
import {
  PlayerListModel,
  presentPlayerList,
  presentServerDetail,
  presentServerList,
  ServerListModel,
  ServerResponseModel,
} from './server-models.ts';

export const SERVER_NOT_FOUND = defineFailure(
  'ServerNotFound',
  'There is no such server.',
  () => new NotFound('Server not found'),
);

export const SLUG_PARAMETER = {
  in: 'path',
  name: 'server',
  description: 'The slug, never the id.',
  example: 'only-mirage-1',
  parse: (text: string | undefined) => text ?? '',
} as const satisfies Parameter<string>;

/** Undefined for an invalid id, which no server has. */
const SERVER_ID_PARAMETER = {
  in: 'path',
  name: 'server',
  description: 'The numeric id, never the slug.',
  schema: { type: 'integer', minimum: 1 },
  example: 3,
  parse: (text = '') => (/^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : undefined),
} as const satisfies Parameter<number | undefined>;

/** The cached body of a key, built on a miss. */
type BodyCache = (key: string, build: () => unknown) => EncodedBody;

/** Caches bodies until the list of servers changes. @param onLookup called for each lookup. */
export function createBodyCache(serverList: ServerList, onLookup: (isHit: boolean) => void): BodyCache {
  let bodies = new Map<string, EncodedBody>();
  serverList.onChange(() => {
    bodies = new Map();
  });
  return (key, build) => {
    const cached = bodies.get(key);
    onLookup(cached !== undefined);
    if (cached) return cached;
    const body = encodeJson(build());
    bodies.set(key, body);
    return body;
  };
}

/** `bodies`: rebuilt when the list changes; shared by both bases. */
type Deps = { serverList: ServerList; bodies: BodyCache; now: () => Date };

export const listServers = publicRoute({
  path: '/servers',
  id: 'listServers',
  tag: 'Servers',
  summary: 'All servers with live status',
  description: 'As of the last poll of each, without players.',
  parameters: {},
  success: { model: ServerListModel },
  handle: ({ serverList, bodies, now }: Deps) =>
    bodies('list', () => presentServerList(serverList.current(), now())),
});

export const getServer = publicRoute({
  path: '/servers/:server',
  id: 'getServer',
  tag: 'Servers',
  summary: 'One server with its players',
  description: 'Players are sorted by score, highest first; an offline server has none.',
  parameters: { slug: SLUG_PARAMETER },
  success: { model: ServerResponseModel },
  failures: [SERVER_NOT_FOUND],
  handle: ({ serverList, bodies, now }: Deps, { slug }) => {
    const status = serverList.findBySlug(slug);
    if (!status) throw SERVER_NOT_FOUND.error();
    return bodies(`detail ${slug}`, () => presentServerDetail(status, now()));
  },
});

export const listServerPlayers = publicRoute({
  path: '/servers/:server/players',
  id: 'listServerPlayers',
  tag: 'Servers',
  summary: 'The players on a server',
  description: 'Sorted by score, highest first. The server is named by its id, not its slug.',
  parameters: { id: SERVER_ID_PARAMETER },
  success: { model: PlayerListModel },
  failures: [SERVER_NOT_FOUND],
  handle: ({ serverList, bodies }: Omit<Deps, 'now'>, { id }) => {
    const status = id === undefined ? undefined : serverList.findById(id);
    if (!status) throw SERVER_NOT_FOUND.error();
    return bodies(`players ${id}`, () => presentPlayerList(status));
  },
});
