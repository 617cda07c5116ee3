import { afterAll, test } from 'bun:test';
import fc from 'fast-check';
import { connect } from '../../../src/db/client.ts';
import { penaltyEventState } from '../../../src/db/schema/penalties.ts';
import { recordExpiredPenalties } from '../../../src/queries/events.ts';
import { ChangeReader } from '../../support/database/change-reader.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { tryHistories } from '../../support/model.ts';

const { db, connection, url } = await createTestDatabase();
const WRITERS = 3;
const writers = Array.from({ length: WRITERS }, () => connect(url, { max: 1, keepsSession: true }));
afterAll(() => Promise.all(writers.map((writer) => writer.end({ timeout: 0 }))));

/** What happens at one step; a writer's statements outside `begin` and its end are committed at once. */
type Step =
  | { kind: 'begin' | 'commit' | 'rollback'; writer: number }
  | { kind: 'insert'; writer: number; count: number; endsInSeconds: number | null }
  | { kind: 'change' | 'lift' | 'delete' | 'lose' | 'find'; writer: number; place: number }
  | { kind: 'end'; writer: number; place: number; endsInSeconds: number | null }
  | { kind: 'expire' }
  /** The client reads on, or forgets some of what it read and reads that again. */
  | { kind: 'read'; limit: number }
  | { kind: 'replay'; steps: number }
  /** The client starts again from an export. */
  | { kind: 'export' };

const writer = fc.nat({ max: WRITERS - 1 });
const place = fc.nat({ max: 5 });
const endsInSeconds = fc.option(fc.integer({ min: -3, max: 3 }).map((seconds) => seconds * 100));
const history = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom('begin', 'commit', 'rollback'), writer }),
    fc.record({ kind: fc.constant('insert'), writer, count: fc.integer({ min: 1, max: 3 }), endsInSeconds }),
    fc.record({ kind: fc.constantFrom('change', 'lift', 'delete', 'lose', 'find'), writer, place }),
    fc.record({ kind: fc.constant('end'), writer, place, endsInSeconds }),
    fc.record({ kind: fc.constant('expire') }),
    fc.record({ kind: fc.constant('read'), limit: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ kind: fc.constant('replay'), steps: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ kind: fc.constant('export') }),
  ),
  { minLength: 4, maxLength: 24 },
) as fc.Arbitrary<Step[]>;

/** The statement of a step. */
function statementOf(step: Step): string {
  const penalty = (offset: number) => `id = (select id from penalties order by id offset ${offset} limit 1)`;
  const at = (seconds: number | null) =>
    seconds === null ? 'null' : `date_trunc('second', now()) + interval '${seconds} seconds'`;
  switch (step.kind) {
    case 'insert':
      return `insert into penalties (type, status, player_steamid, admin_steamid, duration_minutes, created_at, ends_at)
        select 'ban', 'ACTIVE', 1, 2, 5, now() - interval '1 hour', ${at(step.endsInSeconds)} from generate_series(1, ${step.count})`;
    case 'change':
      return `update penalties set reason = reason || 'x' where ${penalty(step.place)}`;
    case 'lift':
      return `update penalties set status = 'UNBANNED', lifted_at = now() where ${penalty(step.place)}`;
    case 'end':
      return `update penalties set ends_at = ${at(step.endsInSeconds)} where ${penalty(step.place)}`;
    case 'lose':
      return `update penalties set gone_at = now() where ${penalty(step.place)}`;
    case 'find':
      return `update penalties set gone_at = null where ${penalty(step.place)}`;
    case 'delete':
      return `delete from penalties where ${penalty(step.place)}`;
    default:
      return step.kind;
  }
}

async function play(steps: Step[]): Promise<void> {
  await connection`truncate penalties, penalty_events restart identity`;
  await db.update(penaltyEventState).set({ expiredUpTo: new Date(Date.now() - 150_000), prunedUpTo: 0 });
  const client = new ChangeReader(db);
  await client.export();
  // Each writer does one thing after another, and waits for the locks of others meanwhile.
  const turns = writers.map(() => Promise.resolve());
  const others: Promise<unknown>[] = [];
  for (const step of steps) {
    if (step.kind === 'read') await client.read(step.limit);
    else if (step.kind === 'replay') client.replay(step.steps);
    else if (step.kind === 'export') await client.export();
    else if (step.kind === 'expire') others.push(recordExpiredPenalties(db, new Date()));
    else {
      const session = writers[step.writer];
      const before = turns[step.writer] ?? Promise.resolve();
      turns[step.writer] = before.then(async () => {
        await session?.unsafe(statementOf(step));
      });
    }
  }
  for (const [index, turn] of turns.entries()) {
    turns[index] = turn.then(async () => {
      await writers[index]?.unsafe('commit');
    });
  }
  await Promise.all([...turns, ...others]);
  await recordExpiredPenalties(db, new Date());
  while (await client.read(3));
  await client.expectSameAsTable();
}

test('a program that exports and follows the changes ends with what the table has', () =>
  tryHistories('export and changes', history, play));
