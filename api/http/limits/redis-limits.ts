import type { Logger } from 'pino';
import { withTimeLimit } from '../../../src/runtime/time-limit.ts';
import { createMemorySlots, type Slots } from '../slots.ts';
import { createMemoryRateLimiter, type RateLimiter, roundingOf, toVerdict } from './rate-limiter.ts';

const COMMAND_LIMIT_MS = 50;
/** After a failure the local limiter serves this long before Redis is asked again. */
const PAUSE_MS = 1000;

/**
 * The same sliding log as in memory, kept in Redis so that several processes share it, by Redis's own clock:
 * the processes' clocks may differ. Marks that lie ahead, because that clock was set back, are dropped.
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
  /** Milliseconds by a monotonic clock, for this process alone. */
  clockMs?: () => number;
  /** A command that takes longer is not waited for; 50 ms by default. */
  commandLimitMs?: number;
  /** Told of each command: how long it took, and whether it succeeded. */
  onCommand?: (seconds: number, isDone: boolean) => void;
};

export type RedisLimits = {
  /** @param name distinguishes limiters in one Redis. */
  createLimiter: (name: string, limit: number, options?: { windowMs?: number }) => RateLimiter;
  /** @param name likewise. */
  createSlots: (name: string) => Slots;
  close: () => void;
};

/** Limits that several processes share, over one connection. While Redis is out of reach each process limits for itself. */
export function openRedisLimits({
  url,
  log,
  clockMs = () => performance.now(),
  commandLimitMs = COMMAND_LIMIT_MS,
  onCommand = () => {},
}: Options): RedisLimits {
  // Without the offline queue off, a command would hang for as long as Redis is away.
  const client = new Bun.RedisClient(url, {
    enableOfflineQueue: false,
    autoReconnect: true,
    connectionTimeout: 1000,
  });
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  let isDown = false;
  client.connect().catch(() => undefined);

  /** The result from Redis, or this process's own while Redis is out of reach. */
  async function ask<T>(command: () => Promise<T>, byItself: () => T | Promise<T>): Promise<T> {
    if (clockMs() < pausedUntilMs) return byItself();
    const startedMs = performance.now();
    const note = (isDone: boolean) => onCommand((performance.now() - startedMs) / 1000, isDone);
    try {
      const result = await withTimeLimit(connected().then(command), commandLimitMs);
      note(true);
      if (isDown) log.info('Redis is back: limits are shared again');
      isDown = false;
      return result;
    } catch (error) {
      note(false);
      pausedUntilMs = clockMs() + PAUSE_MS;
      if (!isDown) log.warn({ err: error }, 'Redis is out of reach: this process limits for itself');
      isDown = true;
      return byItself();
    }
  }

  async function connected(): Promise<void> {
    if (!client.connected) await client.connect();
  }

  const createLimiter: RedisLimits['createLimiter'] = (name, limit, { windowMs = 60_000 } = {}) => {
    const local = createMemoryRateLimiter(limit, { clockMs, windowMs });
    const given = [limit, windowMs, Math.ceil(roundingOf(limit, windowMs))].map(String);
    const judge = async (key: string, isCounted: boolean) => {
      const slot = `community-api:${name}:${key}`;
      const [allowed, total, oldestAgeMs] = await client.send('EVAL', [
        SCRIPT,
        '1',
        slot,
        ...given,
        isCounted ? '1' : '0',
      ]);
      return toVerdict({ isAllowed: allowed === 1, limit, windowMs, total, oldestAgeMs });
    };
    return {
      take: (key) =>
        ask(
          () => judge(key, true),
          () => local.take(key),
        ),
      check: (key) =>
        ask(
          () => judge(key, false),
          () => local.check(key),
        ),
    };
  };

  const createSlots: RedisLimits['createSlots'] = (name) => {
    const local = createMemorySlots();
    const send = async (command: string, ...args: string[]) =>
      ask(
        () => client.send(command, args),
        () => undefined,
      );
    return {
      claim: async (key) => {
        const releaseLocal = await local.claim(key);
        if (!releaseLocal) return undefined;
        const slot = `community-api:${name}:${key}`;
        const holder = crypto.randomUUID();
        const isTaken = await ask(
          async () => (await client.send('SET', [slot, holder, 'NX', 'PX', String(SLOT_MS)])) === null,
          () => false,
        );
        if (isTaken) {
          releaseLocal();
          return undefined;
        }
        const renewal = setInterval(
          () => send('EVAL', RENEW, '1', slot, holder, String(SLOT_MS)),
          SLOT_MS / 3,
        );
        return () => {
          clearInterval(renewal);
          releaseLocal();
          void send('EVAL', RELEASE, '1', slot, holder);
        };
      },
    };
  };

  return { createLimiter, createSlots, close: () => client.close() };
}

/** How long the slot of a process that died stays taken. */
const SLOT_MS = 60_000;
const RENEW = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end`;
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end`;
