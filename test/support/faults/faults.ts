import { existsSync } from 'node:fs';
import { readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase } from '../../../src/db/database.ts';
import { createTestFolder } from '../service/program.ts';
import { waitForProcess } from '../wait.ts';
import type { Stage } from './stage.ts';

/** Something that goes wrong, and how it ends. */
export type Fault = {
  name: string;
  /** Whether our own process goes away, so that connections end. */
  endsService?: boolean;
  /** What this machine lacks for it; undefined when it can be tried. */
  missing?: (stage: Stage) => string | undefined;
  /** Whether tokens and uploads are still accepted meanwhile, if not all of them. */
  isWritable?: boolean;
  /** The fault, from its beginning until what it broke is repaired; it lasts while it holds. */
  happen: (stage: Stage, hold: Hold) => Promise<void>;
};

/** Lets clients go on while the fault lasts: for {@link HOLD_MS}, or until the work is done. */
export type Hold = (work?: () => Promise<unknown>) => Promise<void>;

export const HOLD_MS = 4000;
const KILLS = 50;
const MAX_WAL_SEGMENTS = 20;
const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';

async function runOnPostgres({ postgres }: Stage, ...statements: string[]): Promise<void> {
  const { connection, close } = openDatabase(postgres.url, { max: 1 });
  try {
    for (const statement of statements) await connection.unsafe(statement);
  } finally {
    await close();
  }
}

/** Uses up the segments that PostgreSQL has set aside for its WAL, until it needs one that the disk has no room for. */
async function fillWal(stage: Stage): Promise<void> {
  for (let segment = 0; segment < MAX_WAL_SEGMENTS; segment++) {
    const isFull = await runOnPostgres(
      stage,
      "select pg_logical_emit_message(false, 'fill', 'the segment')",
      'select pg_switch_wal()',
    ).then(
      () => false,
      () => true,
    );
    if (isFull) return;
  }
  throw new Error('the disk of PostgreSQL still has room');
}

function withoutTracing(): string | undefined {
  if (!Bun.which('strace')) return 'strace';
  return Bun.spawnSync(['strace', '-o', '/dev/null', 'true']).success ? undefined : 'right to trace';
}

type Step = (stage: Stage) => unknown;

/** A fault that lasts from one step to another. */
function between(begin: Step, end: Step): Fault['happen'] {
  return async (stage, hold) => {
    await begin(stage);
    await hold();
    await end(stage);
  };
}

export const POSTGRES_FAULTS: readonly Fault[] = [
  {
    name: 'PostgreSQL is killed',
    happen: between(
      ({ postgres }) => postgres.kill(),
      ({ postgres }) => postgres.start(),
    ),
  },
  {
    name: 'PostgreSQL is restarted',
    happen: async ({ postgres }, hold) => {
      await hold(async () => {
        await postgres.kill('fast');
        await postgres.start();
        await Bun.sleep(HOLD_MS);
      });
    },
  },
  {
    name: 'PostgreSQL is in a black hole',
    happen: between(
      ({ postgresLink }) => postgresLink.freeze(),
      ({ postgresLink }) => postgresLink.restore(),
    ),
  },
  {
    name: 'PostgreSQL is paused',
    happen: between(
      ({ postgres }) => postgres.signal('SIGSTOP'),
      ({ postgres }) => postgres.signal('SIGCONT'),
    ),
  },
  {
    name: 'PostgreSQL is slow: 200 ms each way',
    happen: between(
      ({ postgresLink }) => postgresLink.slow(200),
      ({ postgresLink }) => postgresLink.restore(),
    ),
  },
  {
    name: 'the disk of PostgreSQL is full',
    missing: ({ postgresDisk }) => (postgresDisk.isMounted ? undefined : 'right to mount a disk'),
    happen: async (stage, hold) => {
      const { postgres, postgresDisk } = stage;
      const { path } = postgresDisk;
      const { bavail, bsize } = await statfs(path);
      // PostgreSQL may take some of the room meanwhile: then the disk is full a little earlier.
      await writeFile(join(path, 'other'), new Uint8Array(bavail * bsize)).catch(() => {});
      await hold(async () => {
        await Bun.sleep(HOLD_MS / 2);
        await fillWal(stage);
        await Bun.sleep(HOLD_MS / 2);
      });
      await rm(join(path, 'other'));
      // Without room for its WAL it has ended itself, as an operator's supervisor would see.
      await postgres.kill();
      await postgres.start();
    },
  },
  {
    name: 'PostgreSQL is read-only',
    happen: between(
      (stage) =>
        runOnPostgres(
          stage,
          'alter system set default_transaction_read_only = on',
          'select pg_reload_conf()',
        ),
      (stage) =>
        runOnPostgres(
          stage,
          'set default_transaction_read_only = off',
          'alter system reset default_transaction_read_only',
          'select pg_reload_conf()',
        ),
    ),
  },
  {
    name: 'PostgreSQL has no connection left',
    happen: async ({ postgres, postgresLink }, hold) => {
      const others = openDatabase(postgres.url, { max: 120 });
      const taken = Array.from({ length: 120 }, () =>
        others.connection.unsafe(`select pg_sleep(${HOLD_MS / 1000})`).catch(() => {}),
      );
      await hold(async () => {
        // Whoever is connected has to connect again.
        for (let times = 0; times < 10; times++) {
          postgresLink.restore();
          await Bun.sleep(200);
        }
        await Promise.all(taken);
      });
      await others.close();
    },
  },
];

type Redis = NonNullable<Stage['redis']>;
type OnRedis = (redis: Redis) => unknown;

const REDIS_STATES: [state: string, begin: OnRedis, end: OnRedis][] = [
  ['killed', (redis) => redis.signal('SIGKILL'), (redis) => redis.start()],
  ['paused', (redis) => redis.signal('SIGSTOP'), (redis) => redis.signal('SIGCONT')],
  ['slow: 200 ms each way', ({ link }) => link.slow(200), ({ link }) => link.restore()],
  ['full', ({ tell }) => tell('config set maxmemory 1'), ({ tell }) => tell('config set maxmemory 0')],
  ['read-only', ({ tell }) => tell('replicaof 127.0.0.1 1'), ({ tell }) => tell('replicaof no one')],
  [
    'without a connection left',
    ({ tell, link }) => tell('config set maxclients 1').then(link.restore),
    ({ tell }) => tell('config set maxclients 1000'),
  ],
];

export const REDIS_FAULTS: readonly Fault[] = REDIS_STATES.map(([state, begin, end]) => ({
  name: `Redis is ${state}`,
  isWritable: true,
  missing: ({ redis }) => (redis ? undefined : 'Redis'),
  happen: between(
    ({ redis }) => redis && begin(redis),
    ({ redis }) => redis && end(redis),
  ),
}));

/** Makes every second disk call fail from now on, as on a dying disk; at least one has to. */
const failing = (names: string): Fault['happen'] => {
  return async ({ service }, hold) => {
    const folder = createTestFolder();
    const [calls, messages] = [join(folder, 'calls'), join(folder, 'messages')];
    const rules = ['-e', `trace=${names}`, '-e', `inject=${names}:error=EIO:when=1+2`];
    const tracer = Bun.spawn(['strace', '-f', '-o', calls, ...rules, '-p', String(service.pid())], {
      stderr: Bun.file(messages),
    });
    const hasWritten = async (file: string, text: string) => {
      if (tracer.exitCode !== null) throw new Error(`strace has ended: ${await readFile(messages, 'utf8')}`);
      return (await readFile(file, 'utf8')).includes(text);
    };
    await waitForProcess(() => hasWritten(messages, ' attached'), { what: 'strace is attached' });
    await hold(async () => {
      await Bun.sleep(HOLD_MS);
      await waitForProcess(() => hasWritten(calls, '(INJECTED)'), {
        everyMs: 100,
        what: `one of ${names} fails`,
      });
    });
    // On SIGINT it could wait forever for a process that itself waits for a child that strace has stopped.
    tracer.kill('SIGKILL');
    await tracer.exited;
  };
};

export const MACHINE_FAULTS: readonly Fault[] = [
  {
    name: 'every second fsync fails',
    isWritable: true,
    missing: withoutTracing,
    happen: failing('fsync,fdatasync'),
  },
  {
    name: 'every second rename fails',
    isWritable: true,
    missing: withoutTracing,
    happen: failing('rename,renameat,renameat2'),
  },
  {
    name: `the service is killed ${KILLS} times`,
    endsService: true,
    happen: async ({ service }, hold) => {
      await hold(async () => {
        for (let kill = 0; kill < KILLS; kill++) {
          await Bun.sleep(300);
          await service.end('SIGKILL');
          await service.start();
        }
      });
    },
  },
  {
    name: 'the clock jumps an hour on, two back and one on',
    endsService: true,
    missing: () => (existsSync(FAKETIME) ? undefined : 'faketime'),
    happen: async ({ service }, hold) => {
      const folder = createTestFolder();
      const file = join(folder, 'offset');
      await writeFile(file, '+0');
      await service.end('SIGTERM');
      await service.start({
        LD_PRELOAD: FAKETIME,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      });
      await hold(async () => {
        for (const offset of ['+3600', '-3600', '+0']) {
          await writeFile(file, offset);
          await Bun.sleep(HOLD_MS / 2);
        }
      });
      await service.end('SIGTERM');
      await service.start();
    },
  },
];
