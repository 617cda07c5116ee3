import { afterAll, expect, test } from 'bun:test';
import pino from 'pino';
import { openDatabase } from '../../../src/db/database.ts';
import { warnOfConnectionLimit } from '../../../src/db/open.ts';
import { aSteamId, insertPenalties, insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { aToken, bearer, startTestService } from '../../support/service/service.ts';

/** What docs/scaling.md says a process needs to run, without exports. */
const FEWEST = 12;

const database = await createTestDatabase();
const role = `few_${new URL(database.url).pathname.slice(1)}`;
const adminUrl = new URL('/postgres', database.url);
const admin = openDatabase(adminUrl.href, { max: 1 });
// A limit holds for no superuser; a member of one may do the same here.
await admin.connection.unsafe(
  `create role ${role} login connection limit ${FEWEST} password 'few' in role ${adminUrl.username}`,
);
const url = new URL(database.url);
url.username = role;
url.password = 'few';
const service = await startTestService({
  databaseUrl: url.href,
  env: { ROLES: 'api,poller,media,sync' },
  hasRealClock: true,
});
afterAll(async () => {
  await service.stop();
  await admin.connection.unsafe(`drop role ${role}`);
  await admin.close({ timeoutSeconds: 1 });
});

test(`a process with all roles serves everybody over ${FEWEST} connections`, async () => {
  const server = await insertServer(database.db, { slug: 'one' });
  await insertPenalties(database.db, [{ type: 'ban', serverId: server.id }]);
  const { token } = await aToken(database.db, 1, { now: new Date() });
  const paths = [
    '/readyz',
    '/api/v1/penalties?reason=none&sort=ends',
    '/api/v1/bans',
    `/api/v1/penalties/active?steamids=${aSteamId(1)}`,
    '/api/v1/players/search?name=one',
    '/api/v1/penalties/changes',
    '/account',
  ];
  const asked = Array.from({ length: 210 }, (_, number) =>
    service.ask(paths[number % paths.length] ?? '', bearer(token)),
  );
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  const [row] = await admin.connection`
    select count(*)::integer as count from pg_stat_activity where usename = ${role}`;
  expect(row?.count).toBeLessThanOrEqual(FEWEST);
});

test('a role that allows fewer connections is a warning with both numbers', async () => {
  const said: string[] = [];
  const log = pino({}, { write: (line: string) => said.push(JSON.parse(line).msg) });
  await admin.connection.unsafe(`alter role ${role} connection limit ${FEWEST - 1}`);
  const db = openDatabase(url.href, { max: 1 });
  await warnOfConnectionLimit(db.db, log);
  await db.close({ timeoutSeconds: 1 });
  await warnOfConnectionLimit(database.db, log);
  expect(said).toEqual([
    'PostgreSQL allows 11 connections, and this process needs 12: raise CONNECTION LIMIT or max_connections',
  ]);
});
