import { createMemoryRateLimiter } from '../../api/http/limits/rate-limiter.ts';
import { openRedisLimits, type RedisLimits } from '../../api/http/limits/redis-limits.ts';
import { createMemorySlots } from '../../api/http/slots.ts';
import type { Context } from './context.ts';

export type Limits = Omit<RedisLimits, 'close'>;

/** Limits in memory, or with `REDIS_URL` such as all processes share. */
export function openLimits({ config, log, clockMs, onStop }: Context): Limits {
  if (config.redisUrl === undefined) {
    return {
      createLimiter: (_, limit, options) => createMemoryRateLimiter(limit, { ...options, clockMs }),
      createSlots: createMemorySlots,
    };
  }
  const limits = openRedisLimits({ url: config.redisUrl, log, clockMs });
  onStop('shared limits', async () => limits.close());
  return limits;
}
