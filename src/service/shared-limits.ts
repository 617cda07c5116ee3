import {
  createMemoryRateLimiter,
  type RateLimitDecision,
  type RateLimiter,
} from '../../api/http/limits/rate-limiter.ts';
import { openRedisLimits, type RedisLimits } from '../../api/http/limits/redis-limits.ts';
import { whenSettled } from '../../api/http/when-settled.ts';
import { LATENCY_SECONDS, type Metrics } from '../runtime/metrics.ts';
import type { Context } from './context.ts';

export type Limits = Omit<RedisLimits, 'close'>;

/** Limits in memory, or, with `REDIS_URL`, limits that all processes share. */
export function openLimits({ config, log, clockMs, metrics, onStop }: Context): Limits {
  const countRefusal = metrics.addCounter(
    'rate_limit_refusals_total',
    'Requests and forms that a limit refused.',
    ['limiter'],
  );
  const counted = (name: string, limiter: RateLimiter): RateLimiter => {
    const note = (decision: RateLimitDecision) => {
      if (!decision.isAllowed) countRefusal({ limiter: name });
      return decision;
    };
    countRefusal({ limiter: name }, 0);
    return {
      ...limiter,
      take: (key, limit) => whenSettled(limiter.take(key, limit), note),
    };
  };
  if (config.redisUrl === undefined) {
    return {
      createLimiter: (name, options) => counted(name, createMemoryRateLimiter({ ...options, clockMs })),
    };
  }
  const onCommand = addRedisMetrics(metrics);
  const limits = openRedisLimits({ url: config.redisUrl, log, clockMs, onCommand });
  onStop('shared limits', async () => limits.close());
  return {
    createLimiter: (name, options) => counted(name, limits.createLimiter(name, options)),
  };
}

function addRedisMetrics(metrics: Metrics): (seconds: number, isDone: boolean) => void {
  let isUp: boolean | undefined;
  metrics.addGauge(
    'redis_up',
    '1 while the last command succeeded, 0 while it failed; NaN before the first.',
    () => (isUp === undefined ? Number.NaN : Number(isUp)),
  );
  const time = metrics.addHistogram('redis_command_duration_seconds', 'Time of a command.', LATENCY_SECONDS);
  return (seconds, isDone) => {
    isUp = isDone;
    time(seconds);
  };
}
