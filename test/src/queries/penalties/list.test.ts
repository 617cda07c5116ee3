import { expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { openDatabase } from '../../../../src/db/database.ts';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { byPenaltyType, PENALTY_STATUSES, PENALTY_TYPES, statusAt } from '../../../../src/domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../../../src/domain/steam-id.ts';
import type { PenaltyFilter } from '../../../../src/queries/penalties/filter.ts';
import { listPenalties } from '../../../../src/queries/penalties/list.ts';
import type { PenaltySort } from '../../../../src/queries/penalties/row.ts';
import { aPenalty, aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db, url } = await createTestDatabase();
const now = new Date('2026-11-21T10:00:00Z');
const hour = 3_600_000;

let seed = 11;
const random = (below: number) => {
  seed = (seed * 1103515245 + 12345) % 2147483648;
  return Math.floor((seed / 2147483648) * below);
};

/** Only letter case of ASCII is ignored; nothing in a text is a wildcard. */
const REASONS = [
  '',
  'Wallhack',
  'wALLHACK, znów',
  '100% AFK',
  '1000 AFK',
  'ŁAMANIE zasad',
  'łamanie ZASAD',
  'a\\_b',
];

/** Two thousand rows over half a year, many on a few crowded days; a tenth have ended but are still ACTIVE. */
async function insertHistory() {
  const rows = Array.from({ length: 2000 }, () => {
    const day = random(10) < 4 ? random(3) * 40 : random(180);
    const createdAt = new Date(now.getTime() - day * 24 * hour - random(24 * 3600) * 1000);
    const isEnding = random(3) > 0;
    return aPenalty({
      type: PENALTY_TYPES[random(PENALTY_TYPES.length)] ?? 'ban',
      status: PENALTY_STATUSES[random(3)] ?? 'ACTIVE',
      serverId: random(4),
      adminSteamId: random(3) === 0 ? UNKNOWN_STEAM_ID : aSteamId(900 + random(4)),
      playerSteamId: random(5) === 0 ? UNKNOWN_STEAM_ID : aSteamId(1 + random(40)),
      createdAt,
      endsAt: isEnding ? new Date(createdAt.getTime() + random(1000) * hour) : null,
      durationMinutes: isEnding ? 60 : 0,
      reason: REASONS[random(REASONS.length)] ?? '',
    });
  });
  await insertPenalties(db, rows);
}

/** The list that the specification asks for, computed row by row; its pages are cut from it. */
function expected(
  all: (typeof penalties.$inferSelect)[],
  { types, status, serverId, playerSteamId, adminSteamId, createdFrom, createdTo, reason }: PenaltyFilter,
  sort: PenaltySort = '-created',
) {
  const isIn = <T>(value: T, wanted: T | undefined) => wanted === undefined || value === wanted;
  const truth = all
    .map((row) => ({ ...row, status: statusAt(row.status, row.endsAt, now) }))
    .filter((row) => isIn(row.status, status))
    .filter((row) => isIn(row.serverId, serverId))
    .filter((row) => isIn(row.playerSteamId, playerSteamId))
    .filter((row) => isIn(row.adminSteamId, adminSteamId))
    .filter(({ createdAt }) => createdFrom === undefined || createdAt >= createdFrom)
    .filter(({ createdAt }) => createdTo === undefined || createdAt < createdTo)
    .filter((row) => reason === undefined || asciiLower(row.reason).includes(asciiLower(reason)));
  const sign = sort.startsWith('-') ? -1 : 1;
  const timeOf = ({ createdAt, endsAt }: (typeof truth)[number]) =>
    (sort.endsWith('ends') ? endsAt : createdAt)?.getTime();
  const listed = truth
    .filter((row) => types === undefined || types.includes(row.type))
    .sort((a, b) => {
      const [one, other] = [timeOf(a), timeOf(b)];
      if (one === other) return sign * (a.id - b.id);
      if (one === undefined) return 1;
      return other === undefined ? -1 : sign * (one - other);
    });
  const total = listed.length;
  const counts = byPenaltyType((type) => truth.filter((row) => row.type === type).length);
  const cutPage = (page: number, perPage: number) => ({
    rows: listed.slice((page - 1) * perPage, page * perPage).map(withoutSource),
    total,
    counts,
  });
  return { total, cutPage };
}

function asciiLower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The columns that lists leave out. */
function withoutSource(row: typeof penalties.$inferSelect) {
  const { source: _, sourceTable: __, sourceId: ___, ...listed } = row;
  return listed;
}

const FILTERS: PenaltyFilter[] = [
  {},
  { types: ['warn'] },
  { types: ['gag', 'mute', 'silence'] },
  { types: ['ban', 'mute'] },
  { serverId: 2 },
  { adminSteamId: UNKNOWN_STEAM_ID },
  { adminSteamId: aSteamId(901) },
  { playerSteamId: aSteamId(3) },
  { playerSteamId: UNKNOWN_STEAM_ID },
  { serverId: 1, adminSteamId: UNKNOWN_STEAM_ID },
  { serverId: 1, playerSteamId: aSteamId(3) },
  { adminSteamId: aSteamId(901), playerSteamId: UNKNOWN_STEAM_ID },
  { serverId: 77 },
];

/** Filters and sorts that no tally serves, one at a time and combined. */
const BY_ROWS: [PenaltyFilter, PenaltySort?][] = [
  [{ createdFrom: daysAgo(80) }],
  [{ createdTo: daysAgo(80), types: ['warn', 'ban'] }],
  [{ createdFrom: daysAgo(100), createdTo: daysAgo(20), serverId: 1 }, 'ends'],
  [{ createdFrom: daysAgo(20), createdTo: daysAgo(20) }],
  [{ reason: 'WallH' }],
  [{ reason: '0% a', adminSteamId: aSteamId(901) }, 'created'],
  [{ reason: 'Łam' }, '-ends'],
  [{ reason: '\\_B', playerSteamId: UNKNOWN_STEAM_ID, createdFrom: daysAgo(120) }, 'ends'],
  ...(['created', 'ends', '-ends'] as const).flatMap((sort): [PenaltyFilter, PenaltySort][] => [
    [{}, sort],
    [{ types: ['gag', 'mute'] }, sort],
    [{ serverId: 2, adminSteamId: aSteamId(900) }, sort],
    [{ playerSteamId: aSteamId(3) }, sort],
  ]),
];

function daysAgo(days: number): Date {
  return new Date(now.getTime() - days * 24 * hour);
}

test('rows, total and counts equal a row by row truth for every filter and sort, swept or not', async () => {
  await insertHistory();
  const bases = [...FILTERS.map((filter): [PenaltyFilter] => [filter]), ...BY_ROWS];
  const listPages = (last: number) => [1, 2, Math.ceil(last / 2), last - 1, last, last + 1, 1e12];
  await expectPages(db, await db.select().from(penalties), { bases, perPage: 7, listPages });
  await db.execute(
    sql`update penalties set status = 'EXPIRED' where status = 'ACTIVE' and ends_at <= ${now.toISOString()}::timestamptz - interval '1 hour'`,
  );
  await expectPages(db, await db.select().from(penalties), { bases, listPages });
});

test('a page is found in the last month that a penalty may have', async () => {
  const serverId = 600;
  const createdAt = new Date('9999-12-31T23:59:59Z');
  const others = Array.from({ length: 1100 }, () => ({ serverId }));
  await insertPenalties(db, others);
  await insertPenalties(db, [...others, { serverId, createdAt, status: 'UNBANNED' }]);
  const filter: PenaltyFilter = { serverId, status: 'UNBANNED' };
  const { rows } = await listPenalties(db, filter, { page: 1, perPage: 50, now });
  expect(rows.map((row) => row.createdAt)).toEqual([createdAt]);
});

/** A row every six minutes, over 52 days. Some end within two days and are still marked ACTIVE. */
async function insertCrowd(
  serverId: number,
  { before, adminSteamId }: { before: Date; adminSteamId: string },
) {
  await db.execute(sql`
    insert into penalties (type, status, player_steamid, admin_steamid, server_id, duration_minutes, created_at, ends_at)
    select (enum_range(null::penalty_type))[1 + i % 5], (enum_range(null::penalty_status))[1 + i / 5 % 3],
      ${aSteamId(1)}, ${adminSteamId}, ${serverId}, 60, at,
      case when i % 7 < 4 then at + (i % 47) * interval '1 hour' end
    from generate_series(1, 12500) as i,
      lateral (select ${before.toISOString()}::timestamptz - i * interval '6 minutes' as at) as created`);
  return db.select().from(penalties).where(eq(penalties.serverId, serverId));
}

type Pages = {
  bases: readonly [PenaltyFilter, PenaltySort?][];
  perPage?: number;
  /** The pages to compare, by the number of the last one; those before the first are left out. */
  listPages: (last: number) => number[];
};

/** Compares pages of every filter and status with the truth. */
async function expectPages(
  database: Parameters<typeof listPenalties>[0],
  all: (typeof penalties.$inferSelect)[],
  { bases, perPage = 50, listPages }: Pages,
) {
  for (const [base, sort] of bases) {
    for (const status of [undefined, ...PENALTY_STATUSES]) {
      const filter = status ? { ...base, status } : base;
      const { total, cutPage } = expected(all, filter, sort);
      const pages = new Set(listPages(Math.max(Math.ceil(total / perPage), 1)));
      for (const page of [...pages].filter((number) => number >= 1)) {
        const place = { filter, sort, page, perPage };
        const list = await listPenalties(database, filter, { page, perPage, sort, now });
        expect({ ...place, ...list }).toEqual({ ...place, ...cutPage(page, perPage) });
      }
    }
  }
}

test('the day and the month of a deep page are found among many rows, swept or not', async () => {
  const serverId = 700;
  const adminSteamId = aSteamId(950);
  const all = await insertCrowd(serverId, { before: now, adminSteamId });
  await expectPages(db, all, {
    bases: [[{ serverId }], [{ serverId, types: ['warn'] }], [{ serverId, adminSteamId }]],
    listPages: (last) => [0.2, 0.4, 0.5, 0.6, 0.8].map((share) => Math.ceil(last * share)),
  });
});

test('days are those of UTC, whatever the time zone of the database', async () => {
  const serverId = 800;
  const all = await insertCrowd(serverId, {
    before: new Date('2012-01-25T00:00:00Z'),
    adminSteamId: aSteamId(951),
  });
  await db.execute(
    sql`alter database ${sql.identifier(new URL(url).pathname.slice(1))} set timezone = 'Pacific/Apia'`,
  );
  const samoan = openDatabase(url);
  // Around 30 December 2011, which Samoa did not have.
  const listPages = (last: number) => Array.from({ length: 20 }, (_, i) => Math.ceil(last * (0.4 + i / 100)));
  await expectPages(samoan.db, all, { bases: [[{ serverId }]], listPages });
  await samoan.close();
});

test('total, counts and rows agree with one another while others write', async () => {
  const writers = Array.from({ length: 4 }, async (_, writer) => {
    for (let round = 0; round < 40; round++) {
      await insertPenalties(db, [{ serverId: 500, type: 'gag', createdAt: new Date(now.getTime() - round) }]);
      if (round % 3 === writer % 3)
        await db.execute(
          sql`delete from penalties where id = (select max(id) from penalties where server_id = 500)`,
        );
    }
  });
  let isWriting = true;
  const done = Promise.all(writers).then(() => (isWriting = false));
  while (isWriting) {
    const all = await listPenalties(db, { serverId: 500 }, { page: 1, perPage: 1000, now });
    expect(all.rows.length).toBe(all.total);
    expect(all.counts.gag).toBe(all.total);
    for (const page of [2, 5]) {
      const { rows, total, counts } = await listPenalties(db, { serverId: 500 }, { page, perPage: 10, now });
      expect(rows.length).toBe(Math.min(Math.max(total - (page - 1) * 10, 0), 10));
      expect(counts.gag).toBe(total);
    }
  }
  await done;
});
