import { createHash } from 'node:crypto';
import { isDiscordId } from '../../../src/domain/discord-id.ts';
import { Unauthorized, Unavailable } from '../../../src/domain/errors.ts';
import { readBoundedText } from '../../../src/runtime/bounded-text.ts';

export type DiscordOAuth = {
  /** `DISCORD_API_URL`, the base of the authorization, token and user endpoints. */
  apiUrl: string;
  clientId: string;
  clientSecret: string;
  /** The redirect URI registered with Discord; the authorization and token requests must contain exactly this one. */
  redirectUri: string;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** How long each of Discord's responses may take, 5,000 ms by default. */
  timeoutMs?: number;
  /** Called when the access token could not be revoked. It is not stored in any case. */
  onRevokeFailed?: (cause: unknown) => void;
};

/** The public fields of a Discord account that are stored. */
type DiscordAccount = {
  /** Valid according to `isDiscordId`. */
  id: string;
  username: string;
  /** The avatar's hash, null when the account has none. */
  avatar: string | null;
};

/** The state and PKCE verifier with which this browser started the link attempt. */
type ExpectedAuthorization = { state: string; codeVerifier: string };

/** The OAuth2 callback was refused; `reason` names the step that failed. */
export class LinkRefused extends Unauthorized {
  override name = 'LinkRefused';
  constructor(
    readonly reason: 'callback' | 'state' | 'code' | 'account',
    options?: ErrorOptions,
  ) {
    super(`the Discord link was refused: ${reason}`, options);
  }
}

/** The visitor pressed "Cancel" on Discord. */
export class LinkCancelled extends Unauthorized {
  override name = 'LinkCancelled';
}

const SCOPE = 'identify';
const RESPONSE_TIMEOUT_MS = 5_000;
const MAX_RESPONSE_BYTES = 65_536;

/**
 * The address on Discord where the visitor authorizes the link: authorization code, PKCE with S256, scope `identify`.
 * @see https://discord.com/developers/docs/topics/oauth2 · RFC 7636
 */
export function buildAuthorizationUrl(discord: DiscordOAuth, pending: ExpectedAuthorization): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: discord.clientId,
    scope: SCOPE,
    redirect_uri: discord.redirectUri,
    state: pending.state,
    code_challenge: createHash('sha256').update(pending.codeVerifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  return `${discord.apiUrl}/oauth2/authorize?${query}`;
}

/**
 * Exchanges the query of the callback for the Discord account that authorized the link. The access token is used for
 * one request, then revoked, and never stored.
 * @param query the raw query string. The caller ensures that `expected.state` is used only once.
 * @throws {LinkRefused} · {LinkCancelled} · {Unavailable} when Discord does not respond.
 */
export async function fetchDiscordAccount(
  discord: DiscordOAuth,
  query: string,
  expected: ExpectedAuthorization,
): Promise<DiscordAccount> {
  const code = readCode(query, expected.state);
  const accessToken = await exchangeCode(discord, code, expected.codeVerifier);
  try {
    return await fetchAccount(discord, accessToken);
  } finally {
    await revokeToken(discord, accessToken);
  }
}

/** Parameters that we do not know are ignored (RFC 6749 section 4.1.2). */
function readCode(query: string, expectedState: string): string {
  const pairs = [...new URLSearchParams(query)];
  const fields = new Map(pairs);
  const isWellFormed =
    query.length <= 4_096 &&
    fields.size === pairs.length &&
    pairs.every(([, value]) => /^[\x20-\x7e]*$/.test(value));
  if (!isWellFormed) throw new LinkRefused('callback');
  if (fields.get('state') !== expectedState) throw new LinkRefused('state');
  if (fields.get('error') === 'access_denied') throw new LinkCancelled('the link was cancelled at Discord');

  const code = fields.get('code');
  if (fields.has('error') || !code || code.length > 512) throw new LinkRefused('callback');
  return code;
}

async function exchangeCode(discord: DiscordOAuth, code: string, codeVerifier: string): Promise<string> {
  const response = await requestJson(discord, '/oauth2/token', {
    method: 'POST',
    headers: { authorization: basicAuthorization(discord) },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: discord.redirectUri,
      code_verifier: codeVerifier,
    }),
  });
  const { access_token: token, token_type: type, scope } = response;
  // RFC 6749 section 5.1: token_type is case-insensitive. A token with another scope than requested is refused.
  const isUsable = typeof token === 'string' && token !== '' && String(type).toLowerCase() === 'bearer';
  if (!isUsable) throw new LinkRefused('code');
  if (scope !== undefined && scope !== SCOPE) {
    await revokeToken(discord, token);
    throw new LinkRefused('code');
  }
  return token;
}

async function fetchAccount(discord: DiscordOAuth, accessToken: string): Promise<DiscordAccount> {
  const { id, username, avatar } = await requestJson(discord, '/users/@me', {
    method: 'GET',
    headers: { authorization: `Bearer ${accessToken}` },
  });
  const isAccount =
    typeof id === 'string' &&
    isDiscordId(id) &&
    typeof username === 'string' &&
    username.length <= 64 &&
    (avatar === null || avatar === undefined || (typeof avatar === 'string' && /^\w{1,64}$/.test(avatar)));
  if (!isAccount) throw new LinkRefused('account');
  return { id, username: username.replaceAll('\0', ''), avatar: avatar ?? null };
}

/** Revokes an access token (RFC 7009); it is not stored, so that a failure is only reported. */
async function revokeToken(discord: DiscordOAuth, token: string): Promise<void> {
  await requestJson(discord, '/oauth2/token/revoke', {
    method: 'POST',
    headers: { authorization: basicAuthorization(discord) },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
  }).catch((cause: unknown) => discord.onRevokeFailed?.(cause));
}

function basicAuthorization({ clientId, clientSecret }: DiscordOAuth): string {
  const credentials = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

/**
 * Sends a request to Discord and reads the JSON object of the response; an empty body is an empty object.
 * @throws {Unavailable} without a response in time, for 429 and 5xx · {LinkRefused} for any other status than 200.
 */
async function requestJson(
  discord: DiscordOAuth,
  path: string,
  init: RequestInit,
): Promise<Record<string, unknown>> {
  const signal = AbortSignal.timeout(discord.timeoutMs ?? RESPONSE_TIMEOUT_MS);
  let status: number;
  let text: string | undefined;
  try {
    const response = await discord.fetch(`${discord.apiUrl}${path}`, {
      ...init,
      redirect: 'manual',
      signal,
      // As for Steam: a code works only once, so a reset of a reused connection would make the link fail.
      keepalive: false,
    });
    status = response.status;
    text = await readBoundedText(response, MAX_RESPONSE_BYTES);
  } catch (cause) {
    throw new Unavailable('Discord does not respond', { cause });
  }
  if (status === 429 || status >= 500) throw new Unavailable(`Discord responded ${status} to ${path}`);
  if (status !== 200 || text === undefined) throw new LinkRefused('code');
  try {
    return { ...JSON.parse(text || '{}') };
  } catch (cause) {
    throw new LinkRefused('account', { cause });
  }
}
