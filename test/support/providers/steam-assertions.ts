import { afterAll, beforeEach } from 'bun:test';
import {
  ASSERTION_RULES,
  AssertionRefused,
  type SteamOpenId,
  verifyAssertion,
} from '../../../api/web/sign-in/steam-openid.ts';
import { startSteamOpenIdProvider } from './steam-openid-provider.ts';

export const STEAM_ID = '76561198000000001';
export const VICTIM = '76561198000000002';
export const STATE = 'c3RhdGUtb2YtdGhpcy1icm93c2Vy';
export const RETURN_TO = `https://community.example/account/sign-in/return?state=${STATE}`;
export const EXPECTED = { returnTo: RETURN_TO, state: STATE };

const LOADED_AT = Date.now();
/** A response_nonce as Steam makes them, this far from now. */
export const aNonce = (offsetMs: number): string =>
  `${new Date(LOADED_AT + offsetMs).toISOString().slice(0, 19)}Zabcdef`;

/** Signed returns from an OpenID provider of the test file's own; before each test it is honest and has forgotten everything. */
export function startAssertions() {
  const provider = startSteamOpenIdProvider({ steamId: STEAM_ID });
  afterAll(() => provider.stop());

  let nonces = new Set<string>();
  const genuine: SteamOpenId = {
    providerUrl: provider.url,
    fetch,
    now: () => new Date(),
    timeoutMs: 400,
    claimNonce: async (nonce) => !nonces.has(nonce) && nonces.add(nonce) !== undefined,
  };
  /** What the verifier works with; a test may change it for itself. */
  const steam = { ...genuine };
  beforeEach(() => {
    provider.conduct = 'honest';
    provider.now = () => new Date();
    provider.checks = [];
    nonces = new Set();
    Object.assign(steam, genuine);
  });

  /** The query of a genuine return, with openid fields replaced before the provider signs. */
  function aReturn(fields: Record<string, string> = {}): URLSearchParams {
    const query = provider.sign({ 'openid.return_to': RETURN_TO, ...fields });
    query.set('state', STATE);
    return query;
  }

  /** The same with fields replaced after signing; `null` takes one away. */
  function aTamperedReturn(fields: Record<string, string | null>): URLSearchParams {
    const query = aReturn();
    for (const [name, value] of Object.entries(fields)) {
      if (value === null) query.delete(name);
      else query.set(name, value);
    }
    return query;
  }

  async function refusal(
    query: URLSearchParams | string,
    rules = ASSERTION_RULES,
  ): Promise<string | undefined> {
    try {
      await verifyAssertion(steam, String(query), EXPECTED, rules);
      return undefined;
    } catch (error) {
      if (error instanceof AssertionRefused) return error.rule;
      throw error;
    }
  }

  function idOf(steamId: string): Record<string, string> {
    const url = new URL(`id/${steamId}`, provider.url).href;
    return { 'openid.claimed_id': url, 'openid.identity': url };
  }

  return { provider, steam, aReturn, aTamperedReturn, idOf, refusal };
}
