import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createPartJoiner, parseInfo, parsePlayers, QueryFailure } from '../../../src/poll/a2s-protocol.ts';
import { queryGameServer } from '../../../src/poll/game-server.ts';
import {
  aChallengePacket,
  anInfoPacket,
  aPlayersPacket,
  aSplitPart,
  splitIntoParts,
  startRawServer,
  text,
  uint16,
} from '../../support/game-server/a2s.ts';

const MALFORMED = { hasResponded: false, reason: 'malformed' } as const;
const PLAYERS = aPlayersPacket([{ name: 'Ala', score: 4 }]);

/** A server with these responses; without the second one, it never answers A2S_PLAYER. */
function aServerWith(info: Buffer[], players: Buffer[] = [PLAYERS]) {
  return startRawServer(({ isInfo }) => (isInfo ? info : players));
}

const ask = ({ address }: { address: string }, timeoutMs = 2000) => queryGameServer(address, { timeoutMs });

/** @returns what is read of a server with these responses. */
async function stateOf(info: Buffer[], players?: Buffer[]) {
  const outcome = await ask(await aServerWith(info, players));
  if (!outcome.hasResponded) throw new Error(outcome.reason);
  return outcome.state;
}

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
    expect(server.requests).toHaveLength(1);
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
  });

  const part = (total: number, number: number, bytes = 10) =>
    aSplitPart({ total, number, payload: Buffer.alloc(bytes) });
  test.each([
    ['of 255 parts', [part(255, 0)]],
    ['of 33 parts', [part(33, 0)]],
    [
      'of more bytes than any server needs',
      Array.from({ length: 31 }, (_, number) => part(32, number, 8000)),
    ],
    ['with a part 2 of 2, as parts are numbered from 0', [part(2, 2)]],
    ['with a part of none', [part(0, 0)]],
    [
      'whose parts give different totals',
      [
        aSplitPart({ total: 3, number: 0, payload: anInfoPacket().subarray(0, 20) }),
        aSplitPart({ total: 2, number: 1, payload: anInfoPacket().subarray(20) }),
      ],
    ],
    ['of parts of parts', splitIntoParts(Buffer.concat(splitIntoParts(anInfoPacket(), { partBytes: 1000 })))],
  ])('refuses a split response %s at once', async (_, parts) => {
    const server = await aServerWith(parts);
    expect(await ask(server)).toEqual(MALFORMED);
    expect(server.requests).toHaveLength(1);
  });

  test('assembles a split response whose parts come twice, in any order, among those of another', async () => {
    const parts = splitIntoParts(anInfoPacket({ hostname: 'Wanted' }), { id: 1, partBytes: 9 });
    const late = splitIntoParts(anInfoPacket({ hostname: 'Late, and never whole' }), { id: 2 });
    const [first, rest] = [parts.slice(0, 1), parts.slice(2)];
    expect(await stateOf([...late.slice(1), ...rest, ...rest, ...first, ...parts])).toMatchObject({
      hostname: 'Wanted',
    });
  });

  test('misses a poll whose split response lacks a part until the time is over', async () => {
    const server = await aServerWith(splitIntoParts(anInfoPacket()).slice(1));
    expect(await ask(server, 1200)).toEqual(MALFORMED);
    expect(server.requests).toHaveLength(3);
  });

  test('a split response begun over and over again keeps no more than two in memory', async () => {
    const begun = Array.from({ length: 200 }, (_, id) =>
      aSplitPart({ id: id + 10, total: 2, number: 0, payload: Buffer.alloc(100) }),
    );
    const whole = splitIntoParts(anInfoPacket({ hostname: 'Whole' }), { id: 1 });
    const forgotten = [...whole.slice(1), ...begun.slice(0, 2), ...whole.slice(0, 1)];
    const once = await startRawServer(() => forgotten.splice(0));
    expect(await ask(once, 300)).toEqual(MALFORMED);
    expect(await stateOf([...begun, ...whole])).toMatchObject({ hostname: 'Whole' });
  });
});

describe('a whole response', () => {
  const behind = Buffer.from('behind the end');
  const everyField = Buffer.concat([
    Buffer.from([0x80 | 0x10 | 0x40 | 0x20 | 0x01]),
    uint16(27015),
    Buffer.alloc(8, 1),
    uint16(27020),
    text('SourceTV'),
    text('secure,empty'),
    Buffer.alloc(8, 2),
    behind,
  ]);
  const LONG = '😀'.repeat(500);
  const KEPT = '😀'.repeat(256);
  const impossible = [Number.NaN, -1, 0, Number.POSITIVE_INFINITY].map((seconds) => ({
    name: 'Ala',
    seconds,
  }));
  const cutResponse = Buffer.from('\xff\xff\xff\xffI', 'latin1').subarray(0, 3);
  const ala = { name: 'Ala', score: 4, seconds: 60 };

  test.each([
    [
      'reads every field of extra data and bytes behind the end',
      [anInfoPacket({ extraData: everyField })],
      [Buffer.concat([PLAYERS, behind])],
      { hostname: 'Raw server', players: [ala] },
    ],
    [
      'reads counts of 255',
      [anInfoPacket({ players: 255, maxPlayers: 255 })],
      [PLAYERS],
      { playersCount: 255, maxPlayers: 255, players: [ala] },
    ],
    [
      'counts the names it lists instead of 254 of 10 players',
      [anInfoPacket({ players: 254, maxPlayers: 10 })],
      [PLAYERS],
      { playersCount: 1, maxPlayers: 10, players: [ala] },
    ],
    [
      'counts nobody instead of 65 of 64 players without names',
      [anInfoPacket({ players: 65, maxPlayers: 64 })],
      [aPlayersPacket([])],
      { playersCount: 0, maxPlayers: 64, players: [] },
    ],
    [
      'accepts up to 64 players on fewer slots',
      [anInfoPacket({ players: 64, maxPlayers: 10 })],
      [PLAYERS],
      { playersCount: 64, maxPlayers: 10, players: [ala] },
    ],
    [
      'reads counts of 0',
      [anInfoPacket({ players: 0, maxPlayers: 0 })],
      [PLAYERS],
      { playersCount: 0, maxPlayers: 0, players: [ala] },
    ],
    [
      'cuts very long texts to 256 characters',
      [anInfoPacket({ hostname: LONG })],
      [aPlayersPacket([{ name: LONG }])],
      { hostname: KEPT, players: [{ name: KEPT, score: 0, seconds: 60 }] },
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
      [aPlayersPacket(impossible)],
      { players: impossible.map(() => ({ name: 'Ala', score: 0 })) },
    ],
    [
      'ignores a response of another type, and one that is cut',
      [PLAYERS, cutResponse, anInfoPacket()],
      [anInfoPacket({ hostname: 'Again' }), PLAYERS],
      { hostname: 'Raw server', players: [ala] },
    ],
  ] as const)('%s', async (_, info, players, expected) => {
    const state = await stateOf([...info], [...players]);
    expect(state).toMatchObject(expected);
    expect(state.players).toEqual([...expected.players]);
  });

  // Special cases for Battalion 1944, Squad and Soulmask once made a good response malformed.
  test.each([
    ...[489940, 393380, 2646460].map((appId) => [appId, ''] as const),
    [730, 'bat_name_s,bat_player_count_s'],
    ...['cp99999999999,mp9999', 'cp-7,mp-1', 'cp0,mp0'].flatMap((tags) => [
      [252490, tags] as const,
      [730, tags] as const,
    ]),
  ])('game %d with the tags %j is asked and counted as any other', async (appId, tags) => {
    const gameId = [uint16(appId & 0xffff), uint16(appId >> 16), uint16(0), uint16(0)];
    const extraData = Buffer.concat([Buffer.from([0x21]), text(tags), ...gameId]);
    const server = await aServerWith([anInfoPacket({ appId: appId & 0xffff, extraData })]);
    expect(await ask(server)).toMatchObject({
      state: {
        playersCount: 3,
        maxPlayers: 10,
        hostname: 'Raw server',
        players: [{ name: 'Ala', score: 4 }],
      },
    });
    expect(server.requests.map((bytes) => bytes[4])).toEqual([0x54, 0x55]);
  });

  test('keeps what can be read of texts that are not UTF-8', async () => {
    const broken = Buffer.from([0x41, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x42]);
    const { hostname, players } = await stateOf(
      [anInfoPacket({ hostname: broken })],
      [aPlayersPacket([{ name: broken }])],
    );
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
      const shown = [...whole].slice(0, -1).join('');
      expect(await stateOf([anInfoPacket({ hostname: name })], [aPlayersPacket([{ name }])])).toMatchObject({
        hostname: shown.trim(),
        players: [{ name: shown }],
      });
    },
  );
});

describe('a server that has responded to A2S_INFO is online, whatever it responds to A2S_PLAYER', () => {
  const entries = Array.from({ length: 64 }, (_, index) => ({
    name: `Player ${index} of many`,
    score: 64 - index,
  }));
  const full = aPlayersPacket(entries);
  const announcing255 = aPlayersPacket(entries.slice(0, 40));
  announcing255[5] = 255;

  test.each([
    ['cut before its count', full.subarray(0, 5), 0],
    ['cut behind its count', full.subarray(0, 6), 0],
    ['cut in the number of its first entry', full.subarray(0, 7), 0],
    ['cut in its first entry', full.subarray(0, 20), 0],
    ['cut in the middle', full.subarray(0, 1260), 46],
    ['cut in its last entry', full.subarray(0, -1), 63],
    ['that announces more than it has', announcing255, 40],
  ])('shows the complete entries of a player list %s', async (_, packet, count) => {
    const state = await stateOf([anInfoPacket({ players: 64, maxPlayers: 64 })], [packet]);
    expect(state).toMatchObject({ playersCount: 64, maxPlayers: 64, players: entries.slice(0, count) });
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
    expect(await stateOf([anInfoPacket()], datagrams)).toMatchObject({ playersCount: 3, players: [] });
  });
});

describe('a server that answers without an end', () => {
  test('gives up on a server that keeps sending new challenges', async () => {
    let challenge = 1;
    const server = await startRawServer(() => [aChallengePacket(challenge++)]);
    expect(await ask(server)).toEqual(MALFORMED);
    expect(server.requests.length).toBeLessThanOrEqual(4);
  });

  test('asks a server that repeats its challenge no more often than a silent one', async () => {
    const server = await startRawServer(() => [aChallengePacket(5)]);
    expect(await ask(server, 400)).toEqual(MALFORMED);
    expect(server.requests.length).toBeLessThanOrEqual(5);
  });

  test('gives up early on a server that floods us with datagrams', async () => {
    const noise = Buffer.from('no response at all');
    let flood: ReturnType<typeof setInterval> | undefined;
    const server = await startRawServer(({ send }) => {
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
  const server = await startRawServer(({ isInfo, send }) => {
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

const MANY_PLAYERS = aPlayersPacket(
  Array.from({ length: 64 }, (_, number) => ({ name: `Zażółć ${number}`, score: number - 9 })),
);
const EXTRA = [Buffer.from([0xf1]), uint16(27015), Buffer.alloc(8, 1), uint16(27020)];
const extraData = Buffer.concat([...EXTRA, text('SourceTV'), text('secure,cp5'), Buffer.alloc(8, 2)]);
const whole = fc.constantFrom(
  ...[anInfoPacket(), anInfoPacket({ extraData }), aPlayersPacket([{ name: 'Ala', score: 4 }]), MANY_PLAYERS],
  ...splitIntoParts(MANY_PLAYERS, { partBytes: 700 }),
);
const byte = fc.oneof(fc.constantFrom(0, 0xff, 0x7f, 0x80), fc.nat(255));
/** What a server that lies may send: random bytes, and whole responses with some of it cut, changed or repeated. */
const datagram: fc.Arbitrary<Buffer> = fc.oneof(
  fc.uint8Array({ maxLength: 1400 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(whole, fc.uint8Array({ maxLength: 300 }))
    .map(([packet, rest]) => Buffer.concat([packet.subarray(0, 5), rest])),
  fc.tuple(whole, fc.nat()).map(([packet, end]) => packet.subarray(0, end % (packet.length + 1))),
  fc
    .tuple(whole, fc.nat())
    .map(([packet, from]) => Buffer.concat([packet, packet.subarray(from % packet.length)])),
  fc
    .record({
      id: fc.oneof(fc.nat(4), fc.constant(0x8000_0001)),
      total: byte,
      number: fc.nat(2),
      payload: whole,
    })
    .map(aSplitPart),
  fc
    .tuple(whole, fc.array(fc.tuple(fc.nat(), byte), { minLength: 1, maxLength: 4 }))
    .map(([packet, changes]) => {
      const changed = Buffer.from(packet);
      for (const [at, value] of changes) changed[at % changed.length] = value;
      return changed;
    }),
);

/** @returns the error thrown, if any; a missed poll throws none. */
function surprise(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof QueryFailure ? undefined : error;
  }
}

test('random and changed packets are read, or are misses, and nothing else', () => {
  const joinParts = createPartJoiner();
  for (const bytes of fc.sample(datagram, { numRuns: 20_000, seed: 1 })) {
    const body = bytes.subarray(5);
    expect(surprise(() => parseInfo(body))).toBeUndefined();
    expect(surprise(() => parsePlayers(body, { appId: 730 }))).toBeUndefined();
    expect(surprise(() => joinParts(bytes.subarray(4)))).toBeUndefined();
  }
});

test('a server that sends random and changed packets has responded or is missed', async () => {
  const datagrams = fc.sample(datagram, { numRuns: 10_000, seed: 2 });
  let sent = 0;
  const server = await startRawServer(() =>
    Array.from({ length: 4 }, () => datagrams[sent++ % datagrams.length] ?? PLAYERS),
  );
  const reasons: string[] = [];
  for (let round = 0; round < 12; round++) {
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => ask(server, 300)));
    for (const outcome of outcomes) {
      reasons.push(outcome.hasResponded ? 'responded' : outcome.reason);
      if (!outcome.hasResponded) continue;
      expect(outcome.state.playersCount).toBeWithin(0, 256);
      expect(outcome.state.maxPlayers).toBeWithin(0, 256);
      for (const { name, score } of outcome.state.players) {
        expect(name).toMatch(/^\P{Cc}{1,256}$/u);
        expect(score).toBeWithin(-(2 ** 31), 2 ** 31);
      }
    }
  }
  expect(reasons).toEqual(expect.arrayContaining(['responded', 'malformed']));
});
