import { describe, expect, test } from 'bun:test';
import { removedServers, servers } from '../../../src/db/schema/servers.ts';
import { addServer, removeServer } from '../../../src/queries/servers/servers.ts';
import { insertServer } from '../../support/database/builders.ts';
import { openImports, storedPenalties } from '../../support/import/penalty-rows.ts';
import { NOW, SYSTEMS, type TestSystem } from '../../support/import/systems.ts';

const { db, deps, createFile } = await openImports();
const ADDRESS = '10.0.0.7:27015';

/** A source with servers of one address, and one ban for each server id. */
function createSource(
  { schema, addServer, add }: TestSystem,
  serverIds: number[],
  idsOfBans: (string | number | null)[],
): string {
  const servers = serverIds.map((id) => addServer({ id, address: id > 1 ? `10.0.0.${id}:27015` : ADDRESS }));
  const bans = idsOfBans.map((serverId, index) => add('ban', { id: index + 1, serverId }));
  return createFile([schema, ...servers, ...bans].join(';'));
}

const iks = SYSTEMS['IKS Admin'] ?? expect.unreachable();

describe.each(Object.entries(SYSTEMS))('%s', (_, system) => {
  test('a penalty without a server causes no warning, however its source writes that', async () => {
    const url = createSource(system, [], [null, '', 0, -1]);
    expect(await system.run(deps, { url })).toMatchObject({ added: 4, warnings: 0 });
    expect((await storedPenalties(db)).map((row) => row.serverId)).toEqual([0, 0, 0, 0]);
  });

  test('a server that is not at the source any more is a warning', async () => {
    const summary = await system.run(deps, { url: createSource(system, [7], [7, 99]) });
    const [server] = await db.select().from(servers);
    expect((await storedPenalties(db)).map((row) => row.serverId)).toEqual([server?.id ?? -1, 0]);
    expect(summary.warnedRows.map(({ id, reason }) => [id, reason])).toEqual([
      ['2', 'its server 99 no longer exists at the source: kept without a server'],
    ]);
  });
});

test.each(Object.entries(SYSTEMS))(
  '%s: a row that is set aside causes no warning about its server',
  async (_, { schema, add, run }) => {
    const url = createFile(`${schema}; ${add('ban', { id: 1, serverId: 99, created: NOW, ends: NOW - 60 })}`);
    expect(await run(deps, { url })).toMatchObject({ setAside: 1, warnings: 0 });
  },
);

test('a server of a source matches either address of ours', async () => {
  const { id } = await insertServer(db, { address: '10.9.9.9:27015', publicAddress: ADDRESS });
  const summary = await iks.run(deps, { url: createSource(iks, [1], [1]) });
  expect(summary).toMatchObject({ added: 1, serversAdded: [] });
  expect((await storedPenalties(db)).map(({ serverId }) => serverId)).toEqual([id]);
});

test('brings a server back under the id that it had when it was removed, hidden, and changes no penalty', async () => {
  const url = createSource(iks, [1], [1]);
  await insertServer(db, { address: 'localhost:27015', publicAddress: ADDRESS, slug: 'mirage' });
  await iks.run(deps, { url });
  const before = await storedPenalties(db);
  await removeServer(db, 'mirage', { actor: 'operator' });
  const announced = await iks.run(deps, { url, isDryRun: true });
  const done = await iks.run(deps, { url });
  expect(done).toMatchObject({ changed: 0, unchanged: 1, serversAdded: ['Mirage'] });
  expect(announced).toEqual({ ...done, isDryRun: true });
  expect(await storedPenalties(db)).toEqual(before);
  expect(await db.select().from(servers)).toMatchObject([
    { id: before[0]?.serverId ?? 0, address: ADDRESS, isHidden: true },
  ]);
});

test('brings a server back once that the source lists by both of its addresses', async () => {
  const url = createSource(iks, [1, 8], [1, 8]);
  await insertServer(db, { address: '10.0.0.8:27015', publicAddress: ADDRESS, slug: 'mirage' });
  await iks.run(deps, { url });
  const before = await storedPenalties(db);
  await removeServer(db, 'mirage', { actor: 'operator' });
  const announced = await iks.run(deps, { url, isDryRun: true });
  const done = await iks.run(deps, { url });
  expect(done).toMatchObject({ changed: 0, unchanged: 2, serversAdded: ['Mirage'] });
  expect(announced).toEqual({ ...done, isDryRun: true });
  expect(await storedPenalties(db)).toEqual(before);
});

test('adds a server under a new id when its former one has been given back meanwhile', async () => {
  const { id } = await insertServer(db, { address: ADDRESS, slug: 'mirage' });
  const other = { name: 'Mirage', address: '10.0.0.8:27015', formerId: id, actor: 'operator' } as const;
  expect((await addServer(db, other)).id).toBeGreaterThan(id);
});

test('adds a removed server again under its id by any of its addresses, and another one under a new id', async () => {
  const { id } = await insertServer(db, {
    address: 'localhost:27015',
    publicAddress: ADDRESS,
    slug: 'mirage',
  });
  await removeServer(db, 'mirage', { actor: 'operator' });
  const add = (address: string) => addServer(db, { name: 'Mirage', address, actor: 'operator' });
  expect((await add('127.0.0.1:27016')).id).toBeGreaterThan(id);
  expect(await add(ADDRESS)).toMatchObject({ id, isHidden: false });
  expect((await add('localhost:27015')).id).toBeGreaterThan(id);
  expect(await db.select().from(removedServers)).toEqual([]);
});

test('finds a removed server with a host name by its IP address', async () => {
  await insertServer(db, { address: 'localhost:27015', slug: 'mirage' });
  const url = createFile(
    [
      iks.schema,
      iks.addServer({ id: 1, address: '127.0.0.1:27015' }),
      iks.add('ban', { id: 1, serverId: 1 }),
    ].join(';'),
  );
  await iks.run(deps, { url });
  await removeServer(db, 'mirage', { actor: 'operator' });
  expect(await iks.run(deps, { url })).toMatchObject({ changed: 0, unchanged: 1, serversAdded: ['Mirage'] });
});

test('a dry run names a server of several ids once, as the import does', async () => {
  const url = createSource(iks, [0, 1], [0, 1]);
  const announced = await iks.run(deps, { url, isDryRun: true });
  const done = await iks.run(deps, { url });
  expect(done).toMatchObject({ added: 2, serversAdded: ['Mirage'] });
  expect(announced).toEqual({ ...done, isDryRun: true });
});

test('IKS Admin: the operator chooses the ids of servers, and 0 may be one', async () => {
  const url = createSource(iks, [0], [0]);
  expect(await iks.run(deps, { url })).toMatchObject({ added: 1, warnings: 0 });
  const [server] = await db.select().from(servers);
  expect((await storedPenalties(db))[0]?.serverId).toBe(server?.id ?? -1);
});
