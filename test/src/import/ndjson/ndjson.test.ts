import { expect, test } from 'bun:test';
import { Conflict } from '../../../../src/domain/errors.ts';
import type { SteamId64 } from '../../../../src/domain/steam-id.ts';
import { importNdjson } from '../../../../src/import/ndjson/ndjson.ts';
import { openPenaltyExport } from '../../../../src/queries/penalties/export.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { openImports } from '../../../support/import/penalty-rows.ts';
import { waitFor } from '../../../support/wait.ts';

const { db, connection, url, deps, stored, importTwice, announceAndImport } = await openImports();

/** Splits the input every few bytes, so that lines and characters are divided. */
async function* inPieces(bytes: Uint8Array, size = 7): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size);
}

async function importLines(
  lines: readonly unknown[],
  options: { isDryRun?: boolean; withoutServers?: boolean } = {},
) {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  return importNdjson(deps, { chunks: inPieces(new TextEncoder().encode(text)), ...options });
}

const ban = {
  penalty_type: 'ban',
  player_name: 'Rzeźnik 💀',
  player_steamid: '76561198000000001',
  admin_name: 'Ala',
  admin_steamid: 'STEAM_1:1:469867135',
  reason: 'Wallhack',
  duration: 60,
  server_id: 3,
  created: '2026-11-21T11:30:00+00:00',
};

test('imports every field, keeps existing penalties, and changes nothing when repeated', async () => {
  const lines = [
    { ...ban, source_id: 'x-1' },
    { ...ban, penalty_type: 'MUTE', source_id: 'x-1', duration: 0, ends: '2020-01-01T00:00:00Z' },
    { ...ban, source_id: 17, status: 'wygasły', ends: '2026-11-21T12:00:00+01:00' },
    { ...ban, source_id: 18, unbanned_at: '2026-11-21T11:45:00.9Z' },
    { ...ban, source_id: 19, created: '2026-11-20T11:30:00.7', duration: 10 },
  ];
  const summary = await importTwice(() => importLines(lines));
  expect(summary).toMatchObject({ read: 5, added: 5, changed: 0, unchanged: 0, setAside: 0 });
  const penalties = await stored();
  expect(
    penalties.map((row) => [row.sourceTable, row.sourceId, row.status, row.endsAt?.toISOString() ?? null]),
  ).toEqual([
    ['ban', 'x-1', 'ACTIVE', '2026-11-21T12:30:00.000Z'],
    ['ban', '17', 'EXPIRED', '2026-11-21T11:00:00.000Z'],
    ['ban', '18', 'UNBANNED', '2026-11-21T12:30:00.000Z'],
    ['ban', '19', 'EXPIRED', '2026-11-20T11:40:00.000Z'],
    ['mute', 'x-1', 'ACTIVE', null],
  ]);
  expect(penalties[0]).toMatchObject({
    playerName: 'Rzeźnik 💀',
    playerSteamId: '76561198000000001',
    adminSteamId: '76561198899999999',
    durationMinutes: 60,
    serverId: 3,
    source: 'ndjson',
  });
});

test('a line without a duration lasts the minutes up to its end, of which the last one may have begun only', async () => {
  await importLines([{ ...ban, duration: undefined, ends: '2026-11-21T11:45:01Z' }]);
  expect(await stored()).toMatchObject([{ durationMinutes: 16 }]);
});

test('a line without a source_id is known by its content, and may change its status', async () => {
  const twins = [ban, { ...ban, id: 1 }, { ...ban, id: 2 }, { ...ban, reason: 'Aimbot' }];
  expect(await importLines(twins)).toMatchObject({ added: 4 });
  expect(await importLines(twins)).toMatchObject({ added: 0, changed: 0, unchanged: 4 });
  const lifted = { ...ban, status: 'UNBANNED', unbanned_at: '2026-11-21T11:59:00Z' };
  expect(await importLines([lifted])).toMatchObject({ added: 0, changed: 1 });
  expect(await importLines([ban, ban])).toMatchObject({ read: 2, changed: 1, unchanged: 1 });
});

test('the last line of a penalty that occurs several times in a file counts', async () => {
  const first = { ...ban, source_id: 1, player_name: 'first' };
  const summary = await importLines([first, first, { ...first, player_name: 'second' }]);
  expect(summary).toMatchObject({ read: 3, added: 1, warnings: 0, setAside: 0 });
  expect(await stored()).toMatchObject([{ playerName: 'second' }]);
});

const NO_TIME = 'is not a time: use 2026-11-21T10:00:00+00:00';
/** Lines that are set aside, and why. */
const BAD_LINES: [line: unknown, reason: string][] = [
  ['{', "it is not JSON: JSON Parse error: Expected '}'"],
  ['[]', 'it is not a JSON object'],
  [{ ...ban, penalty_type: 'kick' }, 'penalty_type "kick" is not known: use ban, mute, gag, silence, warn'],
  [{ ...ban, player_steamid: 'BOT' }, 'the player\'s SteamID "BOT" is not a SteamID'],
  [
    '{"penalty_type":"ban","player_steamid":76561198000000001,"created":"2026-11-21T10:00:00Z"}',
    'player_steamid 76561198000000000 is a number, which loses digits: write it as a string',
  ],
  [{ ...ban, created: undefined }, 'created is missing'],
  [{ ...ban, created: '2026-02-30T10:00:00Z' }, `created "2026-02-30T10:00:00Z" ${NO_TIME}`],
  [{ ...ban, created: ' 2026-02-31T10:00:00Z' }, `created "2026-02-31T10:00:00Z" ${NO_TIME}`],
  [{ ...ban, created: 'yesterday' }, `created "yesterday" ${NO_TIME}`],
  [
    { ...ban, duration: undefined, ends: '2020-01-01T00:00:00Z' },
    'ends "2020-01-01T00:00:00Z" is before created',
  ],
  [{ ...ban, duration: -5 }, 'the duration -5 is negative'],
  [{ ...ban, duration: 1e300 }, 'the duration "1e+300" is not a whole number of minutes'],
  [{ ...ban, duration: '60.5' }, 'the duration "60.5" is not a whole number of minutes'],
  [{ ...ban, server_id: '1e3' }, 'server_id "1e3" is not a whole number from 0 to 2147483647'],
  [{ ...ban, server_id: -1 }, 'server_id -1 is not a whole number from 0 to 2147483647'],
  [
    { ...ban, status: 'weird' },
    'status "weird" is not known: use ACTIVE, EXPIRED, UNBANNED (or aktywny, wygasły, odbanowany)',
  ],
  [{ ...ban, player_steamid: undefined }, 'player_steamid is missing'],
  [{ ...ban, penalty_type: undefined }, 'penalty_type is missing'],
  [{ ...ban, source_id: { a: 1 } }, 'source_id {"a":1} is neither a string nor a whole number below 2^53'],
  [
    { ...ban, source_id: 2 ** 53 },
    'source_id 9007199254740992 is neither a string nor a whole number below 2^53',
  ],
  [{ ...ban, player_name: 5 }, 'player_name 5 is not a string'],
];

test('reports bad lines with number and reason, and keeps the rest', async () => {
  const good = { ...ban, player_name: `a${String.fromCharCode(0)}b` };
  const summary = await importLines(['\ufeff', '   ', ...BAD_LINES.map(([line]) => line), good, '']);
  const count = BAD_LINES.length;
  expect(summary).toMatchObject({ read: count + 1, added: 1, setAside: count });
  expect(summary.rowsSetAside).toEqual(
    BAD_LINES.map(([, reason], index) => ({ table: 'line', id: String(index + 3), reason })),
  );
  expect(await stored()).toMatchObject([{ playerName: 'ab' }]);
});

test('lines that are no UTF-8 or endless are skipped, CRLF and a missing last line end are taken', async () => {
  const line = (id: string) => new TextEncoder().encode(`${JSON.stringify({ ...ban, source_id: id })}\r\n`);
  const bytes = Buffer.concat([
    line('a'),
    Uint8Array.of(0x22, 0xff, 0xfe, 0x22, 10),
    Buffer.alloc(3_000_000, 0x20),
    Uint8Array.of(10),
    line('b').slice(0, -2),
  ]);
  const summary = await importNdjson(deps, { chunks: inPieces(bytes, 65_536) });
  expect(summary).toMatchObject({ read: 4, added: 2, setAside: 2 });
  expect(summary.rowsSetAside.map((row) => row.id)).toEqual(['2', '3']);
});

test('a dry run counts a penalty that comes again far later as the import does', async () => {
  await importLines([{ ...ban, source_id: 1, reason: 'Aimbot' }]);
  const others = (from: number) =>
    Array.from({ length: 10_000 }, (_, index) => ({ ...ban, source_id: from + index }));
  const lines = [
    // Stored already, and changed back and forth.
    { ...ban, source_id: 1 },
    { ...ban, source_id: 2 },
    { ...ban, source_id: 3 },
    { ...ban, source_id: 4, duration: 'no number' },
    ...others(100),
    { ...ban, source_id: 1, reason: 'Aimbot' },
    { ...ban, source_id: 2 },
    { ...ban, source_id: 3, reason: 'Aimbot' },
    { ...ban, source_id: 4 },
    ...others(20_000),
    { ...ban, source_id: 1, reason: 'Aimbot' },
    { ...ban, source_id: 3 },
  ];
  const done = await announceAndImport((options) => importLines(lines, options));
  expect(done).toMatchObject({ added: 20_003, changed: 4, unchanged: 2, setAside: 1 });
});

test('an import waits for another of the same source, and not for one of another', async () => {
  const gate = Promise.withResolvers<void>();
  const line = (id: number) => new TextEncoder().encode(`${JSON.stringify({ ...ban, source_id: id })}\n`);
  async function* heldBack() {
    yield line(1);
    await gate.promise;
    yield line(2);
  }
  const waiting = Promise.withResolvers<void>();
  const first = importNdjson(deps, { chunks: heldBack() });
  // Only locks of this database: other tests hold locks on the same server.
  const listLocks = () => connection`
    select from pg_locks join pg_database on pg_database.oid = pg_locks.database
    where locktype = 'advisory' and granted and datname = current_database()`;
  await waitFor(async () => (await listLocks()).length > 0);
  const second = importNdjson(deps, { chunks: inPieces(line(3)), onWait: waiting.resolve });
  await waiting.promise;
  await expect(importNdjson(deps, { chunks: inPieces(line(3)), waits: false })).rejects.toThrow(Conflict);
  expect(await importNdjson(deps, { chunks: inPieces(line(3)), source: 'elsewhere' })).toMatchObject({
    added: 1,
  });
  gate.resolve();
  expect(await first).toMatchObject({ added: 2 });
  expect(await second).toMatchObject({ added: 1 });
});

test('writes a batch of long lines before it has read much more than 8 MB', async () => {
  const lines = Array.from({ length: 20 }, (_, index) =>
    JSON.stringify({ ...ban, source_id: index, note: 'x'.repeat(1_000_000) }),
  );
  const read: number[] = [];
  const chunks = inPieces(new TextEncoder().encode(lines.join('\n')), 500_000);
  expect(
    await importNdjson(deps, { chunks, onProgress: (progress) => read.push(progress.read) }),
  ).toMatchObject({ added: 20 });
  expect(read).toEqual([9, 18, 20]);
});

/** All penalties as `/penalties/export` sends them, with its last line. */
async function exportLines(): Promise<Record<string, unknown>[]> {
  const at = new Date('2026-11-21T12:00:00Z');
  const { records, close } = await openPenaltyExport(url, {}, { ownerId: 1, now: at });
  let text = '';
  for await (const { bytes } of records) text += new TextDecoder().decode(bytes);
  await close();
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

test('imports an export of this service with its lifts, servers and last line, and the penalties are equal', async () => {
  const liftedAt = new Date('2026-11-20T10:00:00Z');
  const lifter = { liftedByName: 'Basia', liftedBySteamId: aSteamId(7), liftReason: 'Appeal' };
  const endsAt = new Date('2026-11-22T10:00:00Z');
  await insertPenalties(db, [
    { durationMinutes: 0, endsAt: null, serverId: 12 },
    { status: 'UNBANNED', liftedAt, ...lifter },
    { status: 'UNBANNED', liftedAt: null, ...lifter },
    {
      status: 'UNBANNED',
      liftedAt,
      liftedByName: 'Console',
      liftedBySteamId: '0' as SteamId64,
      liftReason: null,
    },
    { status: 'UNBANNED' },
    { type: 'mute', durationMinutes: 60, endsAt: null },
    {
      type: 'warn',
      durationMinutes: 2880,
      endsAt,
      playerSteamId: '0' as SteamId64,
      adminSteamId: '0' as SteamId64,
    },
    { status: 'EXPIRED', durationMinutes: 1, endsAt: new Date('2026-11-01T10:00:00Z') },
  ]);
  const lines = await exportLines();
  const end = { end: true, count: lines.length, cursor: '0123abcd-5' };
  await connection`truncate penalties`;
  const counts = { read: 8, setAside: 0, warnings: 0 };
  expect(await importLines([...lines, end])).toMatchObject({ ...counts, added: 8 });
  const withoutId = (records: Record<string, unknown>[]) => records.map(({ id: _, ...record }) => record);
  expect(withoutId(await exportLines())).toEqual(withoutId(lines));
  expect(await importLines([...lines, end])).toMatchObject({ ...counts, unchanged: 8 });
  expect(await importLines(lines, { withoutServers: true })).toMatchObject({ ...counts, changed: 8 });
  expect((await exportLines()).map((record) => record.server_id)).toEqual(lines.map(() => 0));
});

test('reads decimal strings as numbers, as the same penalty', async () => {
  const written = { ...ban, duration: '1440', server_id: '3' };
  expect(await importLines([written])).toMatchObject({ added: 1, setAside: 0 });
  expect(await importLines([{ ...ban, duration: 1440 }])).toMatchObject({ unchanged: 1 });
  expect(await stored()).toMatchObject([{ durationMinutes: 1440, serverId: 3 }]);
});

test.each([
  [
    'a JSON array',
    new TextEncoder().encode(`\ufeff [\n${JSON.stringify(ban)},\n${JSON.stringify(ban)}]`),
    "jq -c '.[]'",
  ],
  ['UTF-16', Buffer.from(`\ufeff${JSON.stringify(ban)}\n`, 'utf16le'), 'iconv -f UTF-16 -t UTF-8'],
  [
    'UTF-16 without a byte order mark',
    Buffer.from(`${JSON.stringify(ban)}\n`, 'utf16le'),
    'iconv -f UTF-16 -t UTF-8',
  ],
  ['a compressed file', Bun.gzipSync(`${JSON.stringify(ban)}\n`), 'gunzip -c'],
  ['a spreadsheet', Buffer.from('PK\x03\x04\x14', 'latin1'), 'unpack it'],
  ['an SQLite database', Buffer.from('SQLite format 3\0\x10'), 'import simpleadmin --url sqlite:PATH'],
  ['a dump of MySQL', Buffer.from('-- MySQL dump 10.13\n--\n'), 'load it into one'],
  ['a web page', Buffer.from('\n<!doctype html>'), 'XML or HTML'],
  ['an indented JSON file', Buffer.from(JSON.stringify({ penalties: [ban] }, null, 2)), '`jq -c .`'],
  [
    'a table of values',
    Buffer.from(`id,name\n${'1,Ala\n\n'.repeat(30)}${JSON.stringify(ban)}\n`),
    'one object a line',
  ],
  ['one line of text', Buffer.from('hello'), 'one object a line'],
] as const)('refuses %s once, and says what to do with it', async (_, bytes, advice) => {
  const reports: unknown[] = [];
  const importing = importNdjson(deps, {
    chunks: inPieces(bytes),
    onReport: (...report) => void reports.push(report),
  });
  await expect(importing).rejects.toThrow(advice);
  expect(reports).toEqual([]);
  expect(await stored()).toEqual([]);
});

test('reads a file whose twentieth line is its first JSON object', async () => {
  expect(await importLines([...Array.from({ length: 19 }, () => 'junk'), '', ban])).toMatchObject({
    added: 1,
    setAside: 19,
  });
});

test('leaves statistics of what it imported, and no new ones after a small change', async () => {
  const countTuples = async () =>
    (
      await connection`select reltuples::integer as rows from pg_class
      where oid in ('penalties'::regclass, 'player_names'::regclass) order by relname`
    ).map(({ rows }) => rows);
  await connection`truncate player_names`;
  const lines = Array.from({ length: 100 }, (_, index) => ({
    ...ban,
    source_id: index,
    player_name: `Player ${index}`,
  }));
  await importLines(lines);
  expect(await countTuples()).toEqual([100, 100]);
  await importLines(Array.from({ length: 5 }, (_, index) => ({ ...ban, source_id: `new ${index}` })));
  expect(await countTuples()).toEqual([100, 100]);
});
