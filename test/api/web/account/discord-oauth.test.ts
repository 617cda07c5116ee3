import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import {
  buildAuthorizationUrl,
  type DiscordOAuth,
  fetchDiscordAccount,
  LinkRefused,
} from '../../../../api/web/account/discord-oauth.ts';
import { Unavailable } from '../../../../src/domain/errors.ts';
import { startDiscordOAuthProvider } from '../../../support/providers/discord-oauth-provider.ts';

const REDIRECT_URI = 'https://community.example/account/discord/return';
const PENDING = { state: 'c3RhdGU', codeVerifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' };
const NELLY = { id: '80351110224678912', username: 'nelly', avatar: '8342729096ea3675442027381ff50dfe' };

const provider = startDiscordOAuthProvider();
afterAll(() => provider.stop());

let discord: DiscordOAuth;
let revokeFailures: unknown[];
beforeEach(() => {
  Object.assign(provider, { consent: 'allow', conduct: 'honest', account: { ...NELLY }, requests: [] });
  provider.redirectUris = [REDIRECT_URI];
  provider.liveTokens.clear();
  revokeFailures = [];
  discord = {
    apiUrl: provider.apiUrl,
    clientId: provider.clientId,
    clientSecret: provider.clientSecret,
    redirectUri: REDIRECT_URI,
    fetch,
    timeoutMs: 400,
    onRevokeFailed: (cause) => revokeFailures.push(cause),
  };
});

/** Goes through the consent page and returns the query that Discord redirects back with. */
async function aReturn(pending = PENDING): Promise<string> {
  const response = await fetch(buildAuthorizationUrl(discord, pending), { redirect: 'manual' });
  expect(response.status).toBe(302);
  return new URL(response.headers.get('location') ?? '').search.slice(1);
}

async function refusal(query: string, pending = PENDING): Promise<string | undefined> {
  try {
    await fetchDiscordAccount(discord, query, pending);
    return undefined;
  } catch (error) {
    if (error instanceof LinkRefused) return error.reason;
    throw error;
  }
}

describe('the request', () => {
  test('asks for a code with the scope identify, the exact redirect and the S256 challenge of RFC 7636', () => {
    const url = new URL(buildAuthorizationUrl(discord, PENDING));
    expect(url.origin + url.pathname).toBe(`${provider.apiUrl}/oauth2/authorize`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: 'code',
      client_id: provider.clientId,
      scope: 'identify',
      redirect_uri: REDIRECT_URI,
      state: PENDING.state,
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    });
  });
});

describe('a link', () => {
  test('gives id, username and avatar hash, and leaves no token behind', async () => {
    expect(await fetchDiscordAccount(discord, await aReturn(), PENDING)).toEqual(NELLY);
    expect(provider.liveTokens.size).toBe(0);
    expect(provider.requests).toEqual([
      'GET /api/oauth2/authorize',
      'POST /api/oauth2/token',
      'GET /api/users/@me',
      'POST /api/oauth2/token/revoke',
    ]);
  });

  test('succeeds even if Discord does not revoke the token, which is reported', async () => {
    provider.conduct = 'will not revoke';
    expect(await fetchDiscordAccount(discord, await aReturn(), PENDING)).toEqual(NELLY);
    expect(revokeFailures).toHaveLength(1);
  });

  test('refuses a link that is cancelled in another browser', async () => {
    provider.consent = 'deny';
    expect(await refusal(await aReturn({ ...PENDING, state: 'other' }))).toBe('state');
  });
});

describe('a refused link', () => {
  test('refuses a state of another browser before Discord is asked', async () => {
    const query = await aReturn({ ...PENDING, state: 'other' });
    provider.requests = [];
    expect(await refusal(query)).toBe('state');
    expect(await refusal(query.replace('&state=other', '').replace('state=other&', ''))).toBe('state');
    expect(provider.requests).toBeEmpty();
  });

  test('refuses a code that was obtained with another PKCE verifier (code injection)', async () => {
    const query = await aReturn({ ...PENDING, codeVerifier: 'of-the-attacker-0123456789-0123456789-01234' });
    expect(await refusal(query)).toBe('code');
  });

  test('refuses repeated and unprintable parameters', async () => {
    const query = await aReturn();
    for (const extra of ['&code=x', `&state=${PENDING.state}`, '&iss=%00', '&error_uri=%0A']) {
      expect([extra, await refusal(query + extra)]).toEqual([extra, 'callback']);
    }
    expect(await refusal(`${query}&iss=${'x'.repeat(5_000)}`)).toBe('callback');
    expect(await refusal(`state=${PENDING.state}`)).toBe('callback');
    expect(await refusal(`state=${PENDING.state}&error=server_error&code=x`)).toBe('callback');
  });

  test('refuses a token with a wider scope than asked for, and revokes it', async () => {
    provider.conduct = 'widens the scope';
    expect(await refusal(await aReturn())).toBe('code');
    expect(provider.liveTokens.size).toBe(0);
  });

  test('refuses a response that is not an account', async () => {
    const query = await aReturn();
    provider.account = { ...NELLY, id: '1 OR 1=1' };
    expect(await refusal(query)).toBe('account');
    expect(provider.liveTokens.size).toBe(0);
    const another = await aReturn();
    provider.conduct = 'answers in HTML';
    expect(await refusal(another)).toBe('account');
  });
});

test('a Discord that fails or does not respond is unavailable, not a refusal', async () => {
  for (const conduct of ['fails', 'never answers'] as const) {
    const query = await aReturn();
    provider.conduct = conduct;
    await expect(fetchDiscordAccount(discord, query, PENDING)).rejects.toBeInstanceOf(Unavailable);
    provider.conduct = 'honest';
  }
});
