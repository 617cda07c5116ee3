import { t } from 'elysia';
import { LimitReached, Unavailable } from '../../../src/domain/errors.ts';
import { formatEventCursor } from '../../../src/domain/event.ts';
import { exportRunning, type PenaltyExport } from '../../../src/queries/penalties/export.ts';
import type { PenaltyFilter } from '../../../src/queries/penalties/filter.ts';
import type { ApiToken } from '../../../src/queries/users/api-tokens.ts';
import { defineFailure } from '../../http/documented-failures.ts';
import { createExports, type Exports } from '../../http/export-streams.ts';
import type { RateLimitDecision, RateLimiter } from '../../http/limits/rate-limiter.ts';
import { unreadStream } from '../../http/responses.ts';
import { protectedRoute } from '../../http/route-definition.ts';
import { count, namedObject } from '../models.ts';
import { PenaltyWithLiftModel } from './penalty-models.ts';
import { EXPORT_KEYS, EXPORT_PARAMETERS, requirePeriod } from './penalty-parameters.ts';

const NDJSON = 'application/x-ndjson';
/** Exports that an owner may start in any hour. */
const EXPORTS_PER_HOUR = 6;

const ExportEndModel = namedObject('ExportEnd', {
  end: t.Literal(true),
  count: count(4211, 'Records before this line.'),
  cursor: t.String({
    description: 'Where the changes after these records begin.',
    examples: ['5f0c9a1b-4211'],
  }),
});

const EXPORT_RUNNING = defineFailure(
  'ExportRunning',
  "Another export of the token's owner is running.",
  exportRunning,
);
const exportsSpent = (seconds: number) =>
  new LimitReached(`At most ${EXPORTS_PER_HOUR} exports an hour: read /penalties/changes meanwhile`, seconds);
const EXPORTS_SPENT = defineFailure(
  'ExportsSpent',
  `The token's owner has started ${EXPORTS_PER_HOUR} exports within the hour.`,
  () => exportsSpent(1800),
);

function refuseSpent({ isAllowed, resetSeconds }: RateLimitDecision): void {
  if (!isAllowed) throw exportsSpent(resetSeconds);
}

const EXPORTS_BUSY = defineFailure(
  'ExportsBusy',
  'The service is at its limit of concurrent exports.',
  () => new Unavailable('Too many exports are running: try again shortly'),
);

/** A full copy, for clients that then follow `/penalties/changes`. */
export const exportPenalties = protectedRoute({
  path: '/penalties/export',
  id: 'exportPenalties',
  tag: 'Penalties',
  summary: 'All penalties at once',
  description:
    'One JSON object a line, oldest first, as of one moment. The last line is an ExportEnd: without it the response is incomplete. ' +
    `One export at a time and ${EXPORTS_PER_HOUR} an hour for each token owner. A client that reads nothing for 30 seconds (10 before the first byte), less than 64 KB/s over 30 seconds after the first minute, or takes more than 15 minutes, is disconnected: save the response first, and process it afterwards.`,
  isExtension: true,
  scope: 'penalties',
  parameters: EXPORT_PARAMETERS,
  otherKeys: EXPORT_KEYS,
  success: {
    model: t.Union([PenaltyWithLiftModel, ExportEndModel], { $id: 'ExportLine' }),
    contentType: NDJSON,
  },
  failures: [EXPORT_RUNNING, EXPORTS_SPENT, EXPORTS_BUSY],
  handle: async ({ penaltyExports }: { penaltyExports: PenaltyExports }, filter, { token, now, isHead }) => {
    requirePeriod(filter);
    const stream = isHead ? unreadStream() : await penaltyExports.begin(token, filter, now);
    return { stream, contentType: NDJSON };
  },
});

type Options = { ownerId: number; now: Date };
type Deps = {
  openExport: (filter: PenaltyFilter, options: Options) => Promise<PenaltyExport>;
  /** Counts the exports that an owner starts. */
  limiter: RateLimiter;
};

/** The exports that this process sends. */
export type PenaltyExports = Omit<Exports, 'begin'> & {
  /** @throws {LimitReached} when the owner may not start another export. @throws {Unavailable} when too many are running. */
  begin: (
    token: Pick<ApiToken, 'id' | 'userId' | 'isAdmin' | 'isOwner'>,
    filter: PenaltyFilter,
    now: Date,
  ) => Promise<ReadableStream>;
};

/** Creates the exports; once for both bases, which share their limits. */
export function createPenaltyExports({ openExport, limiter }: Deps): PenaltyExports {
  const exports = createExports({ second: EXPORT_RUNNING.error, tooMany: EXPORTS_BUSY.error });
  return {
    ...exports,
    begin: ({ id: tokenId, userId: ownerId, isAdmin, isOwner }, filter, now) => {
      const key = `user ${ownerId}`;
      const check = async () => refuseSpent(await limiter.check(key, EXPORTS_PER_HOUR));
      const open = async () => {
        const penaltyExport = await openExport(filter, { ownerId, now });
        // Counted only once it has started: one that the database refuses does not count.
        const decision = await limiter.take(key, EXPORTS_PER_HOUR);
        if (!decision.isAllowed) await penaltyExport.close();
        refuseSpent(decision);
        return { chunks: readLines(penaltyExport), close: penaltyExport.close };
      };
      return exports.begin({ id: ownerId, tokenId, isPreferred: isAdmin || isOwner }, open, check);
    },
  };
}

/** The records, and the last line. */
async function* readLines({ records, cursor }: PenaltyExport): AsyncGenerator<Uint8Array, void> {
  let count = 0;
  for await (const lines of records) {
    count += lines.count;
    yield lines.bytes;
  }
  yield new TextEncoder().encode(
    `${JSON.stringify({ end: true, count, cursor: formatEventCursor(cursor) })}\n`,
  );
}
