import { createSocket } from 'node:dgram';
import { queryGameServer } from '../../src/poll/game-server.ts';
import { createPollSchedule } from '../../src/poll/poll-schedule.ts';
import { checkAddress } from '../../src/queries/servers.ts';

const SERVERS = 1000;
const ROUNDS = 5;
const TIMEOUT_MS = 3000;

export type PollFigures = {
  /** Wall time of asking all servers at once, median of the rounds, in milliseconds. */
  polledMs: number;
  /** The same datagrams without reading them. */
  exchangedMs: number;
  /** Longest time the event loop was held in any round of polls, in milliseconds. */
  longestHoldMs: number;
  servers: number;
};

/** Polls a thousand game servers of another process at once, side by side with the bare exchange of datagrams. */
export async function measurePolls(): Promise<PollFigures> {
  const child = Bun.spawn(
    [process.execPath, new URL('./game-servers.ts', import.meta.url).pathname, String(SERVERS)],
    {
      stdout: 'pipe',
    },
  );
  try {
    const addresses = await readAddresses(child.stdout);
    const polled: number[] = [];
    const exchanged: number[] = [];
    let longestHoldMs = 0;
    await pollAll(addresses);
    await runAll(addresses, exchange);
    for (let round = 0; round < ROUNDS; round++) {
      const hold = watchEventLoop();
      polled.push(await pollAll(addresses));
      longestHoldMs = Math.max(longestHoldMs, hold.stop());
      exchanged.push(await runAll(addresses, exchange));
    }
    return {
      polledMs: median(polled),
      exchangedMs: median(exchanged),
      longestHoldMs,
      servers: addresses.length,
    };
  } finally {
    child.kill();
    await child.exited;
  }
}

function pollAll(addresses: string[]): Promise<number> {
  return runAll(addresses, async (address) => {
    const outcome = await queryGameServer(address, { timeoutMs: TIMEOUT_MS });
    if (!outcome.isAnswered) throw new Error(`${address}: ${outcome.reason}`);
  });
}

/** Runs the work for all addresses under the poller's own schedule, every one due at once. */
async function runAll(addresses: string[], work: (address: string) => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  let left = addresses.length;
  let failure: unknown;
  await new Promise<void>((settle) => {
    const schedule = createPollSchedule({
      intervalMs: 3_600_000,
      maxRunning: 256,
      poll: async ({ address }) => {
        await work(address).catch((error) => {
          failure = error;
        });
        left -= 1;
        if (left > 0) return;
        schedule.stop();
        settle();
      },
    });
    schedule.setTargets(addresses.map((address, id) => ({ id, address })));
  });
  if (failure) throw failure;
  return performance.now() - startedAt;
}

const INFO = Buffer.from('\xff\xff\xff\xffTSource Engine Query\0', 'latin1');

/** Info, challenge, info, players: the datagrams of a poll, unread but for the challenge. */
function exchange(address: string): Promise<void> {
  const { host, port } = checkAddress(address);
  return new Promise((settle, reject) => {
    const socket = createSocket('udp4');
    let challenge = Buffer.alloc(0);
    let received = 0;
    const timer = setTimeout(() => reject(new Error(`${address}: no answer`)), TIMEOUT_MS);
    socket.on('message', (datagram) => {
      received += 1;
      if (received === 1) {
        challenge = datagram.subarray(5, 9);
        socket.send(Buffer.concat([INFO, challenge]));
      } else if (received === 2) {
        socket.send(Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff, 0x55]), challenge]));
      } else {
        clearTimeout(timer);
        socket.close();
        settle();
      }
    });
    socket.connect(port, host, () => socket.send(INFO));
  });
}

/**
 * Measures the longest stretch between two turns of the event loop, by the processor time this process used in it:
 * on a busy machine the wall clock would show how long others were let run.
 */
function watchEventLoop() {
  let longestMs = 0;
  let last = process.cpuUsage();
  let isWatching = true;
  const look = () => {
    const { user, system } = process.cpuUsage(last);
    longestMs = Math.max(longestMs, (user + system) / 1000);
    last = process.cpuUsage();
    if (isWatching) setImmediate(look);
  };
  setImmediate(look);
  return {
    stop: () => {
      isWatching = false;
      return longestMs;
    },
  };
}

async function readAddresses(stdout: ReadableStream<Uint8Array>): Promise<string[]> {
  let text = '';
  for await (const chunk of stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.includes('\n')) break;
  }
  return JSON.parse(text);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

if (import.meta.main) console.log(await measurePolls());
