import type { Logger } from 'pino';
import {
  createMemoryRateLimiter,
  type RateLimiter,
  roundingOf,
  toVerdict,
  WINDOW_MS,
} from './rate-limiter.ts';
import { withTimeLimit } from './time-limit.ts';

/** An answer that takes longer than this is not waited for. */
const ANSWER_LIMIT_MS = 50;
/** After a failure the local limiter serves this long before Redis is asked again. */
const PAUSE_MS = 1000;

/**
 * The same sliding log as in memory, kept in Redis so that several processes share it, by Redis's own clock.
 * KEYS[1] the key; ARGV: limit, window, rounding (all ms but the limit). Answers allowed, total, age of the oldest mark.
 */
const SCRIPT = `
local limit, window, rounded = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local raw = redis.call('GET', KEYS[1])
local log = raw and cmsgpack.unpack(raw) or {}
local kept, total = {}, 0
for i = 1, #log, 2 do
  if log[i] > now - window then
    kept[#kept + 1] = log[i]
    kept[#kept + 1] = log[i + 1]
    total = total + log[i + 1]
  end
end
local allowed = total < limit
if allowed then
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
  limit: number;
  /** Tells limiters of one Redis apart. */
  name: string;
  log: Logger;
};

/** A limiter that several processes share. While Redis is out of reach each process limits for itself. */
export function createRedisRateLimiter({ url, limit, name, log }: Options): RateLimiter {
  const local = createMemoryRateLimiter(limit);
  const roundedMs = Math.ceil(roundingOf(limit));
  // Without the offline queue off, a command would hang for as long as Redis is away.
  const client = new Bun.RedisClient(url, {
    enableOfflineQueue: false,
    autoReconnect: true,
    connectionTimeout: 1000,
  });
  let pausedUntilMs = 0;
  let isDown = false;
  client.connect().catch(() => undefined);

  async function ask(key: string): Promise<[number, number, number]> {
    if (!client.connected) await client.connect();
    const keys = ['1', `community-api:${name}:${key}`];
    return client.send('EVAL', [SCRIPT, ...keys, String(limit), String(WINDOW_MS), String(roundedMs)]);
  }

  return {
    take: async (key, nowMs) => {
      if (nowMs < pausedUntilMs) return local.take(key, nowMs);
      try {
        const [allowed, total, oldestAgeMs] = await withTimeLimit(ask(key), ANSWER_LIMIT_MS);
        if (isDown) log.info('Redis is back: limits are shared again');
        isDown = false;
        return toVerdict({ isAllowed: allowed === 1, limit, total, oldestAgeMs });
      } catch (error) {
        pausedUntilMs = nowMs + PAUSE_MS;
        if (!isDown) log.warn({ err: error }, 'Redis is out of reach: this process limits for itself');
        isDown = true;
        return local.take(key, nowMs);
      }
    },
    close: async () => client.close(),
  };
}
