import { beforeEach, describe, expect, test } from 'bun:test';
import { connect as connectSocket } from 'node:net';
import { eq } from 'drizzle-orm';
import { BASES } from '../../../../api/app.ts';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, NOW, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const service = await startTestService({ databaseUrl: database.url });
let owner = 900;
let token = '';
beforeEach(async () => {
  await connection`truncate penalties`;
  owner += 1;
  ({ token } = await aToken(db, owner));
});

type End = { end: true; count: number; cursor: string };

/** Asks one base after another: an owner has one export at a time. */
async function exportAll(query = ''): Promise<{ records: unknown[]; end: End }> {
  const texts: string[] = [];
  for (const base of BASES) {
    const { status, headers, text } = await service.ask(`${base}/penalties/export${query}`, bearer(token));
    expect([status, headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    expect(text).toEndWith('\n');
    texts.push(text);
  }
  expect(texts[1]).toBe(texts[0] ?? '');
  const lines = (texts[0] ?? '')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const end = lines.pop();
  expect(end).toStrictEqual({
    end: true,
    count: lines.length,
    cursor: expect.stringMatching(/^[0-9a-f]{8}-[0-9]+$/),
  });
  return { records: lines, end };
}

/** What `/penalties` lists, oldest first. */
async function listAll(query = ''): Promise<unknown[]> {
  const { body } = await service.get(`/penalties?per_page=100${query.replace('?', '&')}`, bearer(token));
  return (body as { data: unknown[] }).data.toReversed();
}

const SECOND = 1000;
const VARIED: Parameters<typeof insertPenalties>[1] = [
  { type: 'ban', playerName: 'Łukasz "\\" \n\t\u0001 🎧', reason: '</script>\u2028\u007f', serverId: 0 },
  { type: 'mute', endsAt: new Date(NOW.getTime() - SECOND), createdAt: new Date('1971-01-01T00:00:00Z') },
  { type: 'gag', endsAt: new Date(NOW.getTime() + SECOND), playerSteamId: '0' as never },
  { type: 'silence', status: 'UNBANNED', endsAt: new Date('9999-12-31T23:59:59Z') },
  { type: 'warn', status: 'EXPIRED', adminSteamId: '0' as never, durationMinutes: 1440, serverId: 3 },
  { type: 'ban', goneAt: NOW, createdAt: new Date('2026-11-20T23:59:59Z'), playerSteamId: aSteamId(7) },
];

describe('GET /penalties/export', () => {
  test('sends the records of /penalties, oldest first, and says that they are all', async () => {
    await insertPenalties(db, VARIED);
    const { records } = await exportAll();
    expect(records).toHaveLength(VARIED.length);
    expect(records).toStrictEqual(await listAll());
    const [{ text }, listed] = await Promise.all([
      service.ask(`${BASES[0]}/penalties/export?steamid=${aSteamId(7)}`, bearer(token)),
      service.ask(`${BASES[0]}/penalties?steamid=${aSteamId(7)}`, bearer(token)),
    ]);
    // Byte by byte as well, order of fields included.
    expect(listed.text).toContain(`"data":[${text.split('\n')[0]}]`);
  });

  test.each([
    '?type=ban',
    '?status=ACTIVE',
    '?status=wygas%C5%82y',
    '?status=odbanowany',
    '?server_id=0',
    `?steamid=${aSteamId(7)}`,
    `?admin_steamid=${aSteamId(900)}`,
    '?type=ban&status=ACTIVE&server_id=1',
    '?server_id=12345',
    '?page=2&per_page=1',
  ])('takes the filters of /penalties, and no pages: %s', async (query) => {
    await insertPenalties(db, VARIED);
    const expected = await listAll(query.startsWith('?page') ? '' : query);
    expect((await exportAll(query)).records).toStrictEqual(expected);
  });

  test('sends many batches, in the order of creation and id', async () => {
    await fill(1001);
    const { records, end } = await exportAll();
    expect(end.count).toBe(1001);
    const keys = (records as { created: string; id: number }[]).map(
      ({ created, id }) => `${created} ${String(id).padStart(12, '0')}`,
    );
    expect(keys).toEqual(keys.toSorted());
  });

  test('its cursor goes on where it ended', async () => {
    const [row] = await insertPenalties(db, [{}]);
    const { end } = await exportAll();
    await db
      .update(penalties)
      .set({ reason: 'Aimbot' })
      .where(eq(penalties.id, row?.id ?? 0));
    const { body } = await service.get(`/penalties/changes?cursor=${end.cursor}`, bearer(token));
    expect(body).toMatchObject({ data: [{ type: 'penalty.changed', penalty: { reason: 'Aimbot' } }] });
  });

  test('is of one moment, whatever is written while it runs, and its cursor of the same', async () => {
    await fill(15_000);
    const reader = await open();
    await insertPenalties(db, [{ reason: 'too late', createdAt: new Date('2026-11-21T09:00:00Z') }]);
    await connection`delete from penalties where id = (select max(id) - 1 from penalties)`;
    const { text } = await readToEnd(reader);
    const lines = text.trimEnd().split('\n');
    const end: End = JSON.parse(lines.at(-1) ?? '');
    expect([end.count, lines.length]).toEqual([15_000, 15_001]);
    expect(text).not.toContain('too late');
    const { body } = await service.get(`/penalties/changes?cursor=${end.cursor}`, bearer(token));
    expect((body as { data: { type: string }[] }).data.map(({ type }) => type)).toEqual([
      'penalty.created',
      'penalty.removed',
    ]);
  });

  test.each([
    '?type=kick',
    '?status=open',
    '?steamid=nobody',
    '?server_id=abc',
    '?admin_steamid=x',
    '?steam_id=1',
  ])('refuses %s as /penalties does', async (query) => {
    const [exported, listed] = await Promise.all(
      ['/penalties/export', '/penalties'].map((path) => service.get(path + query, bearer(token))),
    );
    expect(exported?.status).toBe(400);
    expect(exported?.body).toEqual(listed?.body);
  });

  test('needs a token', async () => {
    expect((await service.get('/penalties/export?type=kick')).status).toBe(401);
  });

  test('HEAD has the headers and begins nothing', async () => {
    for (let turn = 0; turn < 8; turn++) {
      const { status, headers, text } = await service.get('/penalties/export', {
        ...bearer(token),
        method: 'HEAD',
      });
      expect([status, headers.get('content-type'), text]).toEqual([200, 'application/x-ndjson', '']);
    }
    expect((await exportAll()).end.count).toBe(0);
  });
});

describe('limits of /penalties/export', () => {
  const start = () => service.ask('/api/v1/penalties/export', bearer(token));

  test('six in any hour, of which refused requests are none, then 429 until the first is an hour old', async () => {
    for (let turn = 0; turn < 5; turn++) {
      expect((await start()).status).toBe(200);
      expect((await service.ask('/api/v1/penalties/export?type=kick', bearer(token))).status).toBe(400);
      await service.ask('/api/v1/penalties/export', { ...bearer(token), method: 'HEAD' });
      service.clock.monotonicMs += 60_000;
    }
    expect((await start()).status).toBe(200);
    for (let turn = 0; turn < 3; turn++) {
      const { status, headers, body } = await start();
      expect([status, headers.get('retry-after'), body]).toEqual([
        429,
        '3300',
        {
          success: false,
          message: 'At most 6 exports an hour: read /penalties/changes meanwhile',
        },
      ]);
    }
    const another = await aToken(db, owner + 10_000);
    expect((await service.ask('/api/v1/penalties/export', bearer(another.token))).status).toBe(200);
    service.clock.monotonicMs += 3_300_000;
    expect((await start()).status).toBe(200);
    expect((await start()).status).toBe(429);
  });

  test('one at a time for an owner, whichever of their tokens; the next when it ended, or they left', async () => {
    await fill(15_000);
    const running = await open();
    const other = await aToken(db, owner);
    for (const base of BASES) {
      const second = await service.ask(`${base}/penalties/export`, bearer(other.token));
      expect([second.status, second.headers.get('retry-after'), second.body]).toEqual([
        429,
        '10',
        { success: false, message: 'One export at a time: another one of yours still runs' },
      ]);
    }
    await running.cancel();
    await waitFor(async () => (await start()).status === 200);
    await waitFor(async () => (await countSessions()) === 0);
  });

  test('at most four in a process, the fifth owner is told to come back', async () => {
    const spent = token;
    for (let turn = 0; turn < 6; turn++) expect((await start()).status).toBe(200);
    await fill(15_000);
    const [readers, tokens]: [Awaited<ReturnType<typeof open>>[], string[]] = [[], []];
    for (let turn = 0; turn < 4; turn++) {
      owner += 1;
      ({ token } = await aToken(db, owner));
      tokens.push(token);
      readers.push(await open());
    }
    owner += 1;
    ({ token } = await aToken(db, owner));
    const another = token;
    expect((await start()).status).toBe(503);
    // Nor is that one of the six.
    expect((await start()).status).toBe(503);
    // What is wrong with the owner is said first: who runs one, and who has spent theirs.
    token = tokens[0] ?? '';
    expect((await start()).status).toBe(429);
    token = spent;
    expect((await start()).status).toBe(429);
    for (const reader of readers) await reader.cancel();
    token = another;
    await waitFor(async () => (await start()).status === 200);
  });
});

describe('an export whose client', () => {
  test('reads slowly is whole all the same, longer than a statement may take', async () => {
    await fill(15_000);
    const reader = await open();
    await Bun.sleep(16_000);
    const { text } = await readToEnd(reader);
    expect(JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ end: true, count: 15_000 });
  });

  test('leaves frees its connection at once', async () => {
    await fill(15_000);
    const reader = await open();
    expect(await countSessions()).toBe(1);
    await reader.cancel();
    await waitFor(async () => (await countSessions()) === 0);
  });

  test('reads nothing, or a byte at a time, is broken off within half a minute, without the last line', async () => {
    await fill(15_000);
    const received = await readNothing();
    owner += 1;
    ({ token } = await aToken(db, owner));
    const trickling = readByteByByte();
    try {
      await waitFor(async () => (await countSessions()) === 2);
      const sinceMs = performance.now();
      await waitFor(async () => (await countSessions()) === 0);
      expect(performance.now() - sinceMs).toBeLessThan(40_000);
    } finally {
      trickling.kill();
    }
    expect(await received.readRest()).not.toContain('"end":true');
  });

  test('is told by a broken response when the database breaks off', async () => {
    await fill(15_000);
    const reader = await open();
    await connection`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name like 'export%' and datname = current_database()`;
    const { text, isBroken } = await readToEnd(reader);
    expect([isBroken, text.includes('"end":true')]).toEqual([true, false]);
  });
});

test('a service that stops breaks exports off, and waits for none', async () => {
  await fill(15_000);
  const stopping = await startTestService({ databaseUrl: database.url });
  const reader = await open(stopping.origin);
  const sinceMs = performance.now();
  await stopping.stop();
  expect(performance.now() - sinceMs).toBeLessThan(2500);
  const { text } = await readToEnd(reader);
  expect(text).not.toContain('"end":true');
  await waitFor(async () => (await countSessions()) === 0);
});

/** Fifteen thousand are 45 MB: more than the kernel takes for a client that does not read (33 MB). */
async function fill(rows: number): Promise<void> {
  await connection`
    insert into penalties (type, status, player_name, player_steamid, admin_steamid, duration_minutes, reason, created_at)
    select 'warn', 'ACTIVE', 'Player', ${aSteamId(1)}::bigint, 0, 0, repeat('x', 3000),
      timestamptz '2026-01-01Z' + (n * 7919 % 1000) * interval '1 minute'
    from generate_series(1, ${rows}::int) as n`;
}

/** Begins an export and reads its first bytes. */
async function open(origin = service.origin) {
  const { status, body } = await fetch(`${origin}/api/v1/penalties/export`, bearer(token));
  expect(status).toBe(200);
  if (!body) throw new Error('there is no body');
  const reader = body.getReader();
  const first = await reader.read();
  return { reader, first: new TextDecoder().decode(first.value), cancel: () => reader.cancel() };
}

async function readToEnd({ reader, first }: Awaited<ReturnType<typeof open>>) {
  let text = first;
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { text, isBroken: false };
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    return { text, isBroken: true };
  }
}

/** A client that asks and then reads nothing at all, until it is told to. */
async function readNothing() {
  const socket = connectSocket({ port: Number(new URL(service.origin).port), host: '127.0.0.1' });
  socket.pause();
  socket.write(`GET /api/v1/penalties/export HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await waitFor(async () => (await countSessions()) === 1);
  return {
    readRest: async () => {
      let text = '';
      const closed = Promise.withResolvers<void>();
      socket.on('data', (bytes) => {
        text += bytes.toString();
      });
      socket.on('close', () => closed.resolve());
      socket.on('error', () => closed.resolve());
      socket.resume();
      await closed.promise;
      return text;
    },
  };
}

/** A client of which the kernel hands over five bytes a second. */
function readByteByByte() {
  const { port } = new URL(service.origin);
  const request = `GET /api/v1/penalties/export HTTP/1.1\\r\\nHost: x\\r\\nAuthorization: Bearer ${token}\\r\\n\\r\\n`;
  const script = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf '${request}' >&3
    while :; do head -c 1 <&3 >/dev/null; sleep 0.2; done`;
  return Bun.spawn(['bash', '-c', script], { stdout: 'ignore', stderr: 'ignore' });
}

/** Connections that exports hold. */
async function countSessions(): Promise<number> {
  const [row] = await connection<{ count: string }[]>`select count(*) from pg_stat_activity
    where application_name like 'export%' and datname = current_database()`;
  return Number(row?.count);
}
