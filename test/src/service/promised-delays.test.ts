import { expect, test } from 'bun:test';
import { TOKEN_CACHED_MS } from '../../../api/http/authentication.ts';
import { CHECK_MS as STREAM_CHECK_MS } from '../../../api/v1/events/event-streams.ts';
import { FRESH_MS as REPLICA_FRESH_MS } from '../../../src/db/replicas.ts';
import { TRY_LIMIT_MS } from '../../../src/events/webhooks/post.ts';
import { REFRESH_MS } from '../../../src/live/live-query.ts';
import { CHECK_MS as EXPORT_CHECK_MS } from '../../../src/service/parts/exports.ts';
import { EXPIRY_EVENTS_MS } from '../../../src/service/parts/sync.ts';

// The tests of each part measure how soon it reacts to a notification. How soon it checks without one is asserted here, on
// the intervals themselves: measurements would depend on how busy the machine is.

test('a revoked or blocked token ends within a second, were its notification lost', () => {
  for (const delayMs of [TOKEN_CACHED_MS, STREAM_CHECK_MS, EXPORT_CHECK_MS])
    expect(delayMs).toBeLessThanOrEqual(1000);
});

test('nothing that is remembered about people is older than 5 s, were every notification lost', () => {
  for (const ageMs of [TOKEN_CACHED_MS, REFRESH_MS, REPLICA_FRESH_MS])
    expect(ageMs).toBeLessThanOrEqual(5000);
});

test('the end of a penalty is told within a minute, and a webhook is given ten seconds', () => {
  expect(EXPIRY_EVENTS_MS).toBeLessThanOrEqual(30_000);
  expect(TRY_LIMIT_MS).toBe(10_000);
});
