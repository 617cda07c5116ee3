import { atEnd } from '../cleanup.ts';

export type SteamApi = {
  /** What `STEAM_API_URL` is set to. */
  url: string;
  key: string;
  answer: 'players' | 'fails' | 'never' | 'html' | 'nonsense' | 'redirects' | 'huge';
  /** Profiles by SteamID64. */
  players: Record<
    string,
    { personaname?: unknown; avatarfull?: unknown; timecreated?: unknown; profileurl?: string }
  >;
  /** SteamID64s by custom name. */
  vanityNames: Record<string, string>;
  /** What GetPlayerBans tells, by SteamID64, over a player without bans; undefined leaves the player out. */
  bans: Record<string, Record<string, unknown> | undefined>;
  /** The ids of each call of GetPlayerBans. */
  banCalls: string[][];
  /** How long GetPlayerBans takes. */
  delayMs: number;
  /** Returns all players, not only the requested ones. */
  answersForAnybody: boolean;
  requests: number;
};

/** Steam's web API on loopback, as far as GetPlayerSummaries, GetPlayerBans and ResolveVanityURL go. */
export function startSteamApi(): SteamApi {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handle });
  atEnd(() => server.stop(true));
  const api: SteamApi = {
    url: `http://127.0.0.1:${server.port}`,
    key: 'KEY0123456789ABCDEF0123456789ABC',
    answer: 'players',
    players: {},
    vanityNames: {},
    bans: {},
    banCalls: [],
    delayMs: 0,
    answersForAnybody: false,
    requests: 0,
  };
  return api;

  async function handle(request: Request): Promise<Response> {
    api.requests += 1;
    const { pathname, searchParams } = new URL(request.url);
    const isSummary = pathname === '/ISteamUser/GetPlayerSummaries/v2/';
    const isBans = pathname === '/ISteamUser/GetPlayerBans/v1/';
    if (!isSummary && !isBans && pathname !== '/ISteamUser/ResolveVanityURL/v1/')
      return new Response('', { status: 404 });
    const asked = searchParams.get('steamids')?.split(',') ?? [];
    if (isBans) api.banCalls.push(asked);
    if (isBans && api.delayMs > 0) await Bun.sleep(api.delayMs);
    if (searchParams.get('key') !== api.key) return new Response('Forbidden', { status: 403 });
    if (api.answer === 'fails') return new Response('', { status: 500 });
    if (api.answer === 'never') return new Promise(() => {});
    if (api.answer === 'html') return new Response('<html>');
    if (api.answer === 'nonsense') return Response.json({ response: { players: [null, 1, 'x'] } });
    if (api.answer === 'redirects') return Response.redirect('http://127.0.0.1:1/', 302);
    if (api.answer === 'huge') return new Response(endlessBody());
    if (isBans) return Response.json({ players: asked.flatMap(bansOf) });
    if (!isSummary) {
      const steamid = api.vanityNames[searchParams.get('vanityurl') ?? ''];
      return Response.json({
        response: steamid ? { success: 1, steamid } : { success: 42, message: 'No match' },
      });
    }
    const players = Object.entries(api.players)
      .filter(([steamid]) => api.answersForAnybody || asked.includes(steamid))
      .map(([steamid, profile]) => ({ steamid, communityvisibilitystate: 3, ...profile }));
    return Response.json({ response: { players } });
  }

  /** Steam leaves accounts out that do not exist. */
  function bansOf(steamId: string): Record<string, unknown>[] {
    const own = steamId in api.bans ? api.bans[steamId] : {};
    return own ? [{ ...NO_BANS, SteamId: steamId, ...own }] : [];
  }
}

/** As Steam writes it: https://partner.steamgames.com/doc/webapi/ISteamUser#GetPlayerBans */
const NO_BANS = {
  CommunityBanned: false,
  VACBanned: false,
  NumberOfVACBans: 0,
  DaysSinceLastBan: 0,
  NumberOfGameBans: 0,
  EconomyBan: 'none',
};

/** JSON that begins well and never ends. */
function endlessBody(): ReadableStream<Uint8Array> {
  const chunk = new TextEncoder().encode(`{"players":[],"more":"${'x'.repeat(65_536)}`);
  return new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
}
