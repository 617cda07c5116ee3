import { describe, expect, test } from 'bun:test';
import { verifyAssertion } from '../../../../api/web/sign-in/steam-openid.ts';
import {
  aNonce,
  RETURN_TO,
  STATE,
  STEAM_ID,
  startAssertions,
  VICTIM,
} from '../../../support/providers/steam-assertions.ts';
import { startSteamOpenIdProvider } from '../../../support/providers/steam-openid-provider.ts';

const { provider, steam, aReturn, aTamperedReturn, idOf, refusal } = startAssertions();

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

  test('assertion of another browser: a state that is not this browser’s is refused', async () => {
    const query = aReturn();
    const expected = { returnTo: RETURN_TO.replace(STATE, 'bW9pbg'), state: 'bW9pbg' };
    await expect(verifyAssertion(steam, query.toString(), expected)).rejects.toThrow('return_to');
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

  test('a tampered signature is refused', async () => {
    expect(await refusal(aTamperedReturn({ 'openid.sig': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }))).toBe(
      'check_authentication',
    );
  });
});
