import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import {
  ASSERTION_RULES,
  AssertionRefused,
  buildSignInUrl,
  SignInCancelled,
  type SteamOpenId,
  verifyAssertion,
} from '../../../../api/web/sign-in/steam-openid.ts';
import { Unavailable } from '../../../../src/domain/errors.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';

const STEAM_ID = '76561198000000001';
const VICTIM = '76561198000000002';
const STATE = 'c3RhdGUtb2YtdGhpcy1icm93c2Vy';
const RETURN_TO = `https://community.example/account/sign-in/return?state=${STATE}`;
const EXPECTED = { returnTo: RETURN_TO, state: STATE };

const LOADED_AT = Date.now();
/** A response_nonce as Steam makes them, this far from now. */
const aNonce = (offsetMs: number): string =>
  `${new Date(LOADED_AT + offsetMs).toISOString().slice(0, 19)}Zabcdef`;

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
});

describe('the provider itself', () => {
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

describe('known attacks', () => {
  test('forged op_endpoint: an own provider that vouches for a Steam id is never asked', async () => {
    const evil = startSteamOpenIdProvider({ steamId: VICTIM });
    try {
      evil.conduct = 'vouches for anything';
      const query = evil.sign({ 'openid.return_to': RETURN_TO, ...idOf(VICTIM) });
      query.set('state', STATE);
      expect(await refusal(query)).toBe('op_endpoint');
      query.set('openid.op_endpoint', provider.url);
      expect(await refusal(query)).toBe('check_authentication');
      expect(evil.checks).toBeEmpty();
    } finally {
      await evil.stop();
    }
  });

  test('foreign claimed_id: exchanging the id after signing breaks the signature', async () => {
    expect(await refusal(aTamperedReturn(idOf(VICTIM)))).toBe('check_authentication');
  });

  test('foreign claimed_id: prefixes, suffixes, hosts, groups and out-of-range ids are refused', async () => {
    provider.conduct = 'vouches for anything';
    const base = new URL('id/', provider.url).href;
    const ids = [
      `${base}${STEAM_ID}/`,
      `${base}${STEAM_ID}#`,
      `${base}${STEAM_ID}?x=1`,
      `${base}../id/${STEAM_ID}`,
      `${base}7656119800000000`,
      `${base}765611980000000011`,
      `${base}76561197960265728`,
      `${base}103582791429521408`,
      `${base}90071992547409921`,
      `https://evil.example/${base}${STEAM_ID}`,
      `${base.replace('http:', 'https:')}${STEAM_ID}`,
      `${base.replace('127.0.0.1', '127.0.0.1@evil.example')}${STEAM_ID}`,
      `${base.toUpperCase()}${STEAM_ID}`,
      ` ${base}${STEAM_ID}`,
      `${base}${STEAM_ID} `,
      '',
      STEAM_ID,
    ];
    for (const id of ids) {
      expect([id, await refusal(aReturn({ 'openid.claimed_id': id, 'openid.identity': id }))]).toEqual([
        id,
        'claimed_id',
      ]);
    }
    expect(provider.checks).toBeEmpty();
  });

  test('replayed nonce: a second use is refused although the provider confirms it again', async () => {
    provider.conduct = 'vouches for anything';
    const query = aReturn();
    const both = await Promise.all([refusal(query), refusal(query)]);
    expect(both.filter((rule) => rule === undefined)).toHaveLength(1);
    expect(both.filter((rule) => rule === 'nonce used once')).toHaveLength(1);
  });

  test('replayed nonce: an unconfirmed assertion does not use it up', async () => {
    const query = aReturn();
    provider.conduct = 'refuses everything';
    expect(await refusal(query)).toBe('check_authentication');
    provider.conduct = 'honest';
    expect(await refusal(query)).toBeUndefined();
  });

  test('nonces from the far past, the future, or no time at all are refused', async () => {
    provider.conduct = 'vouches for anything';
    const tail = 'abcdef';
    for (const nonce of [
      aNonce(-24 * 3_600_000),
      aNonce(+65_000),
      tail,
      '',
      `2026-13-45T99:99:99Z${tail}`,
      aNonce(0).replace('Z', '+02:00'),
      aNonce(0).slice(0, 20),
      `${aNonce(0)}${'x'.repeat(250)}`,
    ]) {
      expect([nonce, await refusal(aReturn({ 'openid.response_nonce': nonce }))]).toEqual([
        nonce,
        'fresh nonce',
      ]);
    }
  });

  test('assertion obtained for another site: its return_to gives it away, whatever else is dressed up', async () => {
    const elsewhere = provider.sign({ 'openid.return_to': `https://evil.example/login?state=${STATE}` });
    elsewhere.set('state', STATE);
    expect(await refusal(elsewhere)).toBe('return_to');
    elsewhere.set('openid.return_to', RETURN_TO);
    expect(await refusal(elsewhere)).toBe('check_authentication');
  });

  test('assertion obtained for another site: near misses of return_to are misses', async () => {
    provider.conduct = 'vouches for anything';
    for (const returnTo of [
      `${RETURN_TO}&x=1`,
      `${RETURN_TO}#`,
      RETURN_TO.replace('https:', 'http:'),
      RETURN_TO.replace('community.example', 'community.example.evil.example'),
      RETURN_TO.replace('/account/', '//account/'),
      RETURN_TO.replace(STATE, 'other'),
      RETURN_TO.toUpperCase(),
      '',
    ]) {
      expect([returnTo, await refusal(aReturn({ 'openid.return_to': returnTo }))]).toEqual([
        returnTo,
        'return_to',
      ]);
    }
  });

  test('parameter pollution: any repeated key is refused, equal values and the state included', async () => {
    provider.conduct = 'vouches for anything';
    for (const [key, value] of aReturn()) {
      const polluted = `${aReturn()}&${encodeURIComponent(key)}=${encodeURIComponent(value)}`;
      expect([key, await refusal(polluted)]).toEqual([key, 'no repeated keys']);
    }
    expect(await refusal(`openid.mode=cancel&${aReturn()}`)).toBe('no repeated keys');
  });

  test('parameter pollution: look-alike keys are refused', async () => {
    provider.conduct = 'vouches for anything';
    for (const key of [
      'openid_claimed_id',
      'OPENID.claimed_id',
      'openid.claimed_id[]',
      'openid.',
      'claimed_id',
      'x',
    ]) {
      expect([key, await refusal(`${aReturn()}&${encodeURIComponent(key)}=1`)]).toEqual([
        key,
        'no unknown keys',
      ]);
    }
  });

  test('NUL bytes, line breaks and broken UTF-8 are refused in every field and in keys', async () => {
    provider.conduct = 'vouches for anything';
    for (const bytes of ['%00', '%0A', '%0D%0A', '%C3%28', '%E2%80%AE', '%7F']) {
      for (const key of aReturn().keys()) {
        const poisoned = [...aReturn()]
          .map(([name, value]) => `${name}=${encodeURIComponent(value)}${name === key ? bytes : ''}`)
          .join('&');
        expect([key, bytes, await refusal(poisoned)]).toEqual([key, bytes, 'printable characters']);
      }
      expect(await refusal(`${aReturn()}&openid.sig${bytes}=x`)).toBe('printable characters');
    }
    expect(provider.checks).toBeEmpty();
  });

  test('unsigned fields: leaving any required name out of "signed" is refused', async () => {
    provider.conduct = 'vouches for anything';
    const required = ['op_endpoint', 'claimed_id', 'identity', 'return_to', 'response_nonce', 'assoc_handle'];
    for (const missing of required) {
      const signed = required.filter((name) => name !== missing).join(',');
      expect([missing, await refusal(aReturn({ 'openid.signed': signed }))]).toEqual([missing, 'signed']);
    }
    expect(await refusal(aReturn({ 'openid.signed': `${required.join(',')},claimed_id` }))).toBe('signed');
    expect(await refusal(aReturn({ 'openid.signed': required.join(', ') }))).toBe('signed');
  });

  test('missing fields: an assertion without any one of them is refused', async () => {
    provider.conduct = 'vouches for anything';
    for (const key of new Set(aReturn().keys())) {
      expect([key, await refusal(aTamperedReturn({ [key]: null }))]).not.toEqual([key, undefined]);
    }
    expect(await refusal('')).toBe('ns');
  });

  test('an over-long query is refused before it is read', async () => {
    expect(await refusal(`${aReturn()}&${'x'.repeat(9_000)}`)).toBe('size');
  });
});
