import { afterEach, describe, expect, test } from 'bun:test';
import { queryGameServer } from '../../../src/poll/game-server.ts';
import {
  aChallengePacket,
  anInfoPacket,
  aPlayersPacket,
  aSplitPart,
  type RawServer,
  splitIntoParts,
  startRawServer,
  text,
  uint16,
} from '../../support/game-server/a2s.ts';

const MALFORMED = { hasResponded: false, reason: 'malformed' } as const;
const PLAYERS = aPlayersPacket([{ name: 'Ala', score: 4 }]);

const running: RawServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

async function aServer(...args: Parameters<typeof startRawServer>): Promise<RawServer> {
  const server = await startRawServer(...args);
  running.push(server);
  return server;
}

/** A server with these responses; without the second one, it never answers A2S_PLAYER. */
function aServerWith(info: Buffer[], players: Buffer[] = [PLAYERS]) {
  return aServer(({ isInfo }) => (isInfo ? info : players));
}

const ask = ({ address }: RawServer, timeoutMs = 2000) => queryGameServer(address, { timeoutMs });

/** An A2S_INFO response with a host name of 200 MB of zeros, compressed by bzip2 to 194 bytes. */
const BZIP2_BOMB = Buffer.from(
  'QlpoOTFBWSZTWeKrligG3cbkAMAAIAAAIAAIoABQZoBNUTTPSKgJbEVAS7CKgJdlCoCWvfMUFZJlNZDgni3wFfjkAAwAAACCAAMIBNRkKgJakKgJ' +
    'cxQVkmU1kOCeLfAV+OQADAAAAIIAAwgE1GQqAlqQqAlzFBWSZTWQ4J4t8BX45AAMAAAAggADCATUZCoCWpCoCXMUFZJlNZ158rawB9o8AIwAACAA' +
    'AIIAAwzAmqaYVIg2qpSIPF3JFOFCQqV0R3w=',
  'base64',
);

describe('a split response', () => {
  test('refuses a compressed split response at once, without decompressing it', async () => {
    const header = Buffer.concat([uint16(0), uint16(0), uint16(0), uint16(0)]);
    const bomb = aSplitPart({
      id: 0x8000_0001,
      total: 1,
      number: 0,
      payload: Buffer.concat([header, BZIP2_BOMB]),
    });
    const server = await aServerWith([bomb]);
    const before = process.memoryUsage().rss;
    expect(await ask(server)).toEqual(MALFORMED);
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
  });

  test('refuses a split response with more parts or bytes than any server needs', async () => {
    const part = (total: number, number: number, bytes: number) =>
      aSplitPart({ total, number, payload: Buffer.alloc(bytes) });
    const floods = [
      [part(255, 0, 10)],
      [part(33, 0, 10)],
      Array.from({ length: 31 }, (_, number) => part(32, number, 8000)),
      // Parts are numbered from 0, so there is no part 2 of 2 and none of 0; and all parts of a response give the same total.
      [part(2, 2, 10)],
      [part(0, 0, 10)],
      [part(3, 0, 10), part(2, 1, 10)],
    ];
    for (const [index, flood] of floods.entries()) {
      const server = await aServerWith(flood);
      expect([index, await ask(server)]).toEqual([index, MALFORMED]);
    }
  });

  test('assembles a split response whose parts come twice, in any order, among those of another', async () => {
    const parts = splitIntoParts(anInfoPacket({ hostname: 'Wanted, in several parts' }), {
      id: 1,
      partBytes: 9,
    });
    const late = splitIntoParts(anInfoPacket({ hostname: 'Late, and never whole' }), { id: 2 });
    const server = await aServerWith([
      ...late.slice(1),
      ...parts.slice(2),
      ...parts.slice(2),
      ...parts.slice(0, 1),
      ...parts,
    ]);
    expect(await ask(server)).toMatchObject({ state: { hostname: 'Wanted, in several parts' } });
  });

  test('misses a poll whose split response lacks a part until the time is over', async () => {
    const server = await aServerWith(splitIntoParts(anInfoPacket()).slice(1));
    expect(await ask(server, 1200)).toEqual(MALFORMED);
    expect(server.requests).toHaveLength(3);
  });

  test('holds a response, not parts of parts', async () => {
    const nested = splitIntoParts(Buffer.concat(splitIntoParts(anInfoPacket(), { partBytes: 1000 })));
    expect(await ask(await aServerWith(nested))).toEqual(MALFORMED);
  });

  test('a split response begun over and over again keeps no more than two in memory', async () => {
    const begun = Array.from({ length: 200 }, (_, id) =>
      aSplitPart({ id: id + 10, total: 2, number: 0, payload: Buffer.alloc(100) }),
    );
    const whole = splitIntoParts(anInfoPacket({ hostname: 'Whole' }), { id: 1 });
    const forgotten = [...whole.slice(1), ...begun.slice(0, 2), ...whole.slice(0, 1)];
    const once = await aServer(() => forgotten.splice(0));
    expect(await ask(once, 300)).toEqual(MALFORMED);
    expect(await ask(await aServerWith([...begun, ...whole]))).toMatchObject({
      state: { hostname: 'Whole' },
    });
  });
});

describe('counts are the bytes of A2S_INFO', () => {
  const keywords = (value: string) => Buffer.concat([Buffer.from([0x20]), text(value)]);

  test.each(['cp99999999999,mp9999', 'cp-7,mp-1', 'cp0,mp0'])(
    'counts players by the bytes of A2S_INFO, whatever tags say (%s)',
    async (tags) => {
      for (const appId of [252490, 730]) {
        const info = anInfoPacket({
          appId: appId & 0xffff,
          extraData: Buffer.concat([
            Buffer.from([0x21]),
            text(tags),
            uint16(appId & 0xffff),
            uint16(appId >> 16),
            uint16(0),
            uint16(0),
          ]),
        });
        expect(await ask(await aServerWith([info]))).toMatchObject({
          hasResponded: true,
          state: { playersCount: 3, maxPlayers: 10 },
        });
      }
    },
  );

  test('reads counts of 255 and of none', async () => {
    const full = await aServerWith([anInfoPacket({ players: 255, maxPlayers: 255 })]);
    expect(await ask(full)).toMatchObject({ state: { playersCount: 255, maxPlayers: 255 } });
    const empty = await aServerWith([anInfoPacket({ players: 0, maxPlayers: 0 })]);
    expect(await ask(empty)).toMatchObject({ state: { playersCount: 0, maxPlayers: 0 } });
  });

  test('sends only A2S_INFO and A2S_PLAYER, whatever game the server reports', async () => {
    // Special cases for Battalion 1944, Squad and Soulmask once made a good response malformed.
    for (const appId of [489940, 393380, 2646460]) {
      const gameId = [uint16(appId & 0xffff), uint16(appId >> 16), uint16(0), uint16(0)];
      const extraData = Buffer.concat([Buffer.from([0x01]), ...gameId]);
      const server = await aServerWith([anInfoPacket({ extraData })]);
      expect(await ask(server)).toMatchObject({ state: { players: [{ name: 'Ala', score: 4 }] } });
      expect(server.requests.map((bytes) => bytes[4])).toEqual([0x54, 0x55]);
    }
    const tagged = await aServerWith([
      anInfoPacket({ extraData: keywords('bat_name_s,bat_player_count_s') }),
    ]);
    expect(await ask(tagged)).toMatchObject({ hasResponded: true, state: { hostname: 'Raw server' } });
  });
});

describe('a whole response', () => {
  test('reads a response with every field of extra data and bytes behind its end', async () => {
    const extraData = Buffer.concat([
      Buffer.from([0x80 | 0x10 | 0x40 | 0x20 | 0x01]),
      uint16(27015),
      Buffer.alloc(8, 1),
      uint16(27020),
      text('SourceTV'),
      text('secure,empty'),
      Buffer.alloc(8, 2),
      Buffer.from('behind the end'),
    ]);
    const server = await aServerWith(
      [anInfoPacket({ extraData })],
      [Buffer.concat([PLAYERS, Buffer.from('behind the end')])],
    );
    expect(await ask(server)).toMatchObject({
      state: { hostname: 'Raw server', players: [{ name: 'Ala', score: 4 }] },
    });
  });

  test('keeps what can be read of texts that are not UTF-8', async () => {
    const broken = Buffer.from([0x41, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x42]);
    const server = await aServerWith(
      [anInfoPacket({ hostname: broken })],
      [aPlayersPacket([{ name: broken }])],
    );
    const outcome = await ask(server);
    if (!outcome.hasResponded) throw new Error(outcome.reason);
    const { hostname, players } = outcome.state;
    expect(hostname).toMatch(/^A�+\(�+B$/);
    expect(players).toEqual([{ name: hostname, score: 0, seconds: 60 }]);
    expect(hostname.isWellFormed()).toBe(true);
  });

  test.each([
    ['Zażółć'.repeat(2), 1],
    ['玩家', 1],
    ['玩家', 2],
    ['Ala 😀', 1],
    ['Ala 😀', 2],
    ['Ala 😀', 3],
  ])(
    'a response with texts cut within a character (%s without %d bytes) leaves that character out',
    async (whole, missing) => {
      const name = Buffer.from(whole).subarray(0, -missing);
      const server = await aServerWith([anInfoPacket({ hostname: name })], [aPlayersPacket([{ name }])]);
      const shown = [...whole].slice(0, -1).join('');
      expect(await ask(server)).toMatchObject({
        state: { hostname: shown.trim(), players: [{ name: shown }] },
      });
    },
  );

  const LONG = '😀'.repeat(500);
  test.each([
    [
      'with very long texts is cut to 256 characters',
      [anInfoPacket({ hostname: LONG })],
      [aPlayersPacket([{ name: LONG }])],
      { hostname: '😀'.repeat(256), players: [{ name: '😀'.repeat(256), score: 0, seconds: 60 }] },
    ],
    [
      'lists the entry "Max Players", which a server that hides its players makes up, as nobody',
      [anInfoPacket()],
      [aPlayersPacket([{ name: 'Max Players', score: 10 }])],
      { playersCount: 3, players: [] },
    ],
    [
      'leaves out an impossible time played',
      [anInfoPacket()],
      [
        aPlayersPacket(
          [Number.NaN, -1, 0, Number.POSITIVE_INFINITY].map((seconds) => ({ name: 'Ala', seconds })),
        ),
      ],
      { players: Array.from({ length: 4 }, () => ({ name: 'Ala', score: 0 })) },
    ],
    [
      'of another type, or cut, is ignored',
      [PLAYERS, Buffer.from('\xff\xff\xff\xffI', 'latin1').subarray(0, 3), anInfoPacket()],
      [anInfoPacket({ hostname: 'Again' }), PLAYERS],
      { hostname: 'Raw server', players: [{ name: 'Ala', score: 4, seconds: 60 }] },
    ],
  ])('%s', async (_, info, players, state) => {
    const outcome = await ask(await aServerWith(info, players));
    if (!outcome.hasResponded) throw new Error(outcome.reason);
    expect(outcome.state).toMatchObject(state);
    expect(outcome.state.players).toEqual(state.players);
  });
});

describe('a server that has responded to A2S_INFO is online, whatever it responds to A2S_PLAYER', () => {
  const entries = Array.from({ length: 64 }, (_, index) => ({
    name: `Player ${index} of many`,
    score: 64 - index,
  }));
  const full = aPlayersPacket(entries);
  const entryEnds = entries.map((_, index) => aPlayersPacket(entries.slice(0, index + 1)).length);
  const announcing = (count: number, packet: Buffer) => {
    const copy = Buffer.from(packet);
    copy[5] = count;
    return copy;
  };

  test('shows the complete entries of a broken player list', async () => {
    const countIn = (bytes: number) => entryEnds.filter((end) => end <= bytes).length;
    const cases: [Buffer, number][] = [
      ...[5, 6, 7, 20, 1260, full.length - 1].map((bytes): [Buffer, number] => [
        full.subarray(0, bytes),
        countIn(bytes),
      ]),
      [announcing(255, aPlayersPacket(entries.slice(0, 40))), 40],
    ];
    expect(countIn(1260)).toBeWithin(40, 64);
    for (const [packet, whole] of cases) {
      const server = await aServerWith([anInfoPacket({ players: 64, maxPlayers: 64 })], [packet]);
      expect(await ask(server)).toMatchObject({
        hasResponded: true,
        state: { playersCount: 64, maxPlayers: 64, players: entries.slice(0, whole) },
      });
    }
  });

  test.each([
    [
      'a compressed response',
      [aSplitPart({ id: 0x8000_0001, total: 1, number: 0, payload: Buffer.alloc(40) })],
    ],
    ['parts that contradict each other', [aSplitPart({ total: 2, number: 2, payload: full })]],
    ['parts of parts', splitIntoParts(Buffer.concat(splitIntoParts(full, { partBytes: 1000 })))],
    ['a cut challenge', [aChallengePacket(5).subarray(0, 7)]],
    ['"Banned by server"', [Buffer.from('\xff\xff\xff\xfflBanned by server\0', 'latin1')]],
    ['a flood', Array.from({ length: 300 }, () => Buffer.from('nothing of use'))],
  ])('a server is online with nobody for %s', async (_, datagrams) => {
    const server = await aServerWith([anInfoPacket()], datagrams);
    expect(await ask(server)).toMatchObject({ hasResponded: true, state: { playersCount: 3, players: [] } });
  });
});

describe('a server that answers without an end', () => {
  test('gives up on a server that keeps sending new challenges', async () => {
    let challenge = 1;
    const server = await aServer(() => [aChallengePacket(challenge++)]);
    expect(await ask(server)).toEqual(MALFORMED);
    expect(server.requests.length).toBeLessThanOrEqual(4);
  });

  test('asks a server that repeats its challenge no more often than a silent one', async () => {
    const server = await aServer(() => [aChallengePacket(5)]);
    expect(await ask(server, 400)).toEqual(MALFORMED);
    expect(server.requests.length).toBeLessThanOrEqual(5);
  });

  test('gives up early on a server that floods us with datagrams', async () => {
    const noise = Buffer.from('no response at all');
    let flood: ReturnType<typeof setInterval> | undefined;
    const server = await aServer(({ send }) => {
      flood ??= setInterval(() => {
        for (let number = 0; number < 50; number++) send(noise);
      }, 1);
      return [];
    });
    const outcome = await ask(server, 3000);
    clearInterval(flood);
    expect(outcome).toEqual(MALFORMED);
    expect(server.requests).toHaveLength(1);
  });
});

test('the ping is not shorter than the delay of the server, even if an earlier response comes twice', async () => {
  const server = await aServer(({ isInfo, send }) => {
    const response = isInfo ? anInfoPacket() : PLAYERS;
    setTimeout(() => send(response), 80);
    // The second copy arrives just after the next request has left.
    if (isInfo) setTimeout(() => send(response), 82);
    return [];
  });
  const outcome = await ask(server);
  expect(outcome.hasResponded).toBe(true);
  if (outcome.hasResponded) expect(outcome.state.pingMs).toBeGreaterThanOrEqual(75);
});
