import type { Logger } from 'pino';
import { withTimeLimit } from '../../../src/runtime/time-limit.ts';
import { createMemoryRateLimiter, type RateLimiter, roundingOf, toDecision } from './rate-limiter.ts';

const COMMAND_LIMIT_MS = 50;
const COMMAND_TICKS = 5;
/** How long commands wait for the first connection. Bun itself keeps trying for half a minute. */
const START_LIMIT_MS = 2000;
/** How long the local limiter is used after a failure before Redis is tried again. */
const PAUSE_MS = 1000;
const DEFAULT_PORT = 6379;
const UNREACHABLE = 'Redis is unreachable: this process applies its own limits';

/**
 * The same sliding log as in memory, kept in Redis so that several processes share it, by Redis's own clock:
 * the processes' clocks may differ. Times in the future, left by a clock that was set back, are dropped.
 * KEYS[1] the key; ARGV: limit, window, rounding (both in ms), 1 to count the request. Returns allowed, total, age of the oldest mark.
 */
const SCRIPT = `
local limit, window, rounded = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local raw = redis.call('GET', KEYS[1])
local log = raw and cmsgpack.unpack(raw) or {}
local kept, total = {}, 0
for i = 1, #log, 2 do
  if log[i] > now - window and log[i] <= now + rounded then
    kept[#kept + 1] = log[i]
    kept[#kept + 1] = log[i + 1]
    total = total + log[i + 1]
  end
end
local allowed = total < limit
if allowed and ARGV[4] == '1' then
  total = total + 1
  if #kept > 0 and now <= kept[#kept - 1] then
    kept[#kept] = kept[#kept] + 1
  else
    kept[#kept + 1] = rounded == 0 and now or (math.floor(now / rounded) + 1) * rounded
    kept[#kept + 1] = 1
  end
  redis.call('SET', KEYS[1], cmsgpack.pack(kept), 'PX', window + rounded)
end
return { allowed and 1 or 0, total, kept[1] and now - kept[1] or 0 }
`;

type Options = {
  url: string;
  log: Logger;
  /** Milliseconds by a monotonic clock of this process. */
  clockMs?: () => number;
  /** Time limit of a command, 50 ms by default. */
  commandLimitMs?: number;
  /** Called after each command. */
  onCommand?: (seconds: number, isSuccess: boolean) => void;
};

export type RedisLimits = {
  /** @param name distinguishes limiters in one Redis. */
  createLimiter: (name: string, options?: { windowMs?: number }) => RateLimiter;
  close: () => void;
};

/**
 * Limits that several processes share, over one connection. Each process also counts what it allows itself, and both counts
 * have to allow a request: so it knows its own part when Redis becomes unreachable or loses its data.
 */
export function openRedisLimits({
  url,
  log,
  clockMs = () => performance.now(),
  commandLimitMs = COMMAND_LIMIT_MS,
  onCommand = () => {},
}: Options): RedisLimits {
  // With the offline queue on, a command would hang for as long as Redis is unreachable.
  const client = new Bun.RedisClient(url, {
    enableOfflineQueue: false,
    autoReconnect: true,
    connectionTimeout: 1000,
  });
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let isDown = false;
  let isClosed = false;
  // Connects now, so that a wrong URL is noticed at the start and not by the first request. Its password is not logged.
  const startedMs = performance.now();
  const firstConnection = withTimeLimit(client.connect(), START_LIMIT_MS).catch((error: unknown) => {
    if (isClosed) return;
    onCommand((performance.now() - startedMs) / 1000, false);
    isDown = true;
    pausedUntilMs = clockMs() + PAUSE_MS;
    const { hostname, port } = new URL(url);
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ redis: `${hostname}:${port || DEFAULT_PORT}`, reason }, UNREACHABLE);
  });

  /** Runs a command in Redis; undefined while Redis is unreachable. */
  async function run<T>(command: () => Promise<T>): Promise<T | undefined> {
    // A starting process takes longer to connect than a command may take.
    await firstConnection;
    if (clockMs() < pausedUntilMs) return undefined;
    const startedMs = performance.now();
    const record = (isSuccess: boolean) => onCommand((performance.now() - startedMs) / 1000, isSuccess);
    try {
      const result = await withTimeLimit(connected().then(command), commandLimitMs, { ticks: COMMAND_TICKS });
      record(true);
      // A command that was sent before the pause may succeed during it: that does not end the pause.
      if (isDown && clockMs() >= pausedUntilMs) {
        log.info('Redis is back: limits are shared again');
        isDown = false;
      }
      return result;
    } catch (error) {
      record(false);
      pausedUntilMs = clockMs() + PAUSE_MS;
      if (!isDown) log.warn({ err: error }, UNREACHABLE);
      isDown = true;
      return undefined;
    }
  }

  async function connected(): Promise<void> {
    if (!client.connected) await client.connect();
  }

  const createLimiter: RedisLimits['createLimiter'] = (name, { windowMs = 60_000 } = {}) => {
    const local = createMemoryRateLimiter({ clockMs, windowMs });
    const decide = async (key: string, limit: number, isCounted: boolean) => {
      const slot = `community-api:${name}:${key}`;
      const reply: unknown = await client.send('EVAL', [
        SCRIPT,
        '1',
        slot,
        ...[limit, windowMs, Math.ceil(roundingOf(limit, windowMs))].map(String),
        isCounted ? '1' : '0',
      ]);
      if (!isThreeIntegers(reply)) {
        throw new Error(`Redis responded to EVAL with ${JSON.stringify(reply)} instead of three integers`);
      }
      const [allowed, total, oldestAgeMs] = reply;
      return toDecision({ isAllowed: allowed === 1, limit, windowMs, total, oldestAgeMs });
    };
    const decideTwice =
      (isCounted: boolean, decideHere: RateLimiter['take']): RateLimiter['take'] =>
      async (key, limit) => {
        const before = await local.check(key, limit);
        if (!before.isAllowed) return before;
        const shared = await run(() => decide(key, limit, isCounted));
        if (shared?.isAllowed === false) return shared;
        const here = await decideHere(key, limit);
        return shared && here.isAllowed && shared.remaining < here.remaining ? shared : here;
      };
    return { take: decideTwice(true, local.take), check: decideTwice(false, local.check) };
  };

  return {
    createLimiter,
    close: () => {
      isClosed = true;
      client.close();
    },
  };
}

function isThreeIntegers(reply: unknown): reply is [number, number, number] {
  return Array.isArray(reply) && reply.length === 3 && reply.every(Number.isInteger);
}
