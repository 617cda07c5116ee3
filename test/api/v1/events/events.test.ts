import { beforeEach, describe, expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { apiTokens } from '../../../../src/db/schema/accounts.ts';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { penaltySources } from '../../../../src/db/schema/penalty-sources.ts';
import { revokeApiToken } from '../../../../src/queries/users/api-tokens.ts';
import {
  aSteamId,
  insertPenalties,
  insertServer,
  saveServerPoll,
} from '../../../support/database/builders.ts';
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

type Change = { cursor: string; type: string; penalty: { id: number; reason: string; status: string } };
type Page = { success: boolean; data: Change[]; meta: { cursor: string; has_more: boolean } };

const changes = (query = '') => service.get(`/penalties/changes${query}`, bearer(token));
async function page(query = ''): Promise<Page> {
  const { status, body } = await changes(query);
  expect(status).toBe(200);
  return body as Page;
}
const now = () => new Date(Math.floor(Date.now() / 1000) * 1000);
const insertOne = async (values: Partial<typeof penalties.$inferInsert> = {}) => {
  const [row] = await insertPenalties(db, [{ createdAt: now(), ...values }]);
  if (!row) throw new Error('nothing was inserted');
  return row;
};
const open = (query = '', headers: Record<string, string> = {}) =>
  openEventStream(`${service.origin}/api/v1/events${query}`, { ...bearer(token).headers, ...headers });

describe('GET /penalties/changes', () => {
  test('gives the present cursor, then what changed since, each as it was after the change', async () => {
    const { data, meta } = await page();
    expect([data, meta.has_more]).toEqual([[], false]);
    const row = await insertOne({ reason: 'Wallhack', playerSteamId: aSteamId(5) });
    await db.update(penalties).set({ reason: 'Aimbot' }).where(eq(penalties.id, row.id));
    const next = await page(`?cursor=${meta.cursor}`);
    expect(next.data).toEqual([
      {
        cursor: expect.stringMatching(/^[0-9a-f]{8}-[0-9]+$/),
        type: 'penalty.created',
        occurred_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/),
        penalty: expect.objectContaining({
          penalty_type: 'ban',
          id: row.id,
          player_steamid: aSteamId(5),
          reason: 'Wallhack',
          status: 'ACTIVE',
          ends: null,
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
    await insertPenalties(
      db,
      Array.from({ length: 620 }, () => ({ createdAt: now() })),
    );
    const sizes = async (limit: string) => {
      const found = await page(`?cursor=${meta.cursor}${limit}`);
      return [found.data.length, found.meta.has_more];
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
      expect([status, body]).toEqual([
        410,
        { success: false, message: expect.stringContaining('/penalties/export') },
      ]);
    }
    expect((await service.get('/penalties/changes?cursor=x')).status).toBe(401);
  });
});

describe('GET /events', () => {
  test('tells what happens as it happens, in both bases', async () => {
    const stream = await open();
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const other = await openEventStream(`${service.origin}/index.php/api/v1/events?api_token=${token}`);
    const row = await insertOne({ reason: 'Ąę\nline' });
    await db.update(penalties).set({ status: 'UNBANNED' }).where(eq(penalties.id, row.id));
    await waitFor(() => stream.events.length === 2 && other.events.length === 2);
    expect(stream.events).toEqual(other.events);
    const { data } = await page(`?cursor=${stream.events[0]?.id}`);
    expect(stream.events[1]).toEqual({ id: data[0]?.cursor, type: 'penalty.lifted', data: data[0] });
    stream.leave();
    other.leave();
  });

  test('tells the types that are asked for, and nothing that is silent', async () => {
    const stream = await open('?types=penalty.created,%20penalty.removed,,');
    await db.insert(penaltySources).values({ name: 'forum', kind: 'ndjson', address: '' });
    await insertOne({ source: 'forum', sourceTable: 'a', sourceId: '1' });
    const row = await insertOne();
    await db.update(penalties).set({ reason: 'x' }).where(eq(penalties.id, row.id));
    await db.delete(penalties).where(eq(penalties.id, row.id));
    await waitFor(() => stream.events.length === 2);
    expect(stream.events.map(({ type }) => type)).toEqual(['penalty.created', 'penalty.removed']);
    stream.leave();
  });

  test('refuses unknown types and cursors', async () => {
    const refused = await service.get('/events?types=penalty.created,kick', bearer(token));
    expect([refused.status, refused.body]).toEqual([
      400,
      { success: false, message: expect.stringContaining('"kick"') },
    ]);
    const gone = await service.get('/events', {
      headers: { ...bearer(token).headers, 'Last-Event-ID': 'nowhere' },
    });
    expect(gone.status).toBe(410);
    expect((await service.get('/events')).status).toBe(401);
  });

  test('resumes after Last-Event-ID without a gap or a repetition, however much was missed', async () => {
    const { meta } = await page();
    await insertPenalties(
      db,
      Array.from({ length: 1700 }, (_, n) => ({ createdAt: now(), reason: `before ${n}` })),
    );
    const stream = await open('', { 'Last-Event-ID': meta.cursor });
    await insertPenalties(
      db,
      Array.from({ length: 300 }, (_, n) => ({ createdAt: now(), reason: `after ${n}` })),
    );
    await waitFor(() => stream.events.length >= 2000);
    const reasons = stream.events.map(({ data }) => (data as Change).penalty.reason);
    expect(reasons).toEqual([
      ...Array.from({ length: 1700 }, (_, n) => `before ${n}`),
      ...Array.from({ length: 300 }, (_, n) => `after ${n}`),
    ]);
    stream.leave();
  });

  test('tells what happens to servers, without an id', async () => {
    const server = await insertServer(db);
    const state = {
      hostname: 'x',
      map: 'de_mirage',
      playersCount: 3,
      maxPlayers: 10,
      pingMs: 9,
      players: [],
    };
    await saveServerPoll(db, server.id, { state, polledAt: now() });
    const stream = await open('?types=server.up,server.down,server.map,server.players');
    const poll = async (values: Partial<typeof state> | undefined, count: number) => {
      await saveServerPoll(db, server.id, { state: values && { ...state, ...values }, polledAt: now() });
      await waitFor(() => stream.events.length >= count);
    };
    await waitFor(async () => (await service.ask('/api/v1/servers')).text.includes('"de_mirage"'));
    const seen = stream.events.length;
    await poll({ playersCount: 4 }, seen + 1);
    await poll({ playersCount: 4, map: 'de_nuke' }, seen + 2);
    expect(stream.events.slice(seen)).toEqual([
      {
        id: undefined,
        type: 'server.players',
        data: expect.objectContaining({ server: expect.objectContaining({ players_count: 4 }) }),
      },
      {
        id: undefined,
        type: 'server.map',
        data: expect.objectContaining({
          type: 'server.map',
          server: expect.objectContaining({ map: 'de_nuke' }),
        }),
      },
    ]);
    stream.leave();
  });

  test('five streams an owner at once; one that is left makes room', async () => {
    const streams = await Promise.all(Array.from({ length: 5 }, () => open()));
    const sixth = await service.get('/events', bearer(token));
    expect([sixth.status, sixth.headers.get('retry-after')]).toEqual([429, '5']);
    streams[0]?.leave();
    await waitFor(async () => {
      const again = await open();
      again.leave();
      return again.status === 200;
    });
    for (const stream of streams) stream.leave();
  });

  test('HEAD opens no stream', async () => {
    const head = await service.ask('/api/v1/events', { method: 'HEAD', ...bearer(token) });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  });

  test('a token that is revoked or expires ends its streams', async () => {
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

  test('a token that is revoked ends its streams though nobody was notified', async () => {
    const stream = await open();
    await db.execute(sql`alter table api_tokens disable trigger user`);
    await db.update(apiTokens).set({ revokedAt: new Date() }).where(eq(apiTokens.id, tokenId));
    await db.execute(sql`alter table api_tokens enable trigger user`);
    await stream.closed;
  });

  test('a client that does not read is disconnected, and the others go on', async () => {
    const { connect } = await import('node:net');
    const port = Number(new URL(service.origin).port);
    const lagging = connect(port, '127.0.0.1');
    lagging.write(`GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    lagging.pause();
    const stream = await open('?types=penalty.removed');
    const gauge = async () =>
      Number(/community_api_event_streams (\d+)/.exec((await service.ask('/metrics')).text)?.[1]);
    await waitFor(async () => (await gauge()) === 2);
    const reason = 'x'.repeat(20_000);
    for (let n = 0; n < 6; n++) {
      await insertPenalties(
        db,
        Array.from({ length: 200 }, () => ({ createdAt: now(), reason })),
      );
    }
    await waitFor(async () => (await gauge()) === 1);
    lagging.destroy();
    await connection`delete from penalties where reason = ${reason}`;
    await waitFor(() => stream.events.length === 1200);
    stream.leave();
  });
});
