import { beforeEach, describe, expect, test } from 'bun:test';
import { createServer, connect as dial } from 'node:net';
import {
  ASSERTION_RULES,
  AssertionRefused,
  buildSignInUrl,
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

test('a sign-in asks the provider to pick the identity and names return address and realm', () => {
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

describe('a genuine assertion', () => {
  test('confirms a genuine assertion with every field unchanged but the mode', async () => {
    const query = aReturn();
    await verifyAssertion(steam, query.toString(), EXPECTED);
    const expected = new URLSearchParams(query);
    expected.delete('state');
    expected.set('openid.mode', 'check_authentication');
    expect(provider.checks.map((body) => Object.fromEntries(body))).toEqual([Object.fromEntries(expected)]);
  });

  test('accepts an assertion with invalidate_handle, the one optional field', async () => {
    expect(await refusal(aReturn({ 'openid.invalidate_handle': 'old' }))).toBeUndefined();
  });

  test('accepts an assertion with foreign parameters, which trackers and proxies add', async () => {
    const added = 'fbclid=%E2%80%AE&utm_source=a&utm_source=b&__cf_chl_tk=x&OPENID.claimed_id=x&=&x=%00';
    expect(await refusal(`${added}&${aReturn()}&${added}`)).toBeUndefined();
    expect(provider.checks.flatMap((body) => [...body.keys()]).join()).not.toMatch(/utm|OPENID/);
  });

  test('accepts an assertion up to five minutes old, and from a clock a minute ahead', async () => {
    const now = new Date('2026-11-21T10:00:00Z');
    steam.now = () => now;
    provider.now = () => new Date(now.getTime() - 300_000);
    expect(await refusal(aReturn())).toBeUndefined();
    provider.now = () => new Date(now.getTime() + 60_000);
    expect(await refusal(aReturn())).toBeUndefined();
  });
});

const REQUIRED = ['op_endpoint', 'claimed_id', 'identity', 'return_to', 'response_nonce', 'assoc_handle'];
const ID_BASE = new URL('id/', provider.url).href;
const NONCE_TAIL = 'abcdef';
type Attack = URLSearchParams | string;

/**
 * The attacks that each rule refuses while the provider confirms every assertion. Without the rule, the first one would be
 * accepted: so each rule is needed.
 */
const ATTACKS: Record<string, () => Attack[]> = {
  'printable characters': () => [
    `${aReturn()}`.replace('1234567890', '1234%00567890'),
    ...['%00', '%0A', '%0D%0A', '%C3%28', '%E2%80%AE', '%7F'].flatMap((bytes) => [
      ...[...aReturn().keys()].map((key) =>
        [...aReturn()]
          .map(([name, value]) => `${name}=${encodeURIComponent(value)}${name === key ? bytes : ''}`)
          .join('&'),
      ),
      `${aReturn()}&openid.sig${bytes}=x`,
    ]),
  ],
  'no repeated keys': () => [
    `${aReturn()}&openid.claimed_id=${encodeURIComponent('https://evil.example')}`,
    ...[...aReturn()].map(
      ([key, value]) => `${aReturn()}&${encodeURIComponent(key)}=${encodeURIComponent(value)}`,
    ),
    `openid.mode=cancel&${aReturn()}`,
  ],
  'no unknown keys': () =>
    ['openid.ext1.mode', 'openid.claimed_id[]', 'openid.'].map(
      (key) => `${aReturn()}&${encodeURIComponent(key)}=1`,
    ),
  ns: () => [aTamperedReturn({ 'openid.ns': 'http://openid.net/signon/1.1' }), ''],
  mode: () => [aTamperedReturn({ 'openid.mode': 'setup_needed' })],
  op_endpoint: () => [aReturn({ 'openid.op_endpoint': 'https://evil.example/openid/login' })],
  // An assertion for another site, and near misses.
  return_to: () =>
    [
      `https://evil.example/?state=${STATE}`,
      `${RETURN_TO}&x=1`,
      `${RETURN_TO}#`,
      RETURN_TO.replace('https:', 'http:'),
      RETURN_TO.replace('community.example', 'community.example.evil.example'),
      RETURN_TO.replace('/account/', '//account/'),
      RETURN_TO.replace(STATE, 'other'),
      RETURN_TO.toUpperCase(),
      '',
    ].map((returnTo) => aReturn({ 'openid.return_to': returnTo })),
  state: () => [aTamperedReturn({ state: 'c3RhdGUtb2YtYW5vdGhlcg' })],
  // Prefixes, suffixes, hosts, groups and ids out of range.
  claimed_id: () =>
    [
      'https://evil.example/openid/id/76561198000000002',
      `${ID_BASE}${STEAM_ID}/`,
      `${ID_BASE}${STEAM_ID}#`,
      `${ID_BASE}${STEAM_ID}?x=1`,
      `${ID_BASE}../id/${STEAM_ID}`,
      `${ID_BASE}7656119800000000`,
      `${ID_BASE}765611980000000011`,
      `${ID_BASE}76561197960265728`,
      `${ID_BASE}103582791429521408`,
      `${ID_BASE}90071992547409921`,
      `https://evil.example/${ID_BASE}${STEAM_ID}`,
      `${ID_BASE.replace('http:', 'https:')}${STEAM_ID}`,
      `${ID_BASE.replace('127.0.0.1', '127.0.0.1@evil.example')}${STEAM_ID}`,
      `${ID_BASE.toUpperCase()}${STEAM_ID}`,
      ` ${ID_BASE}${STEAM_ID}`,
      `${ID_BASE}${STEAM_ID} `,
      '',
      STEAM_ID,
    ].map((id) => aReturn({ 'openid.claimed_id': id, 'openid.identity': id })),
  identity: () => [aReturn({ 'openid.identity': idOf(VICTIM)['openid.identity'] ?? '' })],
  signed: () =>
    [
      ...REQUIRED.map((name) => REQUIRED.filter((other) => other !== name).join(',')),
      `${REQUIRED.join(',')},claimed_id`,
      REQUIRED.join(', '),
    ].map((signed) => aReturn({ 'openid.signed': signed })),
  signature: () => [aTamperedReturn({ 'openid.sig': '' })],
  assoc_handle: () => [aReturn({ 'openid.assoc_handle': '' })],
  'fresh nonce': () =>
    [
      aNonce(-302_000),
      aNonce(-24 * 3_600_000),
      aNonce(+65_000),
      NONCE_TAIL,
      '',
      `2026-13-45T99:99:99Z${NONCE_TAIL}`,
      aNonce(0).replace('Z', '+02:00'),
      aNonce(0).slice(0, 20),
      `${aNonce(0)}${'x'.repeat(250)}`,
    ].map((nonce) => aReturn({ 'openid.response_nonce': nonce })),
};

describe('each rule is needed:', () => {
  test.each(Object.entries(ATTACKS))('%s', async (rule, listAttacks) => {
    provider.conduct = 'vouches for anything';
    const attacks = listAttacks();
    for (const attack of attacks) expect([`${attack}`, await refusal(attack)]).toEqual([`${attack}`, rule]);
    expect(provider.checks).toBeEmpty();
    const [first = ''] = attacks;
    const others = Object.fromEntries(Object.entries(ASSERTION_RULES).filter(([name]) => name !== rule));
    // The next rule that reads a value with a NUL refuses it too; a foreign id is noticed at the end.
    const next: Record<string, string> = { 'printable characters': 'assoc_handle', claimed_id: 'claimed_id' };
    expect(await refusal(first, others)).toBe(next[rule]);
    expect(provider.checks).toHaveLength(rule === 'printable characters' ? 0 : 1);
  });

  test('every rule has its attack here', () => {
    expect(Object.keys(ATTACKS).sort()).toEqual(Object.keys(ASSERTION_RULES).sort());
  });
});

describe('the provider itself', () => {
  const withoutIsValid = /^Steam responded without is_valid: status \d+, /;
  test.each([
    ['redirects', withoutIsValid],
    ['says yes in an error page', withoutIsValid],
    ['answers in HTML', withoutIsValid],
    ['contradicts itself', withoutIsValid],
    ['speaks another protocol', withoutIsValid],
    ['never answers', /./],
    ['fails', /./],
    ['answers without end', /./],
  ] as const)('a provider that %s is unavailable, which is not a refusal', async (conduct, message) => {
    provider.conduct = conduct;
    const verification = verifyAssertion(steam, aReturn().toString(), EXPECTED);
    await expect(verification).rejects.toThrow(message);
    await expect(verification).rejects.toBeInstanceOf(Unavailable);
  });

  test('a provider that nobody runs is unavailable', async () => {
    const gone = startSteamOpenIdProvider();
    await gone.stop();
    steam.fetch = (_url, init) => fetch(gone.url, init);
    await expect(verifyAssertion(steam, aReturn().toString(), EXPECTED)).rejects.toBeInstanceOf(Unavailable);
  });

  test('confirms each sign-in over a connection of its own, since it may reset one that was kept', async () => {
    const { port } = new URL(provider.url);
    const resetting = createServer((client) => {
      const upstream = dial(Number(port), '127.0.0.1');
      let requests = 0;
      client.on('data', (bytes) => {
        if (bytes.toString('latin1').startsWith('POST ')) requests += 1;
        if (requests > 1) client.resetAndDestroy();
        else upstream.write(bytes);
      });
      upstream.pipe(client);
      for (const socket of [client, upstream]) socket.on('error', () => {});
      client.on('close', () => upstream.destroy());
    });
    await new Promise<void>((settle) => resetting.listen(0, '127.0.0.1', settle));
    const address = resetting.address();
    const through = `http://127.0.0.1:${typeof address === 'object' && address?.port}/openid/login`;
    steam.fetch = (_url, init) => fetch(through, init);
    for (let i = 0; i < 4; i++) expect(await refusal(aReturn())).toBeUndefined();
    resetting.close();
  });

  test("names the difference of the provider's clock from ours when it is too large", async () => {
    const query = aReturn({ 'openid.response_nonce': aNonce(-302_000) });
    await expect(verifyAssertion(steam, query.toString(), EXPECTED)).rejects.toThrow(
      /fresh nonce: Steam's clock says 30\d s earlier than this machine's$/,
    );
  });
});

describe('known attacks', () => {
  test('foreign claimed_id: exchanging the id after signing breaks the signature', async () => {
    expect(await refusal(aTamperedReturn(idOf(VICTIM)))).toBe('check_authentication');
  });

  test('replayed nonce: an unconfirmed assertion does not use it up', async () => {
    const query = aReturn();
    provider.conduct = 'refuses everything';
    expect(await refusal(query)).toBe('check_authentication');
    provider.conduct = 'honest';
    expect(await refusal(query)).toBeUndefined();
  });

  test('missing fields: an assertion without any one of them is refused', async () => {
    provider.conduct = 'vouches for anything';
    for (const key of new Set(aReturn().keys())) {
      expect([key, await refusal(aTamperedReturn({ [key]: null }))]).not.toEqual([key, undefined]);
    }
  });

  test('an over-long query is refused before it is read', async () => {
    expect(await refusal(`${aReturn()}&${'x'.repeat(9_000)}`)).toBe('size');
  });
});
