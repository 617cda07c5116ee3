import { expect, test } from 'bun:test';
import { once } from 'node:events';
import pino from 'pino';
import { openLeaders } from '../../../src/db/leader.ts';
import { startReplicatedPostgres } from '../../support/database/replicated-postgres.ts';
import { waitFor } from '../../support/wait.ts';

test('nobody leads on a standby, which would grant the lock to everybody, until it is promoted', async () => {
  const { replicas } = await startReplicatedPostgres({ replicas: 1 });
  const [standby] = replicas;
  if (!standby) throw new Error('there is a replica');
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const leaders = openLeaders(standby.url, { log, everyMs: 20 });
  const part = leaders.run('poller', async (signal) => void (await once(signal, 'abort')));
  await waitFor(() => lines.some((line) => line.includes('the server is a standby')));
  expect(part.isLeader()).toBe(false);
  await standby.promote();
  await waitFor(part.isLeader);
  await part.stop();
});
