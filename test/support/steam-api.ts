export type SteamApi = {
  /** What `STEAM_API_URL` is set to. */
  url: string;
  key: string;
  answer: 'players' | 'fails' | 'never' | 'html' | 'nonsense' | 'redirects';
  /** Profiles by SteamID64. */
  players: Record<string, { personaname?: unknown; avatarfull?: unknown }>;
  /** SteamID64s by custom name. */
  vanityNames: Record<string, string>;
  /** Gives all players, whoever was asked for. */
  answersForAnybody: boolean;
  requests: number;
  stop: () => Promise<void>;
};

/** Steam's web API on loopback, as far as GetPlayerSummaries and ResolveVanityURL go. */
export function startSteamApi(): SteamApi {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handle });
  const api: SteamApi = {
    url: `http://127.0.0.1:${server.port}`,
    key: 'KEY0123456789ABCDEF0123456789ABC',
    answer: 'players',
    players: {},
    vanityNames: {},
    answersForAnybody: false,
    requests: 0,
    stop: () => server.stop(true),
  };
  return api;

  function handle(request: Request): Response | Promise<Response> {
    api.requests += 1;
    const { pathname, searchParams } = new URL(request.url);
    const isSummary = pathname === '/ISteamUser/GetPlayerSummaries/v2/';
    if (!isSummary && pathname !== '/ISteamUser/ResolveVanityURL/v1/')
      return new Response('', { status: 404 });
    if (searchParams.get('key') !== api.key) return new Response('Forbidden', { status: 403 });
    if (api.answer === 'fails') return new Response('', { status: 500 });
    if (api.answer === 'never') return new Promise(() => {});
    if (api.answer === 'html') return new Response('<html>');
    if (api.answer === 'nonsense') return Response.json({ response: { players: [null, 1, 'x'] } });
    if (api.answer === 'redirects') return Response.redirect('http://127.0.0.1:1/', 302);
    if (!isSummary) {
      const steamid = api.vanityNames[searchParams.get('vanityurl') ?? ''];
      return Response.json({
        response: steamid ? { success: 1, steamid } : { success: 42, message: 'No match' },
      });
    }
    const asked = searchParams.get('steamids')?.split(',') ?? [];
    const players = Object.entries(api.players)
      .filter(([steamid]) => api.answersForAnybody || asked.includes(steamid))
      .map(([steamid, profile]) => ({ steamid, communityvisibilitystate: 3, ...profile }));
    return Response.json({ response: { players } });
  }
}
