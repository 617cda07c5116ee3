import { describe, expect, test } from 'bun:test';
import {
  ASSERTION_RULES,
  buildSignInUrl,
  SignInCancelled,
  verifyAssertion,
} from '../../../../api/web/sign-in/steam-openid.ts';
import { Unavailable } from '../../../../src/domain/errors.ts';
import {
  aNonce,
  EXPECTED,
  RETURN_TO,
  STATE,
  STEAM_ID,
  startAssertions,
  VICTIM,
} from '../../../support/providers/steam-assertions.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';

const { provider, steam, aReturn, aTamperedReturn, idOf, refusal } = startAssertions();

describe('the request', () => {
  test('asks the provider to pick the identity and names return address and realm', () => {
    const url = new URL(
      buildSignInUrl('https://steamcommunity.com/openid/login', {
        returnTo: RETURN_TO,
        realm: 'https://community.example',
      }),
    );
    expect(url.origin + url.pathname).toBe('https://steamcommunity.com/openid/login');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      'openid.ns': 'http://specs.openid.net/auth/2.0',
      'openid.mode': 'checkid_setup',
      'openid.return_to': RETURN_TO,
      'openid.realm': 'https://community.example',
      'openid.identity': 'http://specs.openid.net/auth/2.0/identifier_select',
      'openid.claimed_id': 'http://specs.openid.net/auth/2.0/identifier_select',
    });
  });

  test('is understood by the provider, whose answer proves the account', async () => {
    provider.approvesAtOnce = true;
    const start = buildSignInUrl(provider.url, { returnTo: RETURN_TO, realm: 'https://community.example' });
    const response = await fetch(start, { redirect: 'manual' });
    provider.approvesAtOnce = false;
    const query = new URL(response.headers.get('location') ?? '').search;
    expect(String(await verifyAssertion(steam, query, EXPECTED))).toBe(STEAM_ID);
  });
});

describe('a genuine assertion', () => {
  test('proves the SteamID64 it names', async () => {
    expect(String(await verifyAssertion(steam, aReturn().toString(), EXPECTED))).toBe(STEAM_ID);
  });

  test('is confirmed with every field unchanged but the mode', async () => {
    const query = aReturn();
    await verifyAssertion(steam, query.toString(), EXPECTED);
    const expected = new URLSearchParams(query);
    expected.delete('state');
    expected.set('openid.mode', 'check_authentication');
    expect(provider.checks.map((body) => Object.fromEntries(body))).toEqual([Object.fromEntries(expected)]);
  });

  test('may carry invalidate_handle, the one optional field', async () => {
    expect(await refusal(aReturn({ 'openid.invalidate_handle': 'old' }))).toBeUndefined();
  });

  test('is accepted up to five minutes after it was made, and from a clock a minute ahead', async () => {
    const now = new Date('2026-11-21T10:00:00Z');
    steam.now = () => now;
    provider.now = () => new Date(now.getTime() - 300_000);
    expect(await refusal(aReturn())).toBeUndefined();
    provider.now = () => new Date(now.getTime() + 60_000);
    expect(await refusal(aReturn())).toBeUndefined();
  });
});

describe('cancelling at the provider', () => {
  test('is told apart from a refusal', async () => {
    const query = `state=${STATE}&openid.ns=http%3A%2F%2Fspecs.openid.net%2Fauth%2F2.0&openid.mode=cancel`;
    await expect(verifyAssertion(steam, query, EXPECTED)).rejects.toBeInstanceOf(SignInCancelled);
  });
});

/**
 * One attack for each rule: the rule refuses it, and without that rule it would be accepted, since the provider confirms
 * every assertion. So each rule is needed, and each test fails when its rule is removed.
 */
const NEEDED: Record<string, () => URLSearchParams | string> = {
  'printable characters': () => `${aReturn()}`.replace('1234567890', '1234%00567890'),
  'no repeated keys': () => `${aReturn()}&openid.claimed_id=${encodeURIComponent('https://evil.example')}`,
  'no unknown keys': () => `${aReturn()}&openid.ext1.mode=fetch_response`,
  ns: () => aTamperedReturn({ 'openid.ns': 'http://openid.net/signon/1.1' }),
  mode: () => aTamperedReturn({ 'openid.mode': 'setup_needed' }),
  op_endpoint: () => aReturn({ 'openid.op_endpoint': 'https://evil.example/openid/login' }),
  return_to: () => aReturn({ 'openid.return_to': `https://evil.example/?state=${STATE}` }),
  state: () => aTamperedReturn({ state: 'c3RhdGUtb2YtYW5vdGhlcg' }),
  identity: () => aReturn({ 'openid.identity': idOf(VICTIM)['openid.identity'] ?? '' }),
  signed: () => aReturn({ 'openid.signed': 'op_endpoint,return_to,response_nonce,assoc_handle' }),
  signature: () => aTamperedReturn({ 'openid.sig': '' }),
  assoc_handle: () => aReturn({ 'openid.assoc_handle': '' }),
  'fresh nonce': () => aReturn({ 'openid.response_nonce': aNonce(-302_000) }),
};

describe('each rule is needed:', () => {
  for (const [rule, attack] of Object.entries(NEEDED)) {
    test(`${rule}`, async () => {
      provider.conduct = 'vouches for anything';
      expect(await refusal(attack())).toBe(rule);
      const without = Object.fromEntries(Object.entries(ASSERTION_RULES).filter(([name]) => name !== rule));
      // 'printable characters' lets the NUL through to the next rule that reads the value, which refuses it too.
      const expected = rule === 'printable characters' ? 'assoc_handle' : undefined;
      expect(await refusal(attack(), without)).toBe(expected);
    });
  }

  test('claimed_id', async () => {
    provider.conduct = 'vouches for anything';
    const foreign = 'https://evil.example/openid/id/76561198000000002';
    const attack = aReturn({ 'openid.claimed_id': foreign, 'openid.identity': foreign });
    expect(await refusal(attack)).toBe('claimed_id');
    expect(provider.checks).toBeEmpty();
    const without = Object.fromEntries(
      Object.entries(ASSERTION_RULES).filter(([name]) => name !== 'claimed_id'),
    );
    await refusal(attack, without);
    expect(provider.checks).toHaveLength(1);
  });

  test('and no rule is without its attack here', () => {
    expect([...Object.keys(NEEDED), 'claimed_id'].sort()).toEqual(Object.keys(ASSERTION_RULES).sort());
  });

  test('check_authentication', async () => {
    provider.conduct = 'refuses everything';
    expect(await refusal(aReturn())).toBe('check_authentication');
  });

  test('nonce used once', async () => {
    provider.conduct = 'vouches for anything';
    const query = aReturn();
    expect(await refusal(query)).toBeUndefined();
    expect(await refusal(query)).toBe('nonce used once');
  });
});

describe('the provider itself', () => {
  test('refuses with a plain no', async () => {
    provider.conduct = 'refuses everything';
    expect(await refusal(aReturn())).toBe('check_authentication');
  });

  test('is unavailable, which is not a refusal, when it gives no verdict', async () => {
    for (const conduct of [
      'redirects',
      'says yes in an error page',
      'answers in HTML',
      'contradicts itself',
      'speaks another protocol',
    ] as const) {
      provider.conduct = conduct;
      const verdict = verifyAssertion(steam, aReturn().toString(), EXPECTED);
      await expect(verdict).rejects.toThrow(/^Steam responded without a verdict: status \d+, /);
      await expect(verdict).rejects.toBeInstanceOf(Unavailable);
    }
  });

  test('has a clock, whose difference from ours is named when it is too large', async () => {
    const query = aReturn({ 'openid.response_nonce': aNonce(-302_000) });
    await expect(verifyAssertion(steam, query.toString(), EXPECTED)).rejects.toThrow(
      /fresh nonce: Steam's clock says 30\d s earlier than this machine's$/,
    );
  });

  test('is unavailable, too, when it is late, failing or endless', async () => {
    for (const conduct of ['never answers', 'fails', 'answers without end'] as const) {
      provider.conduct = conduct;
      const verdict = verifyAssertion(steam, aReturn().toString(), EXPECTED);
      await expect(verdict).rejects.toBeInstanceOf(Unavailable);
    }
    steam.providerUrl = provider.url;
    const gone = startSteamOpenIdProvider();
    await gone.stop();
    provider.conduct = 'honest';
    steam.fetch = (_url, init) => fetch(gone.url, init);
    await expect(verifyAssertion(steam, aReturn().toString(), EXPECTED)).rejects.toBeInstanceOf(Unavailable);
  });
});
