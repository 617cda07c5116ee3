import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { inTransaction } from '../../../../src/db/client.ts';
import { apiTokens } from '../../../../src/db/schema/accounts.ts';
import { penalties, penaltySources } from '../../../../src/db/schema/penalties.ts';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import { revokeApiToken } from '../../../../src/queries/users/api-tokens.ts';
import {
  aServerState,
  aSteamId,
  erase,
  insertPenalties,
  insertPenalty,
  insertReadySound,
  insertServer,
  saveServerPoll,
} from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { type EventStreamClient, openEventStream } from '../../../support/http/event-stream.ts';
import { openUnread } from '../../../support/http/raw-http.ts';
import { readMetrics } from '../../../support/service/metrics.ts';
import { aToken, bearer, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const { db, connection, url: databaseUrl } = await createTestDatabase();
const service = await startTestService({
  databaseUrl,
  hasRealClock: true,
  env: { TRUSTED_PROXIES: '127.0.0.1/32,::1/128' },
});
let owner = 900;
let token = '';
let tokenId = 0;
beforeEach(async () => {
  owner += 1;
  ({ token, id: tokenId } = await aToken(db, owner, { now: new Date() }));
});

type Change = { cursor: string; type: string; penalty: { id: number; reason: string; status: string } };
type Page = { success: boolean; data: Change[]; meta: { cursor: string; has_more: boolean } };

const changes = (query = '') => service.get(`/penalties/changes${query}`, bearer(token));
async function page(query = ''): Promise<Page> {
  const { status, body } = await changes(query);
  expect(status).toBe(200);
  return body as Page;
}
const now = () => new Date(Math.floor(Date.now() / 1000) * 1000);
const insertOne = (values: Partial<typeof penalties.$inferInsert> = {}) =>
  insertPenalty(db, { createdAt: now(), ...values });
const insertMany = (count: number, reason: (n: number) => string) =>
  insertPenalties(
    db,
    Array.from({ length: count }, (_, n) => ({ createdAt: now(), reason: reason(n) })),
  );
/** Inserts a server, and waits until the service knows it. */
const insertShownServer = async () => {
  const server = await insertServer(db);
  await waitFor(async () => (await service.ask('/api/v1/servers')).text.includes(server.slug));
  return server;
};
const A_TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
const STATE = aServerState({ map: 'de_train', playersCount: 1, pingMs: 9 });
const streams: EventStreamClient[] = [];
afterEach(() => {
  for (const stream of streams.splice(0)) stream.leave();
});
/** Leaves a stream, and waits until another can be opened in its place. */
const replace = async (stream: EventStreamClient | undefined, reopen: () => Promise<EventStreamClient>) => {
  stream?.leave();
  await waitFor(async () => {
    const again = await reopen();
    again.leave();
    return again.status === 200;
  });
};
/** Opens a stream that is left after the test. */
const openStream = async (path: string, headers: Record<string, string> = {}) => {
  const stream = await openEventStream(`${service.origin}${path}`, headers);
  streams.push(stream);
  return stream;
};
const open = (query = '', headers: Record<string, string> = {}) =>
  openStream(`/api/v1/events${query}`, { ...bearer(token).headers, ...headers });

describe('GET /penalties/changes', () => {
  test('gives the current cursor, then the changes since, each with the record as it was after the change', async () => {
    const { data, meta } = await page();
    expect([data, meta.has_more]).toEqual([[], false]);
    const row = await insertOne({ reason: 'Wallhack', playerSteamId: aSteamId(5) });
    await db.update(penalties).set({ reason: 'Aimbot' }).where(eq(penalties.id, row.id));
    const next = await page(`?cursor=${meta.cursor}`);
    expect(next.data).toEqual([
      {
        cursor: expect.stringMatching(/^[0-9a-f]{8}-[0-9]+$/),
        type: 'penalty.created',
        occurred_at: A_TIME,
        penalty: expect.objectContaining({
          penalty_type: 'ban',
          id: row.id,
          player_steamid: aSteamId(5),
          reason: 'Wallhack',
          status: 'ACTIVE',
          ends: null,
          lifted: null,
        }),
      },
      expect.objectContaining({
        type: 'penalty.changed',
        penalty: expect.objectContaining({ id: row.id, reason: 'Aimbot' }),
      }),
    ] as Change[]);
    expect(next.meta).toEqual({ cursor: next.data[1]?.cursor ?? '', has_more: false });
    expect(await page(`?cursor=${next.meta.cursor}`)).toMatchObject({ data: [], meta: next.meta });
  });

  test('comes in pages of at most 500, 100 by default', async () => {
    const { meta } = await page();
    await insertMany(620, () => '');
    const sizes = async (limit: string) => {
      const changePage = await page(`?cursor=${meta.cursor}${limit}`);
      return [changePage.data.length, changePage.meta.has_more];
    };
    expect(await sizes('')).toEqual([100, true]);
    expect(await sizes('&limit=7')).toEqual([7, true]);
    expect(await sizes('&limit=501')).toEqual([500, true]);
    for (const wrong of ['0', '-3', 'x', '1.5']) expect(await sizes(`&limit=${wrong}`)).toEqual([100, true]);
  });

  test('says which records are deleted, and which only gone at their source', async () => {
    const row = await insertOne();
    const { meta } = await page();
    await db.update(penalties).set({ goneAt: new Date() }).where(eq(penalties.id, row.id));
    await db.delete(penalties).where(eq(penalties.id, row.id));
    const { data } = await page(`?cursor=${meta.cursor}`);
    expect(data.map((change) => [change.type, 'is_deleted' in change])).toEqual([
      ['penalty.removed', false],
      ['penalty.removed', true],
    ]);
  });

  test('410 for a cursor that is malformed, of another database or ahead; 401 without a token comes first', async () => {
    const { meta } = await page();
    const [epoch, number] = meta.cursor.split('-');
    for (const wrong of [
      'x',
      '00000000-1',
      `${epoch}-${Number(number) + 1}`,
      `${epoch}-1e3`,
      '%00',
      `${epoch}`,
    ]) {
      const { status, body } = await changes(`?cursor=${wrong}`);
      const message = expect.stringContaining('/penalties/export');
      expect([wrong, status, body]).toEqual([wrong, 410, { success: false, message }]);
    }
    expect((await service.get('/penalties/changes?cursor=x')).status).toBe(401);
  });
});

const PUBLIC = '/events?types=server.up,sound.changed';
const openAsGuest = (address: string, path = PUBLIC) =>
  openStream(`/api/v1${path}`, { 'X-Forwarded-For': address });

describe('GET /events without a token', () => {
  test('sends events of servers and sounds, without ids', async () => {
    const server = await insertShownServer();
    const stream = await openAsGuest('198.51.100.1', `${PUBLIC},server.players`);
    expect([stream.status, stream.headers.get('ratelimit-policy')]).toEqual([200, '"public";q=1000000;w=60']);
    expect(stream.headers.get('cache-control')).toBe('private, no-cache, no-transform');
    await saveServerPoll(db, server.id, { state: STATE, polledAt: now() });
    await waitFor(() => stream.events.length === 1);
    await insertOne();
    await insertReadySound(db, aSteamId(3));
    await waitFor(() => stream.events.length === 2);
    expect(stream.events.map(({ type }) => type)).toEqual(['server.up', 'sound.changed']);
    expect([stream.events[0]?.id, stream.lastEventId()]).toEqual([undefined, undefined]);
  });

  test('a stream of other events is 401 without a token, whatever else is wrong', async () => {
    for (const query of [
      '',
      '?types=',
      '?types=,',
      '?types=penalty.created',
      '?types=server.up,penalty.created',
      '?types=server.up,kick',
      '?type=server.up',
      '?types=server.up&types=penalty.created',
      '?types=server.up&api_token=x',
    ]) {
      expect([query, (await service.get(`/events${query}`)).status]).toEqual([query, 401]);
    }
  });

  test('two streams an address at once; closing one makes room', async () => {
    const address = '198.51.100.2';
    const first = await openAsGuest(address);
    await openAsGuest(address);
    const third = await service.get(PUBLIC, { headers: { 'X-Forwarded-For': address } });
    expect([third.status, third.headers.get('retry-after')]).toEqual([429, '5']);
    const message = 'At most 2 event streams of an address, and 500 of all, without a token';
    expect(third.body).toEqual({ success: false, message });
    const [other, own] = [await openAsGuest('198.51.100.3'), await open('?types=server.up')];
    expect([other.status, own.status]).toEqual([200, 200]);
    await replace(first, () => openAsGuest(address));
  });
});

test('500 streams without a token at once, whatever their addresses', async () => {
  // Not by fetch, which opens fewer connections.
  const clients = Array.from({ length: 500 }, (_, n) =>
    openUnread(service.origin, `/api/v1${PUBLIC}`, { 'X-Forwarded-For': `203.0.${n >> 8}.${n & 255}` }),
  );
  await Promise.all(clients.map((client) => client.readBeginning()));
  const next = await service.get(PUBLIC, { headers: { 'X-Forwarded-For': '198.51.100.4' } });
  const own = await open(PUBLIC.replace('/events', ''));
  expect([next.status, own.status]).toEqual([429, 200]);
  own.leave();
  for (const client of clients) client.destroy();
});

test('sends which sounds were published, replaced and removed', async () => {
  const player = aSteamId(4);
  const stream = await open('?types=sound.changed');
  const expected: unknown[] = [];
  const expectEvent = async (values: object) => {
    expected.push({ type: 'sound.changed', occurred_at: A_TIME, steamid64: player, ...values });
    await waitFor(() => stream.events.length >= expected.length);
    expect(stream.events.map(({ data }) => data)).toEqual(expected);
  };
  await insertReadySound(db, player, 'one.wav', { voiceSha256: 'c3'.repeat(32) });
  await expectEvent({ has_sound: true, v: 'a1'.repeat(8), voice_v: 'c3'.repeat(8) });
  const { text } = await service.ask(`/api/v1/players/roundsounds?steamids=${player}`);
  expect(text).toContain(`${player}.mp3?v=${'a1'.repeat(8)}"`);
  // An upload that is not published yet, or that failed, changes nothing.
  await insertReadySound(db, aSteamId(5), 'x.wav', { status: 'failed', failure: 'silent' });
  await inTransaction(db, async (tx) => {
    await tx.delete(roundSounds).where(eq(roundSounds.steamId64, player));
    await insertReadySound(tx, player, 'two.wav', { sha256: 'b2'.repeat(32), voiceSha256: null });
  });
  await expectEvent({ has_sound: true, v: 'b2'.repeat(8), voice_v: null });
  await db.delete(roundSounds).where(eq(roundSounds.steamId64, player));
  await expectEvent({ has_sound: false, v: null, voice_v: null });
});

describe('GET /events', () => {
  test('sends events as they happen, under both bases', async () => {
    const stream = await open();
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    expect(stream.headers.get('cache-control')).toBe('private, no-cache, no-transform');
    const other = await openStream(`/index.php/api/v1/events?api_token=${token}`);
    const row = await insertOne({ reason: 'Ąę\nline' });
    await db
      .update(penalties)
      .set({ status: 'UNBANNED', liftedByName: 'Basia', liftedBySteamId: aSteamId(8) })
      .where(eq(penalties.id, row.id));
    await waitFor(() => stream.events.length === 2 && other.events.length === 2);
    expect(stream.events).toEqual(other.events);
    const { data } = await page(`?cursor=${stream.events[0]?.id}`);
    expect(stream.events[1]).toEqual({ id: data[0]?.cursor, type: 'penalty.lifted', data: data[0] });
    expect(data[0]?.penalty).toMatchObject({
      lifted: { at: null, admin_name: 'Basia', admin_steamid: aSteamId(8), reason: null },
    });
  });

  test('sends the requested types, and no silent events', async () => {
    const stream = await open('?types=penalty.created,%20penalty.removed,,');
    await db.insert(penaltySources).values({ name: 'forum', kind: 'ndjson', address: '' });
    await insertOne({ source: 'forum', sourceTable: 'a', sourceId: '1' });
    const row = await insertOne();
    await db.update(penalties).set({ reason: 'x' }).where(eq(penalties.id, row.id));
    await db.delete(penalties).where(eq(penalties.id, row.id));
    await waitFor(() => stream.events.length === 2);
    expect(stream.events.map(({ type }) => type)).toEqual(['penalty.created', 'penalty.removed']);
  });

  test.each(['type', 'Types', 'event_types'])('refuses %s, and suggests types', async (key) => {
    const { status, body } = await service.get(`/events?${key}=penalty.created`, bearer(token));
    const message = `unknown parameter "${key}": did you mean types?`;
    expect([status, body]).toEqual([400, { success: false, message }]);
  });

  test('resumes after Last-Event-ID without a gap or a repetition, however much was missed', async () => {
    const { meta } = await page();
    await insertMany(1700, (n) => `before ${n}`);
    const stream = await open('', { 'Last-Event-ID': meta.cursor });
    await insertMany(300, (n) => `after ${n}`);
    await waitFor(() => stream.events.length >= 2000);
    const reasons = stream.events.map(({ data }) => (data as Change).penalty.reason);
    expect(reasons).toEqual([
      ...Array.from({ length: 1700 }, (_, n) => `before ${n}`),
      ...Array.from({ length: 300 }, (_, n) => `after ${n}`),
    ]);
  });

  test('sends events of servers, without an id', async () => {
    const server = await insertServer(db);
    const state = { ...STATE, map: 'de_mirage', playersCount: 3 };
    await saveServerPoll(db, server.id, { state, polledAt: now() });
    const stream = await open('?types=server.up,server.down,server.map,server.players');
    let polls = 0;
    const poll = async (values: Partial<typeof state> | undefined, count: number) => {
      const polledAt = new Date(now().getTime() + ++polls * 15_000);
      await saveServerPoll(db, server.id, { state: values && { ...state, ...values }, polledAt });
      await waitFor(() => stream.events.length >= count);
    };
    await waitFor(async () => (await service.ask('/api/v1/servers')).text.includes('"de_mirage"'));
    const earlier = stream.events.length;
    await poll({ playersCount: 4 }, earlier + 1);
    await poll({ playersCount: 4, map: 'de_nuke' }, earlier + 2);
    await poll(undefined, earlier + 2);
    await poll(undefined, earlier + 3);
    await poll({}, earlier + 4);
    const event = (type: string, values: object) => ({
      id: undefined,
      type,
      data: { type, occurred_at: A_TIME, server: expect.objectContaining(values) },
    });
    expect(stream.events.slice(earlier)).toEqual([
      event('server.players', { players_count: 4 }),
      event('server.map', { map: 'de_nuke' }),
      event('server.down', { is_online: false }),
      event('server.up', { is_online: true, map: 'de_mirage', players_count: 3 }),
    ]);
    const { body } = await service.ask('/api/v1/servers');
    const { data } = body as { data: { slug: string }[] };
    const shown = data.find(({ slug }) => slug === server.slug);
    expect(stream.events.at(-1)?.data).toEqual(expect.objectContaining({ server: shown }));
  });

  test('sends all that the token may see by default', async () => {
    const server = await insertShownServer();
    const penaltiesOnly = await aToken(db, owner, { scopes: ['events'], now: new Date() });
    const all = await open();
    const some = await openStream('/api/v1/events', bearer(penaltiesOnly.token).headers);
    await saveServerPoll(db, server.id, { state: STATE, polledAt: now() });
    await waitFor(() => all.events.length === 1);
    await insertOne();
    await waitFor(() => all.events.length === 2 && some.events.length === 1);
    expect(all.events.map(({ type }) => type)).toEqual(['server.up', 'penalty.created']);
    expect(some.events.map(({ type }) => type)).toEqual(['penalty.created']);
  });

  test('five streams an owner at once; closing one makes room', async () => {
    const [first] = await Promise.all(Array.from({ length: 5 }, () => open()));
    const sixth = await service.get('/events', bearer(token));
    expect([sixth.status, sixth.headers.get('retry-after')]).toEqual([429, '5']);
    await replace(first, open);
  });

  test('HEAD opens no stream', async () => {
    for (let time = 0; time < 3; time++)
      expect((await service.ask(`/api/v1${PUBLIC}`, { method: 'HEAD' })).status).toBe(200);
  });
});

const countStreams = async () => (await readMetrics(service)).event_streams;

const openUnreadStream = () => openUnread(service.origin, '/api/v1/events', bearer(token).headers);

/** 24 MB: more than the kernel holds for a client. */
async function insertLargePenalties(): Promise<string> {
  const reason = 'x'.repeat(20_000);
  for (let n = 0; n < 6; n++) await insertMany(200, () => reason);
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
  const lagging = openUnreadStream();
  const stream = await open('?types=penalty.removed');
  await waitFor(async () => (await countStreams()) === 2);
  const reason = await insertLargePenalties();
  await waitFor(async () => (await countStreams()) === 1);
  const received = await lagging.readToEnd();
  expect(received).toStartWith('HTTP/1.1 200 OK\r\n');
  expect(received.endsWith('0\r\n\r\n')).toBe(false);
  await connection`delete from penalties where reason = ${reason}`;
  await waitFor(() => stream.events.length === 1200);
});

test('an erasure ends the streams, which resume without the person', async () => {
  const unread = openUnreadStream();
  const stream = await open();
  await waitFor(async () => (await countStreams()) === 2);
  const cursor = stream.lastEventId() ?? '';
  const person = { playerSteamId: aSteamId(77), playerName: 'Erased one' };
  await insertPenalties(db, [{ createdAt: new Date(), ...person }]);
  await waitFor(() => stream.events.length === 1);
  expect(JSON.stringify(stream.events)).toContain(person.playerName);
  await erase(db, person.playerSteamId, { withPenalties: true });
  await stream.closed;
  await waitFor(async () => (await countStreams()) === 0);
  unread.destroy();

  const resumed = await open('', { 'Last-Event-ID': cursor });
  await waitFor(() => resumed.events.length === 2);
  expect(resumed.events.map(({ type }) => type)).toEqual(['penalty.created', 'penalty.changed']);
  expect(JSON.stringify(resumed.events)).not.toMatch(new RegExp(`Erased one|${person.playerSteamId}`));
});

test('streams that were refused because the database was slow do not count against their owner', async () => {
  const request = () => fetch(`${service.origin}/api/v1/events`, bearer(token));
  const refused = await inTransaction(db, async (tx) => {
    await tx.execute(sql`lock table penalty_events, penalty_event_state in access exclusive mode`);
    return Promise.all(Array.from({ length: 5 }, request));
  });
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
  // This one waits for the same rows, so the others have found theirs by then.
  const response = await request();
  expect(response.status).toBe(200);
  await response.body?.cancel();
});
