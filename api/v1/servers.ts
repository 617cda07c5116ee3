import { Elysia, type Static, t } from 'elysia';
import { InvalidInput, NotFound } from '../../src/errors.ts';
import type { HistoryPoint } from '../../src/queries/server-samples.ts';
import type { ServerStatus } from '../../src/queries/servers.ts';
import type { ServerBoard } from '../../src/server-board.ts';
import type { ReadHistory } from '../../src/server-history.ts';
import { describe, ERRORS, MODELS, TimestampModel } from '../docs.ts';
import { buildJsonBody, formatTimestamp, type JsonBody } from '../json.ts';
import { type Answer, PUBLIC_CACHE_CONTROL, type Routes } from '../routes.ts';

export const PlayerModel = t.Object(
  {
    name: t.String({ examples: ['Rzeźnik'] }),
    score: t.Integer({ description: 'May be negative.', examples: [17] }),
  },
  { description: 'Specification 2.2', additionalProperties: false },
);

const serverFields = {
  id: t.Integer({ examples: [3] }),
  name: t.String({ examples: ['Only Mirage #1'] }),
  slug: t.String({ examples: ['only-mirage-1'] }),
  hostname: t.String({ description: 'In-game host name.', examples: ['Only Mirage | 128 tick'] }),
  ip: t.String({ description: 'Address with port, as configured.', examples: ['203.0.113.7:27015'] }),
  map: t.String({ examples: ['de_mirage'] }),
  mode: t.String({ examples: ['Competitive'] }),
  region: t.String({ examples: ['EU'] }),
  players_count: t.Integer({ minimum: 0, examples: [9] }),
  max_players: t.Integer({ minimum: 0, examples: [10] }),
  is_online: t.Boolean({ examples: [true] }),
  ping_ms: t.Integer({ minimum: 0, examples: [12] }),
  updated_at: TimestampModel,
};

export const ServerModel = t.Object(serverFields, {
  description: 'Specification 2.1',
  additionalProperties: false,
});
export const ServerDetailModel = t.Object(
  { ...serverFields, players: t.Array(t.Ref(MODELS.player)) },
  { description: 'Specification 2.1, with players by score', additionalProperties: false },
);
export const HistoryPointModel = t.Object(
  {
    at: TimestampModel,
    players_average: t.Number({ minimum: 0, examples: [7.35] }),
    players_max: t.Integer({ minimum: 0, examples: [9] }),
    max_players: t.Integer({ minimum: 0, examples: [10] }),
    online_share: t.Number({
      minimum: 0,
      maximum: 1,
      description: 'Share of the step the server was online.',
      examples: [1],
    }),
  },
  { additionalProperties: false },
);

type Deps = {
  board: ServerBoard;
  /** One for both bases, so that they send the same bytes. */
  bodies: BodyCache;
  readHistory: ReadHistory;
  now: () => Date;
};

/** Public server status: specification 4.1. Bytes are made once per change of the board. */
export function servers(routes: Routes, deps: Deps) {
  const cached = deps.bodies;
  const list = (): Answer => toAnswer(cached('list', () => presentList(deps.board.current(), deps.now())));
  const detail = (slug: string): Answer => {
    const found = deps.board.findBySlug(slug);
    if (!found) throw new NotFound('Server not found');
    return toAnswer(cached(`detail ${slug}`, () => presentDetail(found, deps.now())));
  };
  const players = (id: string): Answer => {
    const found = /^[0-9]{1,10}$/.test(id) ? deps.board.findById(Number(id)) : undefined;
    if (!found || String(found.server.id) !== id) throw new NotFound('Server not found');
    return toAnswer(cached(`players ${id}`, () => ({ success: true, players: presentPlayers(found) })));
  };
  const history = async (slug: string, hoursText: string | undefined): Promise<Answer> => {
    const found = deps.board.findBySlug(slug);
    if (!found) throw new NotFound('Server not found');
    const hours = parseHours(hoursText);
    const { points, stepSeconds, readAt } = await deps.readHistory(found.server.id, hours);
    const body = buildJsonBody({
      success: true,
      data: points.map(presentPoint),
      meta: { hours, step_seconds: stepSeconds, cached_at: formatTimestamp(readAt) },
    });
    return { body, cacheControl: 'public, max-age=60, stale-while-revalidate=60' };
  };

  return new Elysia()
    .get('/servers', ({ request, server }) => routes.open({ request, server }, list), {
      detail: describe({
        tag: 'Servers',
        summary: 'All servers with live status',
        answers: { 200: { model: MODELS.serverList, isCached: true }, ...ERRORS.public },
      }),
    })
    .get(
      '/servers/:server',
      ({ request, server, params }) => routes.open({ request, server }, () => detail(params.server)),
      {
        detail: describe({
          tag: 'Servers',
          summary: 'One server with its players',
          parameters: [
            { in: 'path', name: 'server', description: 'The slug, never the id.', example: 'only-mirage-1' },
          ],
          answers: {
            200: { model: MODELS.serverDetail, isCached: true },
            404: ERRORS.serverNotFound,
            ...ERRORS.public,
          },
        }),
      },
    )
    .get(
      '/servers/:server/players',
      ({ request, server, params }) => routes.open({ request, server }, () => players(params.server)),
      {
        detail: describe({
          tag: 'Servers',
          summary: 'The players on a server',
          parameters: [
            {
              in: 'path',
              name: 'server',
              description: 'The numeric id, never the slug.',
              example: 1,
              schema: { type: 'integer', minimum: 1 },
            },
          ],
          answers: {
            200: { model: MODELS.serverPlayers, isCached: true },
            404: ERRORS.serverNotFound,
            ...ERRORS.public,
          },
        }),
      },
    )
    .get(
      '/servers/:server/history',
      ({ request, server, params }) =>
        routes.open({ request, server }, (query) => history(params.server, query.get('hours'))),
      {
        detail: describe({
          tag: 'Servers',
          summary: 'Player counts over time',
          description: 'An extension of the specification. Steps without a poll are absent.',
          parameters: [
            { in: 'path', name: 'server', description: 'The slug.', example: 'only-mirage-1' },
            {
              in: 'query',
              name: 'hours',
              description: 'How far back, 1 to 8760; 24 by default.',
              example: 24,
              schema: { type: 'integer', minimum: 1, maximum: 8760, default: 24 },
            },
          ],
          answers: {
            200: { model: MODELS.serverHistory, isCached: true },
            400: ERRORS.badRequest,
            404: ERRORS.serverNotFound,
            503: ERRORS.unavailable,
            ...ERRORS.public,
          },
        }),
      },
    );
}

/** The body kept under a key, built when there is none. */
export type BodyCache = (key: string, build: () => unknown) => JsonBody;

/** Keeps what was built until the board changes. */
export function createBodyCache(board: ServerBoard): BodyCache {
  let bodies = new Map<string, JsonBody>();
  board.onChange(() => {
    bodies = new Map();
  });
  return (key, build) => {
    const known = bodies.get(key);
    if (known) return known;
    const body = buildJsonBody(build());
    bodies.set(key, body);
    return body;
  };
}

function toAnswer(body: JsonBody): Answer {
  return { body, cacheControl: PUBLIC_CACHE_CONTROL };
}

function presentList(statuses: readonly ServerStatus[], now: Date) {
  const data = statuses.map(presentServer);
  const online = data.filter((server) => server.is_online).length;
  return { success: true, data, meta: { total: data.length, online, cached_at: formatTimestamp(now) } };
}

function presentDetail(status: ServerStatus, now: Date) {
  const data = { ...presentServer(status), players: presentPlayers(status) };
  return { success: true, data, meta: { cached_at: formatTimestamp(now) } };
}

function presentServer({ server, snapshot }: ServerStatus): Static<typeof ServerModel> {
  return {
    id: server.id,
    name: server.name,
    slug: server.slug,
    hostname: snapshot?.hostname ?? '',
    ip: server.address,
    map: snapshot?.map ?? '',
    mode: server.mode,
    region: server.region,
    players_count: snapshot?.playersCount ?? 0,
    max_players: snapshot?.maxPlayers ?? 0,
    is_online: snapshot?.isOnline ?? false,
    ping_ms: snapshot?.pingMs ?? 0,
    updated_at: formatTimestamp(snapshot?.polledAt ?? server.createdAt),
  };
}

function presentPlayers({ snapshot }: ServerStatus): Static<typeof PlayerModel>[] {
  return (snapshot?.players ?? []).map(({ name, score }) => ({ name, score }));
}

function presentPoint(point: HistoryPoint): Static<typeof HistoryPointModel> {
  return {
    at: formatTimestamp(point.at),
    players_average: Math.round(point.playersAverage * 100) / 100,
    players_max: point.playersMaximum,
    max_players: point.maxPlayers,
    online_share: Math.round(point.onlineShare * 1000) / 1000,
  };
}

function parseHours(text: string | undefined): number {
  if (text === undefined) return 24;
  const hours = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
  if (hours >= 1 && hours <= 8760) return hours;
  throw new InvalidInput(
    `hours ${JSON.stringify(text.slice(0, 32))} is not allowed: give a whole number from 1 to 8760`,
  );
}
