import {
  createPenaltyExports,
  EXPORTS_PER_HOUR,
  type PenaltyExports,
} from '../../../api/v1/penalties/penalty-export.ts';
import { openPenaltyExport } from '../../queries/penalties/export.ts';
import { listLiveTokenIds } from '../../queries/users/api-tokens.ts';
import { startLoop } from '../../runtime/loop.ts';
import type { Context } from '../context.ts';
import type { Limits } from '../shared-limits.ts';

const HOUR_MS = 3_600_000;
export const CHECK_MS = 1000;

/** Exports read the primary: their cursor is a position in its sequence of events. */
export function startExports(
  { database, changes, now, log, onStopPart }: Context,
  { createLimiter, createMutex }: Limits,
): PenaltyExports {
  const exports = createPenaltyExports({
    openExport: (filter, options) => openPenaltyExport(database.url, filter, options),
    limiter: createLimiter('exports', EXPORTS_PER_HOUR, { windowMs: HOUR_MS }),
    mutex: createMutex('running export'),
    listLiveTokenIds: (tokenIds, at) => listLiveTokenIds(database.db, tokenIds, at),
  });
  const checkTokens = () => exports.checkTokens(now());
  // Every second too, since a token expires without a notification.
  onStopPart(
    'tokens of exports',
    startLoop({ name: 'checking the tokens of exports', everyMs: CHECK_MS, work: checkTokens, log }).stop,
  );
  for (const table of ['api_tokens', 'users'] as const) {
    changes.onChange(table, () => void checkTokens().catch(() => undefined));
  }
  onStopPart('exports', exports.stop, { serves: true });
  return exports;
}
