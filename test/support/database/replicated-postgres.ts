import { cpSync, mkdtempSync } from 'node:fs';
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { runAs } from '../../../src/db/embedded/account.ts';
import { type Cluster, describeCluster, openCluster } from '../../../src/db/embedded/data-folder.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { atEnd } from '../cleanup.ts';
import { findFreePort } from '../machine/free-port.ts';
import { type DatabaseProxy, startDatabaseProxy } from './database-proxy.ts';

/** One real PostgreSQL of this test file's own. */
export type PostgresServer = {
  url: string;
  /** Stops or continues every process of it at once. */
  signal: (signal: 'SIGSTOP' | 'SIGCONT') => Promise<void>;
  /** Ends it as a power cut would. */
  kill: (mode?: 'immediate' | 'fast') => Promise<void>;
  start: () => Promise<void>;
  /** Makes a primary of a replica. */
  promote: () => Promise<void>;
};

type ReplicatedPostgres = {
  primary: PostgresServer;
  replicas: (PostgresServer & {
    /** Between the primary and this replica. */
    link: DatabaseProxy;
  })[];
};

const SETTINGS = [
  'fsync=off',
  'shared_buffers=16MB',
  'max_connections=120',
  'wal_receiver_status_interval=1',
  'wal_retrieve_retry_interval=200',
  'hot_standby_feedback=off',
  'max_standby_streaming_delay=300',
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
];

/** A migrated primary and replicas that stream from it, each by way of a proxy; stopped after the file's tests. */
export async function startReplicatedPostgres({
  replicas: count,
  parent = tmpdir(),
}: {
  replicas: number;
  /** The folder in which their data lie. */
  parent?: string;
}): Promise<ReplicatedPostgres> {
  const root = mkdtempSync(join(parent, 'community-api-replicas-'));
  const folders = Array.from({ length: count + 1 }, (_, index) => join(root, `${index}`));
  const [primaryFolder = ''] = folders;
  atEnd(() => rm(root, { recursive: true, force: true }));
  await Bun.$`chmod 755 ${root} && mkdir ${folders}`;
  const cluster = await describeCluster(primaryFolder, []);
  const password = await openCluster(cluster, pino({ level: 'silent' }));
  for (const folder of folders.slice(1)) cpSync(primaryFolder, folder, { recursive: true });

  const begin = async (folder: string) => {
    const server = createServer(await describeCluster(folder, []), password);
    await server.start();
    atEnd(server.kill);
    return server;
  };
  const primary = await begin(primaryFolder);
  const replicas = [];
  for (const folder of folders.slice(1)) {
    const link = await startDatabaseProxy(primary.url);
    await follow(await describeCluster(folder, []), link.url);
    replicas.push({ ...(await begin(folder)), link });
  }
  await migrateDatabase(primary.url);
  return { primary, replicas };
}

/** A copy of the primary's empty cluster becomes a replica of it. */
async function follow({ dir, account }: Cluster, primaryUrl: string): Promise<void> {
  await appendFile(join(dir, 'postgresql.auto.conf'), `primary_conninfo = '${primaryUrl}'\n`);
  await writeFile(join(dir, 'standby.signal'), '');
  if (account) await Bun.$`chown -R ${account.uid}:${account.gid} ${dir}`;
}

/** A cluster's server, not yet started. */
export function createServer(cluster: Cluster, password: string): PostgresServer {
  const port = findFreePort();
  const control = async (...args: string[]) => {
    const ended = await runAs(cluster, cluster.pg_ctl, [...args, '-w', '-s', '-D', cluster.dir]);
    if (ended.code !== 0) throw new Error(`pg_ctl ${args[0]}: ${ended.output}`);
  };
  const listProcesses = async (): Promise<number[]> => {
    const [pid = ''] = (await readFile(join(cluster.dir, 'postmaster.pid'), 'utf8').catch(() => '')).split(
      '\n',
    );
    if (pid === '') return [];
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
    return [Number(pid), ...children.split(' ').filter(Boolean).map(Number)];
  };
  const signal = async (name: 'SIGSTOP' | 'SIGCONT') => {
    for (const pid of await listProcesses()) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended since it was listed.
      }
    }
  };
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    signal,
    kill: async (mode = 'immediate') => {
      await signal('SIGCONT');
      if ((await listProcesses()).length > 0) await control('stop', '-m', mode).catch(() => {});
    },
    start: () =>
      control(
        'start',
        '-l',
        join(cluster.dir, 'server.log'),
        '-o',
        [...SETTINGS, `port=${port}`].map((setting) => `-c ${setting}`).join(' '),
      ),
    promote: () => control('promote'),
  };
}
