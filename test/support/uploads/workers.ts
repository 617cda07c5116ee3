import { join } from 'node:path';
import type { Ffmpeg } from '../../../media/ffmpeg/ffmpeg.ts';
import type { SoundFolders } from '../../../media/sound-folders.ts';
import { type Connection, connect, type Db, openDrizzle } from '../../../src/db/client.ts';
import { waitFor } from '../wait.ts';
import { attemptUpload, type Progress } from './attempt.ts';
import type { Interruption } from './history.ts';
import { Interrupter } from './interruptible.ts';

type Options = {
  connection: Connection;
  databaseUrl: string;
  folders: SoundFolders;
  ffmpeg: Ffmpeg;
};

type Session = { name: string; connection: Connection };
type Stopped = { interrupter: Interrupter; done: Promise<void> };
/** A hanging action; `resume` lets it continue to its end. */
type Hanging = { resume: () => Promise<void> };

/** What a worker has done; one that hangs can be resumed. */
type Step = { progress: Progress; resume?: () => Promise<Progress> };

const BEFORE_A_CLAIM: Progress = { outcome: 'killed' };

/**
 * Workers and others that may be killed, each on a connection of its own. When one is killed, its connection is closed, and
 * none of its calls ever returns.
 */
export class Workers {
  /** Of all workers, so that no two sessions of a database have one name. */
  private static opened = 0;
  private readonly idle: Session[] = [];
  private readonly hanging = new Map<Session, Stopped>();

  constructor(private readonly options: Options) {}

  /** Claims an upload and renders it, unless interrupted. */
  async work(interruption: Interruption | undefined): Promise<Step> {
    const { folders, ffmpeg } = this.options;
    let progress = BEFORE_A_CLAIM;
    const end = await this.run(interruption, (db, interrupter) =>
      attemptUpload({ db, ffmpeg, folders }, interrupter, (next) => {
        progress = next;
      }),
    );
    if (typeof end !== 'object') return { progress };
    return { progress, resume: () => end.resume().then(() => progress) };
  }

  /** Like {@link work}, with the real ffmpeg, in a process that is killed with SIGKILL. */
  async workInProcess(interruption: Interruption): Promise<Step> {
    const { folders, databaseUrl } = this.options;
    Workers.opened += 1;
    const name = `process ${Workers.opened}`;
    const script = join(import.meta.dir, 'worker-process.ts');
    const child = Bun.spawn(
      ['bun', script, databaseUrl, name, JSON.stringify(folders), JSON.stringify(interruption)],
      { stdout: 'pipe', stderr: 'inherit' },
    );
    const lines = (await child.stdout.text()).trim().split('\n');
    await child.exited;
    await this.awaitEnd(name);
    return { progress: JSON.parse(lines.at(-1) || JSON.stringify(BEFORE_A_CLAIM)) as Progress };
  }

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
    if (interruption?.end !== 'hang') {
      await this.close(session);
      return 'killed';
    }
    this.hanging.set(session, { interrupter, done });
    const resume = async () => {
      interrupter.resume();
      await done;
      this.hanging.delete(session);
      this.idle.push(session);
    };
    return { resume };
  }

  /** Kills everything that hangs. */
  async killHanging(): Promise<void> {
    const kill = async ([session, { interrupter, done }]: [Session, Stopped]) => {
      if (interrupter.hangUp()) await done.catch(() => undefined);
      await this.close(session);
    };
    await Promise.all([...this.hanging].map(kill));
    this.hanging.clear();
  }

  async end(): Promise<void> {
    await Promise.all(this.idle.map(({ connection }) => connection.end({ timeout: 0 })));
  }

  private open(): Session {
    Workers.opened += 1;
    const name = `worker ${Workers.opened}`;
    const connection = connect(this.options.databaseUrl, {
      max: 2,
      applicationName: 'worker',
      owner: String(Workers.opened),
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
