import { afterAll, test } from 'bun:test';
import fc from 'fast-check';
import { createTestDatabase } from '../../support/database/database.ts';
import {
  type Change,
  changePenalties,
  PENALTY_STEPS,
  PenaltyCopy,
  readPenaltyCopy,
  type Step,
} from '../../support/database/penalty-steps.ts';
import { type EventStreamClient, openEventStream } from '../../support/http/event-stream.ts';
import { tryHistories } from '../../support/model.ts';
import { createTestFolder, type Program, startProgram } from '../../support/service/program.ts';
import { aToken } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const { db, connection, url } = database;
const folder = createTestFolder();
const { token } = await aToken(db, 900, { now: new Date() });
let program: Program | undefined;
afterAll(async () => {
  program?.kill('SIGKILL');
  await folder.remove();
});

/** What happens at one step, to penalties, to the service or to the program that follows it. */
const step: fc.Arbitrary<Step> = fc.oneof(
  ...PENALTY_STEPS,
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('client leaves', 'pause') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill') }) },
);

async function startService(): Promise<string> {
  program = startProgram('src/main.ts', {
    DATABASE_URL: url,
    DATA_DIR: folder.path,
    STORAGE_DIR: folder.path,
    HOST: '127.0.0.1',
    PORT: '0',
    ROLES: 'api',
    RATE_LIMIT_PROTECTED: '1000000',
  });
  const [, port] = await program.waitFor(/"port":(\d+)/);
  return `http://127.0.0.1:${port}/api/v1`;
}

/**
 * A program that keeps a copy of the penalties from the stream alone. Like every client of server-sent events, it
 * reconnects with the last cursor it saw: after leaving, after the service ends the stream, and after a refusal that says
 * when to retry.
 */
class Follower {
  readonly copy = new PenaltyCopy();
  private stream: EventStreamClient | undefined;
  private taken = 0;
  /** The service ended the stream. */
  private isEnded = false;

  constructor(private cursor: string) {}

  async connect(base: string): Promise<void> {
    const headers = { Authorization: `Bearer ${token}`, 'Last-Event-ID': this.cursor };
    const stream = await waitFor(
      async () => {
        const opened = await openEventStream(`${base}/events`, headers);
        if (opened.status === 200) return opened;
        if (!opened.headers.has('retry-after')) throw new Error(`the stream was refused: ${opened.status}`);
        return undefined;
      },
      { everyMs: 200 },
    );
    this.stream = stream;
    this.taken = 0;
    this.isEnded = false;
    void stream.closed.then(() => {
      this.isEnded ||= this.stream === stream;
    });
  }

  /** Applies what has arrived so far. */
  take(): void {
    const events = this.stream?.events ?? [];
    for (const { data } of events.slice(this.taken)) this.copy.apply(data as Change);
    this.taken = events.length;
    this.cursor = this.stream?.lastEventId() ?? this.cursor;
  }

  leave(): void {
    this.take();
    this.stream?.leave();
  }

  /** Applies what has arrived so far, and reconnects if the stream has ended. */
  async follow(base: string): Promise<void> {
    if (this.isEnded) {
      this.leave();
      await this.connect(base);
    }
    this.take();
  }
}

async function play(steps: Step[]): Promise<void> {
  await connection`truncate penalties, penalty_events restart identity`;
  program?.kill('SIGKILL');
  let base = await startService();
  const present = await fetch(`${base}/penalties/changes`, { headers: { Authorization: `Bearer ${token}` } });
  const { meta } = (await present.json()) as { meta: { cursor: string } };
  const follower = new Follower(meta.cursor);
  await follower.connect(base);
  for (const one of steps) {
    await changePenalties(database, one);
    if (one.kind === 'pause') await Bun.sleep(30);
    if (one.kind === 'client leaves') {
      follower.leave();
      await follower.connect(base);
    }
    if (one.kind === 'kill') {
      program?.kill('SIGKILL');
      await program?.exited;
      follower.leave();
      base = await startService();
      await follower.connect(base);
    }
  }
  const expected = await readPenaltyCopy(database);
  await waitFor(
    async () => {
      await follower.follow(base);
      return follower.copy.toJson() === expected;
    },
    { limitMs: 120_000, what: 'the follower has what the table has' },
  );
  follower.leave();
}

test('a program that follows the stream, leaves, resumes and outlives the service ends with what the table has', () =>
  tryHistories('stream', fc.array(step, { minLength: 5, maxLength: 25 }), play, {
    runs: Number(process.env.MODEL_RUNS ?? 0) >= 1000 ? 40 : 5,
  }));
