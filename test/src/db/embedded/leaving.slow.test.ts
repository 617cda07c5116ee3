import { afterAll, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { connect } from '../../../../src/db/client.ts';
import { joinServer, leaveServer, serverUrl } from '../../../../src/db/embedded/cluster.ts';
import { describeCluster, openCluster } from '../../../../src/db/embedded/data-folder.ts';
import { LOCKS } from '../../../../src/db/locks.ts';
import { createTestFolder } from '../../../support/service/program.ts';
import { waitFor } from '../../../support/wait.ts';

const log = pino({ level: 'silent' });
const folder = createTestFolder();
afterAll(folder.remove);

test.skipIf(process.platform === 'win32')(
  'a process that found the server running may not use it once its last user is stopping it',
  async () => {
    // PostgreSQL's account writes here too.
    await chmod(folder.path, 0o777);
    const cluster = await describeCluster(folder.path, []);
    const password = await openCluster(cluster, log);
    const server = await joinServer(cluster, password, log);
    const joining = connect(serverUrl(server.port, password), { max: 1 });
    await joining`select 1`;

    const [asked, allowed] = [join(folder.path, 'asked'), join(folder.path, 'allowed')];
    const pg_ctl = join(folder.path, 'slow_pg_ctl');
    await writeFile(
      pg_ctl,
      `#!/bin/sh\n: > ${asked}\nwhile [ ! -e ${allowed} ]; do sleep 0.01; done\nexec ${cluster.pg_ctl} "$@"\n`,
      { mode: 0o755 },
    );
    const leaving = leaveServer({ ...cluster, pg_ctl }, server, log);
    await waitFor(() => existsSync(asked));
    const joined = joining`select pg_advisory_lock_shared(${LOCKS.embeddedServer})`.then(
      () => 'joined',
      () => 'refused',
    );
    await writeFile(allowed, '');
    await leaving;
    expect(await joined).toBe('refused');
    await joining.end({ timeout: 0 });
  },
);
