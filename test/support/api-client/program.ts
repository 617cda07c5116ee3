import { createCommunityApi } from './index.js';

/**
 * What a developer writes with the client of a release: every route once. The client is written beside a copy of this file,
 * where it is type-checked and run (test/api/openapi/client.slow.test.ts).
 */
const { API_URL = '', API_TOKEN = '', PLAYER = '' } = process.env;
const api = createCommunityApi(API_URL, API_TOKEN);

/** The data of a response, or the end of the program with the service's message. */
function must<T>({
  data,
  error,
  response,
}: {
  data?: T;
  error?: { message: string };
  response: Response;
}): T {
  if (data === undefined) throw new Error(`${response.status}: ${error?.message}`);
  return data;
}

const servers = must(await api.GET('/api/v1/servers'));
const server = servers.data[0]?.slug ?? '';
const detail = must(await api.GET('/api/v1/servers/{server}', { params: { path: { server } } }));
const onServer = must(
  await api.GET('/api/v1/servers/{server}/players', { params: { path: { server: detail.data.id } } }),
);
const history = must(
  await api.GET('/api/v1/servers/{server}/history', { params: { path: { server }, query: { hours: 24 } } }),
);

const ofPlayer = { params: { path: { player: PLAYER } } };
const ofPlayers = { params: { query: { steamids: PLAYER } } };
const sound = must(await api.GET('/api/v1/players/{player}/roundsound', ofPlayer));
const sounds = must(await api.GET('/api/v1/players/roundsounds', ofPlayers));
const found = must(await api.GET('/api/v1/players/search', { params: { query: { name: 'rzeźnik' } } }));
const steamBans = must(await api.GET('/api/v1/players/{player}/steam-bans', ofPlayer));
/** Nothing is known of bans unless Steam says so. */
const vacBans: number | undefined = steamBans.data.known ? steamBans.data.vac_bans : undefined;

const query = { status: 'ACTIVE', per_page: 10 } as const;
const penalties = must(await api.GET('/api/v1/penalties', { params: { query: { ...query, type: 'ban' } } }));
const bans = must(await api.GET('/api/v1/bans', { params: { query } }));
const mutes = must(await api.GET('/api/v1/mutes', { params: { query: { ...query, type: 'gag' } } }));
const warnings = must(await api.GET('/api/v1/warns', { params: { query } }));
const active = must(await api.GET('/api/v1/penalties/active', ofPlayers));
const exported: string = must(
  await api.GET('/api/v1/penalties/export', { params: { query: { type: 'ban' } }, parseAs: 'text' }),
);
const named = must(await api.GET('/api/v1/penalties/servers'));
const id = bans.data[0]?.id ?? 0;
const penalty = must(await api.GET('/api/v1/penalties/{id}', { params: { path: { id } } }));

const user = must(await api.GET('/api/v1/users/lookup', { params: { query: { steamid64: PLAYER } } }));
const users = must(await api.GET('/api/v1/users/lookup/batch', ofPlayers));
const own = must(await api.GET('/api/v1/token'));

const present = must(await api.GET('/api/v1/penalties/changes'));
const { cursor } = present.meta;
const changes = must(await api.GET('/api/v1/penalties/changes', { params: { query: { cursor, limit: 5 } } }));

const leaving = new AbortController();
const stream = must(
  await api.GET('/api/v1/events', {
    params: { query: { types: 'penalty.created' } },
    parseAs: 'stream',
    signal: leaving.signal,
  }),
);
const beginning = await stream?.getReader().read();
leaving.abort();

const wrong = await api.GET('/api/v1/bans', { params: { query: { steamid: 'nobody' } } });

console.log(
  JSON.stringify({
    servers: servers.meta.total,
    detail: detail.data.name,
    players: onServer.players.length,
    history: history.success,
    sound: sound.success,
    sounds: sounds.meta.requested,
    found: found.data[0]?.name,
    vacBans,
    penalties: penalties.meta.counts.ban,
    bans: bans.data[0]?.player_name,
    mutes: mutes.meta.total,
    warnings: warnings.meta.last_page,
    active: active.data[0]?.is_banned,
    exported: exported.trimEnd().split('\n').length,
    lifted: penalty.data.lifted?.reason ?? null,
    named: named.data[0]?.penalties,
    user: user.user.nickname,
    users: users.data[0]?.user?.steamid64 === PLAYER,
    token: own.data.scopes.length,
    changes: changes.meta.has_more,
    stream: new TextDecoder().decode(beginning?.value).startsWith('retry:'),
    wrong: wrong.error?.message,
  }),
);
