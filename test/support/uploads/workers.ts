import { join } from 'node:path';
import type { Ffmpeg } from '../../../media/ffmpeg/ffmpeg.ts';
import type { SoundFolders } from '../../../media/sound-folders.ts';
import { type Connection, connect, type Db, openDrizzle } from '../../../src/db/client.ts';
import { waitFor } from '../wait.ts';
import { attemptUpload, type Progress } from './attempt.ts';
import type { Interruption } from './history.ts';
import { Interrupter } from './interruptible.ts';
import type { Outcome } from './model.ts';

type Options = {
  connection: Connection;
  databaseUrl: string;
  folders: SoundFolders;
  ffmpeg: Ffmpeg;
};

/** A step of a worker. Without a title there was nothing to claim; without an outcome the worker hangs. */
export type WorkerStep = { worker: number; title?: string; outcome?: Outcome };

type Session = { name: string; connection: Connection };
type Hanging = { interrupter: Interrupter; done: Promise<void>; session: Session };

/**
 * Workers, and whoever else may be killed, each on a connection of its own: of who is killed the connection is closed, and
 * nothing ever comes back to it.
 */
export class Workers {
  private opened = 0;
  private readonly idle: Session[] = [];
  private hanging: (Hanging & { worker: number; progress: () => Progress })[] = [];

  constructor(private readonly options: Options) {}

  /** Claims an upload and renders it, unless interrupted. */
  async work(worker: number, interruption: Interruption | undefined): Promise<WorkerStep> {
    const { folders, ffmpeg } = this.options;
    let progress: Progress = { moves: 0 };
    const end = await this.run(interruption, (db, interrupter) =>
      attemptUpload({ db, ffmpeg, folders }, interrupter, (next) => {
        progress = next;
      }),
    );
    if (typeof end !== 'object') return toStep(worker, progress);
    this.hanging.push({ ...end, worker, progress: () => progress });
    return { worker, ...(progress.title !== undefined && { title: progress.title }) };
  }

  /** The worker that has hung longest goes on, if there is one. */
  async resume(): Promise<WorkerStep | undefined> {
    const first = this.hanging.shift();
    if (!first) return undefined;
    first.interrupter.resume();
    await first.done;
    this.idle.push(first.session);
    return toStep(first.worker, first.progress());
  }

  /** Like {@link work}, with the real ffmpeg, in a process that is killed with SIGKILL. */
  async workInProcess(worker: number, interruption: Interruption): Promise<WorkerStep> {
    const { folders, databaseUrl } = this.options;
    const name = `process ${worker}`;
    const script = join(import.meta.dir, 'worker-process.ts');
    const child = Bun.spawn(
      ['bun', script, databaseUrl, name, JSON.stringify(folders), JSON.stringify(interruption)],
      { stdout: 'pipe', stderr: 'inherit' },
    );
    const lines = (await child.stdout.text()).trim().split('\n');
    await child.exited;
    await this.awaitEnd(name);
    return toStep(worker, JSON.parse(lines.at(-1) || '{"moves":0}') as Progress);
  }

  /** @returns what is left of who hangs. */
  async run(
    interruption: Interruption | undefined,
    work: (db: Db, interrupter: Interrupter) => Promise<void>,
  ): Promise<'done' | 'killed' | Hanging> {
    const interrupter = new Interrupter(interruption);
    const session = this.idle.pop() ?? this.open();
    const done = work(interrupter.watch(openDrizzle(session.connection)), interrupter);
    try {
      await Promise.race([done, interrupter.struck]);
    } finally {
      if (!interrupter.isDead) this.idle.push(session);
    }
    if (!interrupter.isDead) return 'done';
    if (interruption?.end === 'hang') return { interrupter, done, session };
    await this.close(session);
    return 'killed';
  }

  /** Whoever hangs is killed. */
  async killHanging(): Promise<void> {
    await Promise.all(this.hanging.map(({ session }) => this.close(session)));
    this.hanging = [];
  }

  async end(): Promise<void> {
    await Promise.all(this.idle.map(({ connection }) => connection.end({ timeout: 0 })));
  }

  private open(): Session {
    this.opened += 1;
    const name = `worker ${this.opened}`;
    const connection = connect(this.options.databaseUrl, {
      max: 2,
      applicationName: 'worker',
      owner: String(this.opened),
    });
    return { name, connection };
  }

  private async close({ name, connection }: Session): Promise<void> {
    await connection.end({ timeout: 0 });
    await this.awaitEnd(name);
  }

  /** Until PostgreSQL has seen it: then locks are free. */
  private async awaitEnd(name: string): Promise<void> {
    const { connection } = this.options;
    const sessions = () => connection`select from pg_stat_activity
      where datname = current_database() and application_name = ${name}`;
    await waitFor(async () => (await sessions()).length === 0);
  }
}

/** What was claimed, and what became of it; whoever says nothing of that was killed. */
function toStep(worker: number, { title, moves, outcome }: Progress): WorkerStep {
  return title === undefined
    ? { worker }
    : { worker, title, outcome: outcome ?? { killedAfterMoves: moves } };
}
