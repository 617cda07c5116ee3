import { afterAll, expect, test } from 'bun:test';
import { parseInfo, parsePlayers } from '../../../src/poll/a2s-protocol.ts';
import { queryGameServer } from '../../../src/poll/game-server.ts';
import { QueryFailure } from '../../../src/poll/query-failure.ts';
import { createSplitResponses } from '../../../src/poll/split-response.ts';
import { type RawServer, startRawServer } from '../../support/game-server/a2s.ts';
import { mutatedDatagrams } from '../../support/game-server/a2s-mutations.ts';

const PACKETS = 20_000;
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
  const datagrams = mutatedDatagrams(1);
  const responses = createSplitResponses();
  for (let number = 0; number < PACKETS; number++) {
    const datagram = datagrams.next().value;
    const body = datagram.subarray(5);
    expect(surprise(() => parseInfo(body))).toBeUndefined();
    expect(surprise(() => parsePlayers(body, { appId: 730 }))).toBeUndefined();
    expect(surprise(() => responses.add(datagram.subarray(4)))).toBeUndefined();
  }
});

test('a server that sends them is answered or missed', async () => {
  const datagrams = mutatedDatagrams(2);
  const server = await startRawServer(() =>
    Array.from({ length: DATAGRAMS_A_RESPONSE }, () => datagrams.next().value),
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
