import { afterEach, describe, expect, test } from 'bun:test';
import { createSocket } from 'node:dgram';
import {
  type SimulatedGameServer,
  startSimulatedGameServer,
  staySilent,
} from '../../../src/demo/simulated-game-server.ts';
import type { QueryFailureReason } from '../../../src/poll/a2s-protocol.ts';
import { queryGameServer } from '../../../src/poll/game-server.ts';
import { aBannedPacket, requireChallenge, splitIntoParts } from '../../support/game-server/a2s.ts';
import { INVISIBLE_NAMES } from '../../support/invisible-names.ts';

const running: SimulatedGameServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

type Options = NonNullable<Parameters<typeof startSimulatedGameServer>[0]>;

async function aServer(options: Options = {}) {
  const server = await startSimulatedGameServer(options);
  running.push(server);
  return server;
}

function aPlayer(name: string, score = 0) {
  return { name, score, joinedAt: Date.now() - 60_000 };
}

function ask(server: { address: string }, timeoutMs = 5000) {
  return queryGameServer(server.address, { timeoutMs });
}

const nameless = INVISIBLE_NAMES.map((name) => aPlayer(name));
const ala = { name: 'Ala', score: 1 };

describe('a server that responds', () => {
  test('reports host name, map, counts, ping, and players by score', async () => {
    const server = await aServer({
      game: {
        hostname: '  [PL] Mirage 24/7 ★  ',
        map: 'de_mirage',
        maxPlayers: 20,
        players: [aPlayer('Zażółć', 3), aPlayer('Иван', 17), aPlayer('田中', -2)],
      },
    });
    const outcome = await ask(server);
    const seconds = expect.any(Number);
    expect(outcome).toEqual({
      hasResponded: true,
      state: {
        hostname: '[PL] Mirage 24/7 ★',
        map: 'de_mirage',
        playersCount: 3,
        maxPlayers: 20,
        pingMs: expect.any(Number),
        players: [
          { name: 'Иван', score: 17, seconds },
          { name: 'Zażółć', score: 3, seconds },
          { name: '田中', score: -2, seconds },
        ],
      },
    });
    if (outcome.hasResponded) expect(outcome.state.pingMs).toBeGreaterThanOrEqual(1);
  });

  test.each<[string, Options, object]>([
    [
      'sends challenges for both',
      { game: { players: [aPlayer('Ala', 1)] }, respond: requireChallenge('both') },
      { players: [ala] },
    ],
    [
      'sends challenges for players',
      { game: { players: [aPlayer('Ala', 1)] }, respond: requireChallenge('players') },
      { players: [ala] },
    ],
    [
      'lists nameless entries, leaving them out of the players but not of the count',
      { game: { hostname: '\u3164\u200b', players: [...nameless, aPlayer('Ala', 1)] } },
      { hostname: '', playersCount: nameless.length + 1, players: [ala] },
    ],
    [
      'has bots, which it does not list',
      { game: { bots: 2, players: [aPlayer('Ala', 1), aPlayer('Ola', 2)] } },
      { playersCount: 2, players: [{ name: 'Ola', score: 2 }, ala] },
    ],
    [
      'has control characters in its texts, NUL included, without these',
      {
        game: {
          hostname: '\u0001Red\u0007 server',
          map: 'de_\u0002dust2',
          players: [aPlayer('\u0003A\u001bla\0', 1)],
        },
      },
      { hostname: 'Red server', map: 'de_dust2', players: [ala] },
    ],
    ['has slots but no map', { game: { map: '', maxPlayers: 10 } }, { map: '', maxPlayers: 10 }],
  ])('reads a server that %s', async (_, options, state) => {
    expect(await ask(await aServer(options))).toMatchObject({ hasResponded: true, state });
  });

  test('shows a server that never sends its players as online with none', async () => {
    const server = await aServer({
      game: { players: [aPlayer('Ala'), aPlayer('Ola')] },
      respond: (response, { isInfo }) => (isInfo ? [response] : []),
    });
    expect(await ask(server, 600)).toMatchObject({
      hasResponded: true,
      state: { map: 'de_mirage', playersCount: 2, players: [] },
    });
  });

  test('asks again when a request was lost', async () => {
    const server = await aServer({ respond: (response) => (server.requests.info === 1 ? [] : [response]) });
    expect(await ask(server, 1500)).toMatchObject({ hasResponded: true });
  });

  test('polls a server by host name and over IPv6', async () => {
    const [four, six] = [await aServer(), await aServer({ host: '::1' })];
    expect(six.address).toBe(`[::1]:${six.port}`);
    for (const address of [`localhost:${four.port}`, six.address, `[0:0::0001]:${six.port}`]) {
      expect(await ask({ address })).toMatchObject({ hasResponded: true });
    }
  });
});

describe('a server that does not respond as one', () => {
  test.each<[string, Options, timeoutMs: number, reason: QueryFailureReason]>([
    ['nothing comes back', { respond: staySilent }, 300, 'time-out'],
    ['the response is too slow', { delayMs: 700 }, 300, 'time-out'],
    ['the server banned our address', { respond: () => [aBannedPacket()] }, 5000, 'banned-by-server'],
    [
      'the response is HTTP',
      { respond: () => [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')] },
      600,
      'malformed',
    ],
    ['the response is empty', { respond: () => [Buffer.alloc(0)] }, 600, 'malformed'],
    [
      'a split response is cut',
      { respond: (response) => splitIntoParts(response.subarray(0, 50)) },
      300,
      'malformed',
    ],
    ['the server has neither a map nor slots', { game: { map: '', maxPlayers: 0 } }, 5000, 'no-game'],
  ])('a poll is missed when %s', async (_, options, timeoutMs, reason) => {
    expect(await ask(await aServer(options), timeoutMs)).toEqual({ hasResponded: false, reason });
  });

  test('a poll is missed at once when nobody listens at the port', async () => {
    const server = await aServer();
    await server.stop();
    expect(await ask(server, 3000)).toEqual({ hasResponded: false, reason: 'refused' });
  });

  test.each<[address: string, reason: QueryFailureReason]>([
    // Without SO_BROADCAST the system refuses to send to it.
    ['255.255.255.255:27015', 'unreachable'],
    ['no-such-host.invalid:27015', 'host-unknown'],
    ['nonsense', 'host-unknown'],
    ['127.0.0.1:0', 'host-unknown'],
    ['', 'host-unknown'],
  ])('a poll of the address %j is missed at once: %s', async (address, reason) => {
    expect(await ask({ address })).toEqual({ hasResponded: false, reason });
  });

  test('a poll is missed when the A2S_INFO response ends before the player counts', async () => {
    const server = await aServer({ game: { hostname: 'Cut', map: 'de_nuke' } });
    let wholeBytes = 0;
    const cutTo = (sizeBytes?: number) => {
      server.respond = (response, { isInfo }) => {
        if (isInfo) wholeBytes = response.length;
        return [isInfo ? response.subarray(0, sizeBytes) : response];
      };
    };
    cutTo();
    await ask(server);
    const required = wholeBytes - '.dl..1.41.2.5\0'.length;
    for (let infoBytes = 6; infoBytes < required; infoBytes++) {
      cutTo(infoBytes);
      const outcome = await ask(server);
      expect([infoBytes, outcome]).toEqual([infoBytes, { hasResponded: false, reason: 'malformed' }]);
    }
    for (let infoBytes = required; infoBytes <= wholeBytes; infoBytes++) {
      cutTo(infoBytes);
      expect(await ask(server)).toMatchObject({
        hasResponded: true,
        state: { map: 'de_nuke', maxPlayers: 24 },
      });
    }
  });

  test('a poll is missed at once when the query is aborted', async () => {
    const server = await aServer({ respond: staySilent });
    const stopping = new AbortController();
    const outcome = queryGameServer(server.address, { timeoutMs: 5000, signal: stopping.signal });
    setTimeout(() => stopping.abort(), 50);
    expect(await outcome).toEqual({ hasResponded: false, reason: 'aborted' });
  });
});

test.skipIf(process.platform !== 'linux')(
  'responses of another sender are not mistaken for the server’s',
  async () => {
    const server = await aServer({ respond: staySilent });
    const liar = createSocket('udp4');
    const query = ask(server, 400);
    // The ports that a query may come from: an attacker would have to guess, so the test reads them from the system's table.
    await Bun.sleep(50);
    const ports = await udpPorts();
    for (const port of ports) liar.send(Buffer.from('\xff\xff\xff\xfflBanned', 'latin1'), port, '127.0.0.1');
    expect(await query).toEqual({ hasResponded: false, reason: 'time-out' });
    liar.close();
  },
);

async function udpPorts(): Promise<number[]> {
  const table = await Bun.file('/proc/net/udp').text();
  return [...table.matchAll(/0100007F:([0-9A-F]{4}) 0100007F/g)].map(([, port]) =>
    Number.parseInt(port ?? '', 16),
  );
}
