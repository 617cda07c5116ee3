import { beforeEach, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { eq, sql } from 'drizzle-orm';
import { apiTokens } from '../../../../src/db/schema/accounts.ts';
import { erasePerson } from '../../../../src/queries/personal-data/erasure.ts';
import { revokeApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { openEventStream } from '../../../support/http/event-stream.ts';
import { aToken, bearer, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const service = await startTestService({ databaseUrl: database.url, hasRealClock: true });
let owner = 900;
let token = '';
let tokenId = 0;
beforeEach(async () => {
  owner += 1;
  ({ token, id: tokenId } = await aToken(db, owner, { now: new Date() }));
});

const open = (query = '', headers: Record<string, string> = {}) =>
  openEventStream(`${service.origin}/api/v1/events${query}`, { ...bearer(token).headers, ...headers });
const countStreams = async () =>
  Number(/community_api_event_streams (\d+)/.exec((await service.ask('/metrics')).text)?.[1]);

/** A client that reads nothing. */
function openUnread() {
  const client = connect(Number(new URL(service.origin).port), '127.0.0.1');
  client.write(`GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  client.pause();
  return client;
}

/** 24 MB: more than the kernel holds for a client. */
async function insertLargePenalties(): Promise<string> {
  const reason = 'x'.repeat(20_000);
  for (let n = 0; n < 6; n++) {
    await insertPenalties(
      db,
      Array.from({ length: 200 }, () => ({ createdAt: new Date(), reason })),
    );
  }
  return reason;
}

test('a token that is revoked or expires ends its streams within a second', async () => {
  const stream = await open();
  await revokeApiToken(db, tokenId, { now: new Date(), actor: 'operator' });
  await stream.closed;

  const next = await aToken(db, owner, { expiresAt: new Date(Date.now() + 60_000), now: new Date() });
  token = next.token;
  const second = await open();
  await db
    .update(apiTokens)
    .set({ expiresAt: new Date(Date.now() - 1000) })
    .where(eq(apiTokens.id, next.id));
  await second.closed;
});

test('a token that is revoked ends its streams within a second though nobody was notified', async () => {
  const stream = await open();
  await db.execute(sql`alter table api_tokens disable trigger user`);
  await db.update(apiTokens).set({ revokedAt: new Date() }).where(eq(apiTokens.id, tokenId));
  await db.execute(sql`alter table api_tokens enable trigger user`);
  await stream.closed;
});

test('a client that does not read is cut off from what it has not read, and the others go on', async () => {
  const lagging = openUnread();
  const stream = await open('?types=penalty.removed');
  await waitFor(async () => (await countStreams()) === 2);
  const reason = await insertLargePenalties();
  await waitFor(async () => (await countStreams()) === 1);
  let received = '';
  lagging.on('data', (chunk) => {
    received += chunk.toString('latin1');
  });
  lagging.on('error', () => {});
  const closed = new Promise((resolve) => lagging.on('close', resolve));
  lagging.resume();
  await closed;
  expect(received).toStartWith('HTTP/1.1 200 OK\r\n');
  expect(received.endsWith('0\r\n\r\n')).toBe(false);
  await connection`delete from penalties where reason = ${reason}`;
  await waitFor(() => stream.events.length === 1200);
  stream.leave();
});

test('an erasure ends the streams, which resume without the person', async () => {
  const unread = openUnread();
  const stream = await open();
  await waitFor(async () => (await countStreams()) === 2);
  const cursor = stream.lastEventId() ?? '';
  const person = { playerSteamId: aSteamId(77), playerName: 'Erased one' };
  await insertPenalties(db, [{ createdAt: new Date(), ...person }]);
  await waitFor(() => stream.events.length === 1);
  expect(JSON.stringify(stream.events)).toContain(person.playerName);
  await erasePerson(db, person.playerSteamId, {
    withPenalties: true,
    actor: 'operator',
    removeSounds: async () => {},
  });
  await stream.closed;
  await waitFor(async () => (await countStreams()) === 0);
  unread.destroy();

  const resumed = await open('', { 'Last-Event-ID': cursor });
  await waitFor(() => resumed.events.length === 2);
  expect(resumed.events.map(({ type }) => type)).toEqual(['penalty.created', 'penalty.changed']);
  expect(JSON.stringify(resumed.events)).not.toMatch(new RegExp(`Erased one|${person.playerSteamId}`));
  resumed.leave();
});

test('streams that were refused because the database was slow do not count against their owner', async () => {
  const request = () => fetch(`${service.origin}/api/v1/events`, bearer(token));
  const refused = await db.transaction(async (tx) => {
    await tx.execute(sql`lock table penalty_events, penalty_event_state in access exclusive mode`);
    return Promise.all(Array.from({ length: 5 }, request));
  });
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
  // This one waits for the same rows, so the others have found theirs by then.
  const response = await request();
  expect(response.status).toBe(200);
  await response.body?.cancel();
});
