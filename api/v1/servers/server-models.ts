import { type Static, t } from 'elysia';
import { formatTimestamp } from '../../../src/domain/text/timestamp.ts';
import { type ServerStatus, shownAddressOf } from '../../../src/queries/servers/servers.ts';
import { count, namedObject, strictObject, successModel, TimestampModel } from '../models.ts';

/** Specification 2.2. */
const PlayerModel = namedObject('Player', {
  name: t.String({ examples: ['Rzeźnik'] }),
  score: t.Integer({ description: 'May be negative.', examples: [17] }),
});

/** Specification 2.1. */
const serverFields = {
  id: t.Integer({ examples: [3] }),
  name: t.String({ examples: ['Only Mirage #1'] }),
  slug: t.String({ examples: ['only-mirage-1'] }),
  hostname: t.String({ description: 'In-game host name.', examples: ['Only Mirage | 128 tick'] }),
  ip: t.String({
    description: 'The public address with port, as configured.',
    examples: ['203.0.113.7:27015'],
  }),
  map: t.String({ examples: ['de_mirage'] }),
  mode: t.String({ examples: ['Competitive'] }),
  region: t.String({ examples: ['EU'] }),
  players_count: count(9),
  max_players: count(10),
  is_online: t.Boolean({ examples: [true] }),
  ping_ms: count(12),
  updated_at: TimestampModel,
};
const ServerModel = namedObject('Server', serverFields);
type ServerRecord = Static<typeof ServerModel>;
const ServerDetailModel = namedObject('ServerDetail', {
  ...serverFields,
  players: t.Array(PlayerModel, { description: 'By score, the highest first.' }),
});

export const ServerListModel = successModel('ServerList', {
  data: t.Array(ServerModel),
  meta: strictObject({ total: count(6), online: count(5), cached_at: TimestampModel }),
});
export const ServerResponseModel = successModel('ServerResponse', {
  data: ServerDetailModel,
  meta: strictObject({ cached_at: TimestampModel }),
});
export const PlayerListModel = successModel('PlayerList', { players: t.Array(PlayerModel) });

/** The body of `/servers`. */
export function presentServerList(
  statuses: readonly ServerStatus[],
  now: Date,
): Static<typeof ServerListModel> {
  const data = statuses.map(presentServer);
  const online = data.filter((server) => server.is_online).length;
  return { success: true, data, meta: { total: data.length, online, cached_at: formatTimestamp(now) } };
}

/** The body of `/servers/{slug}`. */
export function presentServerDetail(status: ServerStatus, now: Date): Static<typeof ServerResponseModel> {
  const data = { ...presentServer(status), players: presentPlayers(status) };
  return { success: true, data, meta: { cached_at: formatTimestamp(now) } };
}

/** The body of `/servers/{id}/players`. */
export function presentPlayerList(status: ServerStatus): Static<typeof PlayerListModel> {
  return { success: true, players: presentPlayers(status) };
}

/** The record of `/servers`. */
export function presentServer({ server, snapshot }: ServerStatus): ServerRecord {
  return {
    id: server.id,
    name: server.name,
    slug: server.slug,
    hostname: snapshot?.hostname ?? '',
    ip: shownAddressOf(server),
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
