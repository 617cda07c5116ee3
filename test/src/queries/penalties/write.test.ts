import { beforeEach, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { lockPenalties } from '../../../../src/db/locks.ts';
import { penalties, penaltyEvents } from '../../../../src/db/schema/penalties.ts';
import { importNdjson } from '../../../../src/import/ndjson/ndjson.ts';
import { markExpiredPenalties } from '../../../../src/queries/penalties/expiry.ts';
import { erasePerson } from '../../../../src/queries/personal-data/erasure.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { countWaiting } from '../../../support/database/lock-waits.ts';
import { findTraces } from '../../../support/database/traces.ts';
import { importDeps } from '../../../support/import/penalty-rows.ts';
import { waitFor } from '../../../support/wait.ts';

const database = await createTestDatabase({ max: 8 });
const { db, connection } = database;
const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);

beforeEach(async () => {
  await connection`truncate penalties, penalty_events`;
});

test('an import that waits for an erasure writes no name back', async () => {
  const [admin, name] = [aSteamId(7), 'Rzeznik'];
  const line = (fields: object) =>
    JSON.stringify({
      penalty_type: 'ban',
      source_id: '1',
      player_steamid: aSteamId(1),
      created: '2026-11-21T11:30:00Z',
      status: 'UNBANNED',
      ...fields,
    });
  const run = (text: string) => importNdjson(importDeps(database), { chunks: new Blob([text]).stream() });
  const lift = { at: '2026-11-21T11:40:00Z', admin_name: name, admin_steamid: admin };
  await run(line({ admin_name: name, admin_steamid: admin, lifted: lift }));
  let work: Promise<unknown> = Promise.resolve();
  await connection.begin(async (holding) => {
    // The erasure has saved that they were erased, and waits for this row while it holds the lock of penalties.
    await holding`select from penalties for update`;
    const erasing = erasePerson(db, admin, {
      withPenalties: true,
      actor: 'operator',
      removeSounds: async () => {},
    });
    await waitFor(async () => (await countWaiting(db)) === 1);
    // The source no longer knows who the admin is.
    const importing = run(line({ admin_steamid: null, reason: 'Changed meanwhile' }));
    await waitFor(async () => (await countWaiting(db)) === 2);
    work = Promise.all([erasing, importing]);
  });
  await work;
  expect(await db.select({ reason: penalties.reason }).from(penalties)).toEqual([
    { reason: 'Changed meanwhile' },
  ]);
  expect(await findTraces(connection, [], [name, admin])).toEqual([]);
});

test('a ban that is extended while the sweep waits is not marked as expired', async () => {
  const [row] = await insertPenalties(db, [{ endsAt: hoursAgo(8), createdAt: hoursAgo(9) }]);
  let marking: Promise<number> = Promise.resolve(-1);
  await db.transaction(async (tx) => {
    await lockPenalties(tx);
    marking = markExpiredPenalties(db, new Date());
    await waitFor(async () => (await countWaiting(db)) === 1);
    await tx
      .update(penalties)
      .set({ endsAt: hoursAgo(-100) })
      .where(eq(penalties.id, row?.id ?? 0));
  });
  expect(await marking).toBe(0);
  expect(await db.select({ status: penalties.status }).from(penalties)).toEqual([{ status: 'ACTIVE' }]);
  const types = await db.select({ type: penaltyEvents.type }).from(penaltyEvents);
  expect(types.map(({ type }) => String(type))).not.toContain('penalty.expired');
});
