import { afterEach, describe, expect, test } from 'bun:test';
import { createSocket } from 'node:dgram';
import {
  type SimulatedGameServer,
  startSimulatedGameServer,
  staySilent,
} from '../../../src/demo/simulated-game-server.ts';
import { queryGameServer } from '../../../src/poll/game-server.ts';
import { aBannedPacket, requireChallenge, splitIntoParts } from '../../support/game-server/a2s.ts';
import { INVISIBLE_NAMES } from '../../support/invisible-names.ts';

const running: SimulatedGameServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.stop()));
});

async function aServer(options: Parameters<typeof startSimulatedGameServer>[0] = {}) {
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

  test.each(['both', 'players'] as const)(
    'reads a server that sends challenges for %s',
    async (challenges) => {
      const server = await aServer({
        game: { players: [aPlayer('Ala', 1)] },
        respond: requireChallenge(challenges),
      });
      expect(await ask(server)).toMatchObject({
        hasResponded: true,
        state: { players: [{ name: 'Ala', score: 1 }] },
      });
    },
  );

  test('leaves nameless entries out of the players and in the count', async () => {
    const nameless = INVISIBLE_NAMES.map((name) => aPlayer(name));
    const hostname = '\u3164\u200b';
    const server = await aServer({ game: { hostname, players: [...nameless, aPlayer('Ola', 5)] } });
    expect(await ask(server)).toMatchObject({
      hasResponded: true,
      state: { hostname: '', playersCount: nameless.length + 1, players: [{ name: 'Ola', score: 5 }] },
    });
  });

  test('distinguishes people from bots by what the server lists', async () => {
    const server = await aServer({
      game: { bots: 2, players: [aPlayer('Ala', 1), aPlayer('Ola', 2)] },
    });
    expect(await ask(server)).toMatchObject({
      state: {
        playersCount: 2,
        players: [
          { name: 'Ola', score: 2 },
          { name: 'Ala', score: 1 },
        ],
      },
    });
  });

  test('removes control characters, NUL included, from a server’s texts', async () => {
    const server = await aServer({
      game: {
        hostname: '\u0001Red\u0007 server',
        map: 'de_\u0002dust2',
        players: [aPlayer('\u0003A\u001bla\0', 1)],
      },
    });
    expect(await ask(server)).toMatchObject({
      state: { hostname: 'Red server', map: 'de_dust2', players: [{ name: 'Ala', score: 1 }] },
    });
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
    const server = await aServer({
      game: { players: [aPlayer('Ala', 4)] },
      respond: (response) => (server.requests.info === 1 ? [] : [response]),
    });
    expect(await ask(server, 1500)).toMatchObject({
      hasResponded: true,
      state: { players: [{ name: 'Ala', score: 4 }] },
    });
  });

  test('polls a server by host name and over IPv6', async () => {
    const four = await aServer();
    expect(await queryGameServer(`localhost:${four.port}`, { timeoutMs: 5000 })).toMatchObject({
      hasResponded: true,
    });
    const six = await aServer({ host: '::1' });
    expect(six.address).toBe(`[::1]:${six.port}`);
    expect(await ask(six)).toMatchObject({ hasResponded: true });
    expect(await queryGameServer(`[0:0::0001]:${six.port}`, { timeoutMs: 5000 })).toMatchObject({
      hasResponded: true,
    });
  });
});

describe('a poll is missed', () => {
  test('a poll is missed when nothing comes back', async () => {
    const server = await aServer({ respond: staySilent });
    expect(await ask(server, 300)).toEqual({ hasResponded: false, reason: 'time-out' });
    expect(server.requests.info).toBeGreaterThan(1);
  });

  test('a poll is missed when the response is too slow', async () => {
    const server = await aServer({ delayMs: 700 });
    expect(await ask(server, 300)).toEqual({ hasResponded: false, reason: 'time-out' });
  });

  test('a poll is missed at once when nobody listens at the port', async () => {
    const server = await aServer();
    await server.stop();
    expect(await ask(server, 3000)).toEqual({ hasResponded: false, reason: 'refused' });
  });

  test('a poll is missed at once when the system cannot send to the address', async () => {
    // Without SO_BROADCAST the system refuses to send to it.
    expect(await queryGameServer('255.255.255.255:27015', { timeoutMs: 3000 })).toEqual({
      hasResponded: false,
      reason: 'unreachable',
    });
  });

  test('a poll is missed as banned, not as a time-out, when the server banned our address', async () => {
    const server = await aServer({ respond: () => [aBannedPacket()] });
    expect(await ask(server)).toEqual({ hasResponded: false, reason: 'banned-by-server' });
  });

  test.each(['HTTP/1.1 400 Bad Request\r\n\r\n', ''])(
    'a poll is missed when the response is %p',
    async (answer) => {
      const server = await aServer({ respond: () => [Buffer.from(answer)] });
      expect(await ask(server, 1000)).toEqual({ hasResponded: false, reason: 'malformed' });
    },
  );

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

  test('a poll is missed when a split response is cut', async () => {
    const server = await aServer({ respond: (response) => splitIntoParts(response.subarray(0, 50)) });
    expect(await ask(server, 300)).toEqual({ hasResponded: false, reason: 'malformed' });
  });

  test('a poll is missed when the server has neither a map nor slots', async () => {
    const server = await aServer({ game: { map: '', maxPlayers: 0 } });
    expect(await ask(server)).toEqual({ hasResponded: false, reason: 'no-game' });
    server.game.maxPlayers = 10;
    expect(await ask(server)).toMatchObject({ hasResponded: true });
  });

  test.each(['no-such-host.invalid:27015', 'nonsense', '127.0.0.1:0', ''])(
    'a poll is missed when no host is found in %p',
    async (address) => {
      expect(await queryGameServer(address, { timeoutMs: 5000 })).toEqual({
        hasResponded: false,
        reason: 'host-unknown',
      });
    },
  );

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
