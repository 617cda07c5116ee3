import { beforeEach, describe, expect, test } from 'bun:test';
import { connect, inTransaction } from '../../../../src/db/client.ts';
import { PENALTY_STATUSES, PENALTY_TYPES } from '../../../../src/domain/penalty.ts';
import { listAuditEntries } from '../../../../src/queries/audit-log.ts';
import { checkPenaltyTallies, recountPenaltyTallies } from '../../../../src/queries/penalties/recount.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { countWaiting } from '../../../support/database/lock-waits.ts';
import { tallyDifferences } from '../../../support/database/tallies.ts';
import { runCli } from '../../../support/service/cli.ts';
import { waitFor } from '../../../support/wait.ts';

const { db, connection, url } = await createTestDatabase();
beforeEach(async () => {
  await connection`truncate penalties`;
});

const day = (number: number) => new Date(Date.UTC(2026, 0, number, 23, 59, 59));
const insertSome = () =>
  insertPenalties(
    db,
    Array.from({ length: 60 }, (_, index) => ({
      type: (['ban', 'mute', 'warn'] as const)[index % 3] ?? 'ban',
      serverId: index % 4,
      adminSteamId: aSteamId(900 + (index % 2)),
      playerSteamId: index % 5 === 0 ? aSteamId(0) : aSteamId(index),
      createdAt: day(1 + index),
    })),
  );

/** Makes totals wrong in each way: too high, too low, missing, and for penalties that do not exist. */
async function spoil(): Promise<void> {
  await connection`update penalty_tallies set counts[1] = counts[1] + 7 where scope = 0 and period = 0`;
  await connection`update penalty_tallies set counts[4] = counts[4] - 1 where scope = 1 and server_id = 1 and period = 0`;
  await connection`delete from penalty_tallies where scope = 2 and period = 1`;
  await connection`update penalty_tallies set server_id = 77 where scope = 1 and server_id = 2 and period = 0`;
}

test('tallies and the recount have a count of each type and status', async () => {
  const places = PENALTY_TYPES.flatMap((type) => PENALTY_STATUSES.map((status) => ({ type, status })));
  const nameCounts = (rows: readonly { amount?: number }[]) =>
    places.map(({ type, status }, index) => `${type} ${status}: ${rows[index]?.amount}`);
  for (const number of [1, 2]) {
    await insertPenalties(db, places);
    const expected = places.map(({ type, status }) => `${type} ${status}: ${number}`);
    for (const tallies of ['penalty_tallies', 'recount_penalty_tallies()']) {
      const counts = connection.unsafe<{ amount: number }[]>(
        `select unnest(counts) as amount from ${tallies} where scope = 0 and period = 0`,
      );
      expect([tallies, ...nameCounts(await counts)]).toEqual([tallies, ...expected]);
    }
  }
});

test('totals stay exact under the empty search_path with which a dump of data is loaded', async () => {
  const loader = connect(url, { max: 1 });
  try {
    await loader`select pg_catalog.set_config('search_path', '', false)`;
    const load = () => loader`insert into public.penalties
        (type, status, player_steamid, admin_steamid, duration_minutes, created_at)
      select 'ban', 'ACTIVE', i % 3, i % 4, 0, timestamptz '2026-01-01 00:00:00.5+00' + i * interval '7 hours'
      from generate_series(1, 200) as i`;
    // The tallies in the dump are ignored, whichever table comes first.
    const loadTallies = () => loader`insert into public.penalty_tallies values
      (0, 0, 0, 0, '1970-01-01', pg_catalog.array_fill(9, array[15])), (1, 5, 0, 0, '1970-01-01', pg_catalog.array_fill(9, array[15]))`;
    await loadTallies();
    await load();
    await loadTallies();
    expect(await tallyDifferences(connection)).toEqual([]);
    expect(await countTallied()).toBe(200);
    await loader`update public.penalties set status = 'UNBANNED', created_at = '2026-05-01' where player_steamid = 1`;
    await loader`delete from public.penalties where player_steamid = 2`;
    expect(await tallyDifferences(connection)).toEqual([]);
    expect(await countTallied()).toBe(133);
    expect(await checkPenaltyTallies(url)).toMatchObject({ wrong: 0 });
    await loader`truncate public.penalties`;
    expect(await connection`select * from penalty_tallies`).toHaveLength(0);
  } finally {
    await loader.end();
  }
});

async function countTallied(): Promise<number> {
  const [row] =
    await connection`select sum(n)::int as n from penalty_tallies, unnest(counts) as n where scope = 0 and period = 0`;
  return row?.n;
}

test('a check counts wrong totals and changes nothing, a recount repairs them', async () => {
  await insertSome();
  const right = await checkPenaltyTallies(url);
  expect(right.wrong).toBe(0);
  expect(right.tallies).toBeGreaterThan(200);
  await spoil();
  const before = await tallyDifferences(connection);
  const wrong = await checkPenaltyTallies(url);
  expect(wrong.wrong).toBeGreaterThan(4);
  expect(await tallyDifferences(connection)).toEqual(before);
  expect(await recountPenaltyTallies(url)).toEqual(wrong);
  expect(await tallyDifferences(connection)).toEqual([]);
  expect(await checkPenaltyTallies(url)).toEqual(right);
  expect((await listAuditEntries(db)).map(({ action, details }) => [action, details])).toEqual([
    ['penalties.recounted', { wrong: wrong.wrong }],
  ]);
  // Correct totals are not even rewritten.
  const versions = () => connection`select xmin::text from penalty_tallies order by 1`;
  const kept = await versions();
  expect(await recountPenaltyTallies(url)).toEqual(right);
  expect(await versions()).toEqual(kept);
});

test('totals that went down to nothing are right', async () => {
  await insertSome();
  await connection`delete from penalties`;
  expect(await checkPenaltyTallies(url)).toEqual({ tallies: 0, wrong: 0 });
  expect(await recountPenaltyTallies(url)).toEqual({ tallies: 0, wrong: 0 });
});

test('rows that are written while a recount waits or runs are counted once', async () => {
  await insertSome();
  await spoil();
  let recount: Promise<unknown> = Promise.resolve();
  await inTransaction(db, async (tx) => {
    await insertPenalties(tx, [{ type: 'gag' }]);
    recount = recountPenaltyTallies(url);
    await waitFor(async () => (await countWaiting(db)) === 1);
  });
  const writers = Array.from({ length: 4 }, () => insertSome());
  await Promise.all([recount, ...writers]);
  expect(await tallyDifferences(connection)).toEqual([]);
});

describe('penalties recount', () => {
  const run = (...args: string[]) => runCli(args, { DATABASE_URL: url });

  test('--check fails when totals are wrong; without it they are mended', async () => {
    await insertSome();
    await spoil();
    const { tallies, wrong } = await checkPenaltyTallies(url);
    const check = ['penalties', 'recount', '--check'];
    const ended = (code: number, stdout: string) => ({ code, stdout: `${stdout}\n`, stderr: '' });
    expect(await run(...check)).toEqual(
      ended(1, `${wrong} of ${tallies} totals are wrong: run \`penalties recount\``),
    );
    expect(await run('penalties', 'recount')).toEqual(
      ended(0, `${tallies} totals recounted, ${wrong} of them corrected`),
    );
    expect(await run(...check)).toEqual(ended(0, `All ${tallies} totals are correct`));
    const asJson = await run('--json', 'penalties', 'recount', '--check');
    expect(JSON.parse(asJson.stdout)).toEqual({ tallies, wrong: 0 });
    expect(await tallyDifferences(connection)).toEqual([]);
  });
});
