import { afterAll, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { type Connection, connect, type Db, openDrizzle } from '../../../src/db/client.ts';
import { fenceDatabase } from '../../../src/db/lease/fence.ts';
import { acquireLease, releaseLease, renewLease } from '../../../src/db/lease/lease-row.ts';
import { errorCode } from '../../../src/domain/error-causes.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { RUNS, tryHistories } from '../../support/model.ts';

const NAME = 'bot';
/** How long a holder relies on its lease after requesting it. */
const HELD_MS = 3500;
const HOLDERS = [0, 1, 2] as const;
/** Each may need seven of the test server's connections. */
const STAGES = 16;
const NEVER = new Date(0);
const LOCK_NOT_AVAILABLE = '55P03';

const holder = fc.constantFrom(...HOLDERS);
const action = fc.record({
  kind: fc.constantFrom('take', 'take', 'renew', 'release', 'write', 'cut', 'hang'),
  holder,
});
/** One step: time passes, or processes act at the same moment. */
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ pass: fc.integer({ min: 1, max: 7 }) }) },
  { weight: 2, arbitrary: fc.record({ pass: fc.constant(6) }) },
  {
    weight: 7,
    arbitrary: fc.record({
      act: fc.uniqueArray(action, { minLength: 1, maxLength: 3, selector: (one) => one.holder }),
    }),
  },
);
type Action = { kind: string; holder: number };

/** A process that takes part: a session for the lease, and one for what it writes. */
class Candidate {
  token: number | undefined;
  heldUntilMs = Number.NEGATIVE_INFINITY;
  session: Connection;
  db: Db;
  private work: Connection;
  readonly name: string;

  constructor(
    private readonly url: string,
    readonly number: number,
  ) {
    this.name = `process${number}.1`;
    this.session = this.openSession();
    [this.work, this.db] = this.openWork();
  }

  /** Replaces connections that were ended: the driver would wait before it connects again. */
  async reopenEnded(): Promise<void> {
    const { session, work } = this;
    if (!(await isAlive(session))) {
      this.session = this.openSession();
      await session.end({ timeout: 0 });
    }
    if (!(await isAlive(work))) {
      [this.work, this.db] = this.openWork();
      await work.end({ timeout: 0 });
    }
  }

  close(): Promise<unknown> {
    return Promise.all([this.session.end({ timeout: 0 }), this.work.end({ timeout: 0 })]);
  }

  private openSession(): Connection {
    return connect(this.url, { max: 1, applicationName: `lease ${NAME}`, owner: this.name });
  }

  /** Every transaction that hangs keeps a connection until the history ends. */
  private openWork(): [Connection, Db] {
    const work = connect(this.url, { max: 30, applicationName: 'work', owner: `process${this.number}` });
    return [work, openDrizzle(work)];
  }
}

function isAlive(connection: Connection): Promise<boolean> {
  return connection`select 1`.then(
    () => true,
    () => false,
  );
}

type Stage = { connection: Connection; candidates: Candidate[] };

/** Each history has its own database, so that several run at once: they mostly wait for locks and ending sessions. */
async function openStage(): Promise<Stage> {
  const { connection, url } = await createTestDatabase();
  await connection`create table written (token bigint not null, lease_token bigint not null)`;
  return { connection, candidates: HOLDERS.map((number) => new Candidate(url, number)) };
}

const stages = await Promise.all(Array.from({ length: STAGES }, openStage));
afterAll(() => Promise.all(stages.flatMap(({ candidates }) => candidates.map((one) => one.close()))));

/** One history. Time is passed by making the lease older, by the database's clock. */
class Play {
  private passedMs = 0;
  private readonly hung: { go: () => void; done: Promise<unknown> }[] = [];

  constructor(private readonly stage: Stage) {}

  async run(steps: readonly ({ pass: number } | { act: Action[] })[]): Promise<void> {
    const { connection, candidates } = this.stage;
    await connection`truncate leases, written`;
    for (const one of candidates)
      Object.assign(one, { token: undefined, heldUntilMs: Number.NEGATIVE_INFINITY });
    try {
      for (const one of steps) {
        if ('pass' in one) await this.pass(one.pass);
        else await this.act(one.act);
      }
      await this.endHung();
      const late = await connection`select * from written where token <> lease_token`;
      expect([...late]).toEqual([]);
    } finally {
      // Also after a failure: leftover locks would break the histories that shrink it.
      await this.endHung();
      await this.reopenEnded();
    }
  }

  /** Sessions of a process that lost the lease were ended. */
  private async reopenEnded(): Promise<void> {
    for (const one of this.stage.candidates) await one.reopenEnded();
  }

  private async endHung(): Promise<void> {
    for (const { go } of this.hung) go();
    await Promise.all(this.hung.map(({ done }) => done));
  }

  private nowMs(): number {
    return performance.now() + this.passedMs;
  }

  private async pass(seconds: number): Promise<void> {
    this.passedMs += seconds * 1000;
    await this.stage.connection`update leases set expires_at = expires_at - ${seconds} * interval '1 second'`;
  }

  private async act(actions: readonly Action[]): Promise<void> {
    const { candidates } = this.stage;
    const before = await this.readLease();
    const results = await Promise.all(actions.map((one) => this.perform(one).catch((error: Error) => error)));
    const isAlone = actions.length === 1;
    for (const [index, { kind, holder: number }] of actions.entries()) {
      const candidate = candidates[number];
      const result = results[index];
      if (!candidate || kind !== 'take' || typeof result !== 'number') continue;
      expect(result).toBeGreaterThan(before.token);
      // The previous holder has given it up by its own clock, and the database reports that it is over.
      for (const other of candidates.filter((one) => one !== candidate)) {
        expect({ taker: number, other: other.number, isHeld: other.heldUntilMs > this.nowMs() }).toEqual({
          taker: number,
          other: other.number,
          isHeld: false,
        });
      }
    }
    expect(
      actions.filter(({ kind }, index) => kind === 'take' && typeof results[index] === 'number').length,
    ).toBeLessThan(2);
    const after = await this.readLease();
    const [only] = actions;
    if (isAlone && only) this.checkAlone(only, results[0], { before, after });
    if (after.token !== before.token || actions.some(({ kind }) => kind === 'cut')) await this.reopenEnded();
  }

  /** An undisturbed action must succeed or fail as the lease stood; if the lease ended meanwhile, either is right. */
  private checkAlone(
    { kind, holder: number }: Action,
    result: unknown,
    { before, after }: { before: Lease; after: Lease },
  ): void {
    const candidate = this.stage.candidates[number];
    if (!candidate) return;
    const isOwn = before.holder === candidate.name;
    const isFree = !before.isLive || isOwn;
    const hasEnded = before.isLive && after.readAt >= before.endsAt;
    if (kind === 'take' && !hasEnded) expect(typeof result === 'number').toBe(isFree);
    if (kind === 'write' && candidate.token !== undefined) {
      expect({ isWritten: !(result instanceof Error) }).toEqual({
        isWritten: before.token === candidate.token,
      });
    }
    if (kind === 'renew' && candidate.token !== undefined) {
      expect(result !== undefined).toBe(before.token === candidate.token);
    }
  }

  private async perform({ kind, holder: number }: Action): Promise<unknown> {
    const candidate = this.stage.candidates[number];
    if (!candidate) throw new Error(`there is no process ${number}`);
    const { session, token } = candidate;
    if (kind === 'take') {
      return this.take(candidate);
    }
    if (kind === 'cut') {
      return this.stage.connection`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = ${`lease ${NAME} ${candidate.name}`}`;
    }
    if (token === undefined) return undefined;
    if (kind === 'renew') {
      const askedAtMs = this.nowMs();
      const renewal = await renewLease(session, NAME, token);
      candidate.heldUntilMs = renewal ? askedAtMs + HELD_MS : Number.NEGATIVE_INFINITY;
      return renewal;
    }
    if (kind === 'release') {
      Object.assign(candidate, { token: undefined, heldUntilMs: Number.NEGATIVE_INFINITY });
      return releaseLease(session, NAME, token);
    }
    const fenced = fenceDatabase(candidate.db, NAME, token);
    if (kind === 'write') return fenced.execute(insertOf(token));
    await this.hang(fenced, token);
  }

  /** Tries again, as with the next heartbeat, while the old holder's sessions are still ending. */
  private async take(candidate: Candidate): Promise<number | undefined> {
    for (;;) {
      const askedAtMs = this.nowMs();
      try {
        const token = await acquireLease(candidate.session, NAME, candidate.name);
        if (token !== undefined) Object.assign(candidate, { token, heldUntilMs: askedAtMs + HELD_MS });
        return token;
      } catch (error) {
        if (errorCode(error) !== LOCK_NOT_AVAILABLE) throw error;
      }
    }
  }

  /** Writes within a transaction that stays open until the end of the history, as in a process that was stopped. */
  private async hang(fenced: Db, token: number): Promise<void> {
    const { promise: end, resolve: go } = Promise.withResolvers<void>();
    const { promise: written, resolve: hasWritten } = Promise.withResolvers<void>();
    const work = fenced.transaction(async (tx) => {
      await tx.execute(insertOf(token));
      hasWritten();
      await end;
      // By now another process may hold the lease.
      await tx.execute(
        sql`update written set lease_token = (select token from leases) where token = ${token}`,
      );
    });
    const done = work.catch(() => hasWritten());
    this.hung.push({ go, done });
    await written;
  }

  private async readLease(): Promise<Lease> {
    const [row] = await this.stage
      .connection`select holder, token, expires_at as "endsAt", clock_timestamp() as "readAt" from leases`;
    const { holder = '', token = 0, endsAt = NEVER, readAt = NEVER } = row ?? {};
    return { holder, token: Number(token), isLive: endsAt > readAt, endsAt, readAt };
  }
}

/** The times are those of the database's clock; before the first lease, {@link NEVER}. */
type Lease = { holder: string; token: number; isLive: boolean; endsAt: Date; readAt: Date };

function insertOf(token: number) {
  return sql`insert into written select ${token}, token from leases where name = ${NAME}`;
}

test.concurrent.each(stages)(
  'a lease has one holder at most, and nothing is written under one that was lost',
  (stage) =>
    tryHistories(
      'leases',
      fc.array(step, { minLength: 3, maxLength: 12 }) as fc.Arbitrary<
        ({ pass: number } | { act: Action[] })[]
      >,
      (steps) => new Play(stage).run(steps),
      { runs: Math.ceil((5 * RUNS) / STAGES) },
    ),
);
