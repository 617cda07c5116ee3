import { expect, test } from 'bun:test';
import { TOKEN_CACHED_MS } from '../../../api/http/authentication.ts';
import { FRESH_MS as REPLICA_FRESH_MS } from '../../../src/db/replicas.ts';
import { TRY_LIMIT_MS } from '../../../src/events/webhooks/post.ts';
import { REFRESH_MS } from '../../../src/live/live-query.ts';
import { CHECK_MS } from '../../../src/service/http.ts';
import { EXPIRY_EVENTS_MS } from '../../../src/service/sync.ts';

// The tests of each part measure how soon it reacts to a notification. How soon it checks without one is asserted here, on
// the intervals themselves: measurements would depend on how busy the machine is.

test('a revoked or blocked token stops working within a second even if its notification is lost', () => {
  for (const delayMs of [TOKEN_CACHED_MS, CHECK_MS]) expect(delayMs).toBeLessThanOrEqual(1000);
});

test('caches about people expire after 5 s even if every notification is lost', () => {
  for (const ageMs of [TOKEN_CACHED_MS, REFRESH_MS, REPLICA_FRESH_MS])
    expect(ageMs).toBeLessThanOrEqual(5000);
});

test('reports an expired penalty within a minute; a webhook request times out after ten seconds', () => {
  expect(EXPIRY_EVENTS_MS).toBeLessThanOrEqual(30_000);
  expect(TRY_LIMIT_MS).toBe(10_000);
});
