import { createHash, randomBytes } from 'node:crypto';
import { atEnd } from '../cleanup.ts';

export type DiscordOAuthProvider = {
  /** What `DISCORD_API_URL` is set to. */
  apiUrl: string;
  clientId: string;
  clientSecret: string;
  /** Registered return addresses; anything else is refused, as Discord does. */
  redirectUris: string[];
  /** Who is signed in at Discord. */
  account: { id: string; username: string; avatar: string | null; [field: string]: unknown };
  /** What the visitor presses on the consent page. */
  consent: 'allow' | 'deny';
  conduct: 'honest' | 'fails' | 'never answers' | 'widens the scope' | 'answers in HTML' | 'will not revoke';
  /** Runs while somebody waits for the account. */
  beforeAccount: () => Promise<unknown>;
  /** Access tokens that still work. */
  liveTokens: Set<string>;
  /** Method and path of every request, in order. */
  requests: string[];
};

type Grant = { redirectUri: string; challenge: string; scope: string };

/**
 * Discord's OAuth2 on loopback: authorization code with PKCE (S256 required), exact redirect, HTTP Basic client
 * authentication, codes that work once, `/users/@me`, revocation.
 */
export function startDiscordOAuthProvider(): DiscordOAuthProvider {
  const grants = new Map<string, Grant>();
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handle });
  atEnd(() => server.stop(true));
  const provider: DiscordOAuthProvider = {
    apiUrl: `http://127.0.0.1:${server.port}/api`,
    clientId: '1122334455667788990',
    clientSecret: 'secret/with:odd+characters',
    redirectUris: [],
    beforeAccount: async () => {},
    account: { id: '80351110224678912', username: 'nelly', avatar: '8342729096ea3675442027381ff50dfe' },
    consent: 'allow',
    conduct: 'honest',
    liveTokens: new Set(),
    requests: [],
  };
  return provider;

  async function handle(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const call = `${request.method} ${pathname}`;
    provider.requests.push(call);
    if (call === 'GET /api/oauth2/authorize') return authorize(searchParams);
    if (provider.conduct === 'fails') return Response.json({ message: 'down' }, { status: 503 });
    if (provider.conduct === 'never answers') return new Promise(() => {});
    if (provider.conduct === 'answers in HTML') return new Response('<html>', { status: 200 });
    if (call === 'POST /api/oauth2/token') return exchange(request);
    if (call === 'POST /api/oauth2/token/revoke') return revoke(request);
    if (call === 'GET /api/users/@me') {
      await provider.beforeAccount();
      return showAccount(request);
    }
    return Response.json({ message: '404: Not Found', code: 0 }, { status: 404 });
  }

  function authorize(query: URLSearchParams): Response {
    const redirectUri = query.get('redirect_uri') ?? '';
    const isSound =
      query.get('response_type') === 'code' &&
      query.get('client_id') === provider.clientId &&
      provider.redirectUris.includes(redirectUri) &&
      query.get('code_challenge_method') === 'S256' &&
      /^[\w-]{43}$/.test(query.get('code_challenge') ?? '');
    if (!isSound) return new Response('Invalid OAuth2 request', { status: 400 });
    const target = new URL(redirectUri);
    target.searchParams.set('state', query.get('state') ?? '');
    if (provider.consent === 'deny') {
      target.searchParams.set('error', 'access_denied');
      target.searchParams.set(
        'error_description',
        'The resource owner or authorization server denied the request',
      );
      return Response.redirect(target.href, 302);
    }
    const code = randomBytes(15).toString('base64url');
    grants.set(code, {
      redirectUri,
      challenge: query.get('code_challenge') ?? '',
      scope: query.get('scope') ?? '',
    });
    target.searchParams.set('code', code);
    return Response.redirect(target.href, 302);
  }

  async function exchange(request: Request): Promise<Response> {
    if (!isClient(request)) return Response.json({ error: 'invalid_client' }, { status: 401 });
    const form = new URLSearchParams(await request.text());
    const grant = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isGranted =
      form.get('grant_type') === 'authorization_code' &&
      grant?.redirectUri === form.get('redirect_uri') &&
      grant?.challenge === challenge;
    if (!isGranted) return Response.json({ error: 'invalid_grant' }, { status: 400 });
    const token = randomBytes(20).toString('base64url');
    provider.liveTokens.add(token);
    return Response.json({
      access_token: token,
      token_type: 'Bearer',
      expires_in: 604_800,
      refresh_token: randomBytes(20).toString('base64url'),
      scope: provider.conduct === 'widens the scope' ? 'identify email guilds.join' : grant?.scope,
    });
  }

  async function revoke(request: Request): Promise<Response> {
    if (!isClient(request)) return Response.json({ error: 'invalid_client' }, { status: 401 });
    if (provider.conduct === 'will not revoke') return Response.json({ message: 'down' }, { status: 500 });
    provider.liveTokens.delete(new URLSearchParams(await request.text()).get('token') ?? '');
    return Response.json({});
  }

  function showAccount(request: Request): Response {
    const token = request.headers.get('authorization')?.replace(/^Bearer /, '') ?? '';
    if (!provider.liveTokens.has(token))
      return Response.json({ message: '401: Unauthorized' }, { status: 401 });
    return Response.json({ discriminator: '0', public_flags: 64, ...provider.account });
  }

  function isClient(request: Request): boolean {
    const given = request.headers.get('authorization')?.replace(/^Basic /, '') ?? '';
    const [id, secret] = Buffer.from(given, 'base64').toString().split(':').map(decodeURIComponent);
    return id === provider.clientId && secret === provider.clientSecret;
  }
}
