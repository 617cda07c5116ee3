import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createPartJoiner, parseInfo, parsePlayers, QueryFailure } from '../../../src/poll/a2s-protocol.ts';
import { queryGameServer } from '../../../src/poll/game-server.ts';
import {
  anInfoPacket,
  aPlayersPacket,
  aSplitPart,
  type RawServer,
  splitIntoParts,
  startRawServer,
  text,
  uint16,
} from '../../support/game-server/a2s.ts';

const PLAYERS = aPlayersPacket(
  Array.from({ length: 64 }, (_, number) => ({ name: `Zażółć ${number}`, score: number - 9 })),
);
const EXTRA = [Buffer.from([0xf1]), uint16(27015), Buffer.alloc(8, 1), uint16(27020)];
const extraData = Buffer.concat([...EXTRA, text('SourceTV'), text('secure,cp5'), Buffer.alloc(8, 2)]);
const whole = fc.constantFrom(
  ...[anInfoPacket(), anInfoPacket({ extraData }), aPlayersPacket([{ name: 'Ala', score: 4 }]), PLAYERS],
  ...splitIntoParts(PLAYERS, { partBytes: 700 }),
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
const QUERIES = 600;
const DATAGRAMS_A_RESPONSE = 4;
const TIMEOUT_MS = 300;

const running: RawServer[] = [];
afterAll(async () => {
  for (const server of running) await server.stop();
});

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

test('a server that sends them has responded or is missed', async () => {
  const datagrams = fc.sample(datagram, { numRuns: 10_000, seed: 2 });
  let sent = 0;
  const server = await startRawServer(() =>
    Array.from({ length: DATAGRAMS_A_RESPONSE }, () => datagrams[sent++ % datagrams.length] ?? PLAYERS),
  );
  running.push(server);
  const reasons = new Map<string, number>();
  for (let asked = 0; asked < QUERIES; asked += 50) {
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => queryGameServer(server.address, { timeoutMs: TIMEOUT_MS })),
    );
    for (const outcome of outcomes) {
      const reason = outcome.hasResponded ? 'answered' : outcome.reason;
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      if (!outcome.hasResponded) continue;
      expect(outcome.state.playersCount).toBeWithin(0, 256);
      expect(outcome.state.maxPlayers).toBeWithin(0, 256);
      for (const { name, score } of outcome.state.players) {
        expect(name).toMatch(/^\P{Cc}{1,256}$/u);
        expect(score).toBeWithin(-(2 ** 31), 2 ** 31);
      }
    }
  }
  expect(reasons.get('answered')).toBeGreaterThan(0);
  expect(reasons.get('malformed')).toBeGreaterThan(0);
});
