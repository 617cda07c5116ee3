import { describe, expect, test } from 'bun:test';
import { createClientKey, findClientAddress, rateLimitKey } from '../../../api/http/client-address.ts';
import { createAddressMatcher } from '../../../src/runtime/address.ts';

const isTrusted = createAddressMatcher(['10.0.0.0/8', '127.0.0.1', 'fd00::/8', '::1']);

test('an address of this network that forwards requests without being trusted is reported once', () => {
  for (const [peer, isReported] of [
    ['127.0.0.1', true],
    ['::ffff:172.17.0.1', true],
    ['fe80::1', true],
    ['203.0.113.7', true],
    ['8.8.8.8', false],
    ['10.0.0.1', false],
  ] as const) {
    const reported: string[] = [];
    const key = createClientKey(
      (address) => address === '10.0.0.1',
      ({ warning }) => reported.push(warning),
    );
    const ask = (headers: Record<string, string>) =>
      key({
        request: new Request('http://localhost', { headers }),
        server: { requestIP: () => ({ address: peer, family: 'IPv4', port: 1 }) },
      } as unknown as Parameters<typeof key>[0]);
    ask({});
    expect(reported).toEqual([]);
    ask({ 'x-forwarded-for': '198.51.100.1' });
    ask({ 'x-forwarded-for': '198.51.100.2' });
    const warning = `${peer} sends X-Forwarded-For and is not trusted: all visitors behind it share one rate limit; if it is your proxy, name it in TRUSTED_PROXIES`;
    expect([peer, reported]).toEqual([peer, isReported ? [warning] : []]);
  }
});

const VISITOR = '198.51.100.1';
const EDGE = '162.158.1.1';
test.each<
  [proxy: string, peer: string, headers: Record<string, string>, problems: [state: string, warning: string][]]
>([
  ['nginx, trusted', '10.0.0.1', { 'x-forwarded-for': VISITOR, 'x-real-ip': VISITOR }, []],
  ['Traefik, trusted', '10.0.0.1', { 'x-forwarded-for': VISITOR, 'x-real-ip': VISITOR }, []],
  [
    'a trusted proxy with X-Real-IP alone',
    '10.0.0.1',
    { 'x-real-ip': VISITOR },
    [['x-real-ip without X-Forwarded-For', '10.0.0.1 sends x-real-ip']],
  ],
  [
    'a proxy of this machine with X-Real-IP alone',
    '127.0.0.1',
    { 'x-real-ip': VISITOR },
    [['x-real-ip without X-Forwarded-For', '127.0.0.1 sends x-real-ip']],
  ],
  [
    'a trusted proxy with an unusable X-Forwarded-For behind Cloudflare',
    '10.0.0.1',
    { 'x-forwarded-for': 'unknown', 'cf-connecting-ip': VISITOR },
    [['cf-connecting-ip without X-Forwarded-For', '10.0.0.1 sends cf-connecting-ip']],
  ],
  [
    'Cloudflare before a trusted nginx',
    '10.0.0.1',
    { 'x-forwarded-for': `${VISITOR}, ${EDGE}`, 'cf-connecting-ip': VISITOR },
    [["Cloudflare's networks are not in TRUSTED_PROXIES", `X-Forwarded-For names ${EDGE}`]],
  ],
  [
    'Cloudflare before a trusted nginx that names the visitor',
    '10.0.0.1',
    { 'x-forwarded-for': VISITOR, 'cf-connecting-ip': VISITOR },
    [],
  ],
  [
    'a public client that forges headers',
    '8.8.8.8',
    { 'cf-connecting-ip': VISITOR, 'x-real-ip': VISITOR },
    [],
  ],
])('problems of proxies are reported: %s', (_, peer, headers, problems) => {
  const reported: object[] = [];
  const key = createClientKey(
    (address) => address === '10.0.0.1',
    (problem) => reported.push(problem),
  );
  const server = { requestIP: () => ({ address: peer, family: 'IPv4', port: 1 }) };
  key({ request: new Request('http://localhost', { headers }), server } as unknown as Parameters<
    typeof key
  >[0]);
  expect(reported).toEqual(
    problems.map(([state, warning]) => ({ state, warning: expect.stringContaining(warning) })),
  );
});

describe('the client of a request', () => {
  test('the client is the peer unless that is a trusted proxy, whatever X-Forwarded-For says', () => {
    for (const forged of ['1.2.3.4', '10.0.0.1', '1.2.3.4, 10.0.0.1', '::1', '', 'x', null])
      expect(findClientAddress('203.0.113.7', forged, isTrusted)).toBe('203.0.113.7');
  });

  const clientOf = (forwardedFor: string | null) => findClientAddress('10.0.0.1', forwardedFor, isTrusted);

  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['1.1.1.1, 203.0.113.7', '203.0.113.7'],
    ['1.1.1.1,203.0.113.7 , 10.9.9.9', '203.0.113.7'],
    ['10.0.0.1, 203.0.113.7, 10.0.0.2, 127.0.0.1', '203.0.113.7'],
    ['2001:db8::7, fd00::1', '2001:db8::7'],
    ['203.0.113.7:51234, 10.0.0.2:80', '203.0.113.7'],
    ['[2001:db8::7]:51234', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    // Without a valid address before them: the last trusted proxy.
    ['unknown', '10.0.0.1'],
    ['', '10.0.0.1'],
    ['1.1.1.1, garbage, 10.0.0.2', '10.0.0.2'],
    ['203.7, 10.0.0.2', '10.0.0.2'],
    ['10.0.0.3, 10.0.0.2', '10.0.0.3'],
    [null, '10.0.0.1'],
  ])('X-Forwarded-For %p is of %s: the rightmost hop that is no trusted proxy', (forwardedFor, client) => {
    expect(clientOf(forwardedFor)).toBe(client);
  });

  test('an overlong X-Forwarded-For does not hide the client that the proxies name at its end', () => {
    const junk = 'x,'.repeat(60_000);
    expect(clientOf(junk)).toBe('10.0.0.1');
    expect(clientOf(`${junk} 203.0.113.7`)).toBe('203.0.113.7');
    expect(clientOf(`${junk}[2001:db8::7]:1, 10.0.0.2`)).toBe('2001:db8::7');
  });

  test('follows X-Forwarded-For over at most 32 proxies', () => {
    const chain = (length: number) => `203.0.113.7${', 10.0.0.2'.repeat(length)}`;
    expect([31, 32, 10_000].map((length) => clientOf(chain(length)))).toEqual([
      '203.0.113.7',
      '10.0.0.2',
      '10.0.0.2',
    ]);
  });
});

describe('the rate-limit key of a client', () => {
  test('limits count the whole IPv4 address, however it is written', () => {
    expect(rateLimitKey('203.0.113.7')).toBe('203.0.113.7');
    expect(rateLimitKey('::ffff:203.0.113.7')).toBe('203.0.113.7');
    expect(rateLimitKey('::ffff:cb00:7107')).toBe('203.0.113.7');
  });

  test('limits count the /64 of an IPv6 address', () => {
    const key = rateLimitKey('2001:db8:1:2::1');
    for (const same of [
      '2001:db8:1:2:ffff:ffff:ffff:ffff',
      '2001:0DB8:0001:0002:0000:0000:0000:0001',
      '2001:db8:1:2:3::',
    ]) {
      expect([same, rateLimitKey(same)]).toEqual([same, key]);
    }
    for (const other of ['2001:db8:1:3::1', '2001:db8::1', '2001:db8:1:2::1'.replace('2001', '2002')]) {
      expect(rateLimitKey(other)).not.toBe(key);
    }
  });
});
