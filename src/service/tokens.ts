import { createTokenChecker, type TokenChecker } from '../../api/http/authentication.ts';
import { startLoop } from '../runtime/loop.ts';
import type { Context } from './context.ts';
import { countLookups } from './metrics/cache-metrics.ts';

const TOKEN_FLUSH_MS = 5000;
/**
 * For the last flush, when the service stops: a database that hangs must not make that take longer than five seconds.
 */
export const LAST_FLUSH_LIMIT_MS = 1000;

/** Checks tokens until the service stops, and writes when they were last used. */
export function startTokenChecker({
  database,
  changes,
  clockMs,
  metrics,
  log,
  onStop,
}: Context): TokenChecker {
  const tokens = createTokenChecker(database.requestDb, {
    clockMs,
    onLookup: countLookups(metrics, 'tokens'),
  });
  changes.onChange('api_tokens', tokens.forget);
  changes.onChange('users', tokens.forget);
  onStop('last uses of tokens', tokens.flush, { limitMs: LAST_FLUSH_LIMIT_MS });
  onStop(
    'token uses',
    startLoop({ name: 'writing last uses of tokens', everyMs: TOKEN_FLUSH_MS, work: tokens.flush, log }).stop,
  );
  return tokens;
}
