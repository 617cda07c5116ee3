import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { serverAliases } from '../../../src/db/schema/penalties.ts';
import { removedServers, servers } from '../../../src/db/schema/servers.ts';
import { addServer, removeServer } from '../../../src/queries/servers/servers.ts';
import { insertServer } from '../../support/database/builders.ts';
import { countWaiting } from '../../support/database/lock-waits.ts';
import { openImports } from '../../support/import/penalty-rows.ts';
import { editSource } from '../../support/import/source-file.ts';
import { insertInto, NOW, SYSTEMS, type TestSystem } from '../../support/import/systems.ts';
import { waitFor } from '../../support/wait.ts';

const { db, connection, deps, createFile, stored, announceAndImport } = await openImports();
const ADDRESS = '10.0.0.7:27015';
const simpleAdmin = SYSTEMS['CS2-SimpleAdmin'];
const iks = SYSTEMS['IKS Admin'];
/** The ids of the servers where the penalties were given. */
const listServerIds = async () => (await stored()).map(({ serverId }) => serverId);

/** A source with servers at these addresses by their ids, and one ban for each server id. */
function createSource(
  { schema, addServer, add }: TestSystem,
  addresses: Record<number, string>,
  idsOfBans: (string | number | null)[] = Object.keys(addresses),
): string {
  const servers = Object.entries(addresses).map(([id, address]) => addServer({ id: Number(id), address }));
  const bans = idsOfBans.map((serverId, index) => add('ban', { id: index + 1, serverId }));
  return createFile(schema, ...servers, ...bans);
}

describe.each(Object.entries(SYSTEMS))('%s', (_, system) => {
  test('a penalty without a server causes no warning, however its source writes that', async () => {
    const url = createSource(system, {}, [null, '', 0, -1]);
    expect(await system.run(deps, { url })).toMatchObject({ added: 4, warnings: 0 });
    expect(await listServerIds()).toEqual([0, 0, 0, 0]);
  });

  test('a server that is not at the source any more is a warning', async () => {
    const summary = await system.run(deps, { url: createSource(system, { 7: ADDRESS }, [7, 99]) });
    const [server] = await db.select().from(servers);
    expect(await listServerIds()).toEqual([server?.id ?? -1, 0]);
    expect(summary.warnedRows.map(({ id, reason }) => [id, reason])).toEqual([
      ['2', 'its server 99 no longer exists at the source: kept without a server'],
    ]);
  });

  test('a row that is set aside causes no warning about its server', async () => {
    const ban = system.add('ban', { id: 1, serverId: 99, created: NOW, ends: NOW - 60 });
    const url = createFile(system.schema, ban);
    expect(await system.run(deps, { url })).toMatchObject({ setAside: 1, warnings: 0 });
  });
});

test('a server of a source matches either address of ours', async () => {
  const { id } = await insertServer(db, { address: '10.9.9.9:27015', publicAddress: ADDRESS });
  const summary = await iks.run(deps, { url: createSource(iks, { 1: ADDRESS }) });
  expect(summary).toMatchObject({ added: 1, serversAdded: [] });
  expect(await listServerIds()).toEqual([id]);
});

test('servers of one name are added apart, and one that an operator maps to another stays so', async () => {
  const ours = await insertServer(db, { address: ADDRESS });
  const url = createSource(simpleAdmin, { 1: ADDRESS, 2: '10.0.0.9:27016', 3: '10.0.0.9:27017' });
  const summary = await simpleAdmin.run(deps, { url });
  expect(summary).toMatchObject({ added: 3, serversAdded: ['Mirage', 'Mirage'] });
  const [, second, third] = await db.select().from(servers).orderBy(servers.id);
  expect([second, third]).toMatchObject([
    { slug: 'mirage', isHidden: true },
    { slug: 'mirage-2', isHidden: true },
  ]);
  expect(await listServerIds()).toEqual([ours.id, second?.id ?? -1, third?.id ?? -1]);
  await db.update(serverAliases).set({ serverId: ours.id }).where(eq(serverAliases.sourceServerId, '3'));
  expect(await simpleAdmin.run(deps, { url })).toMatchObject({ changed: 1, serversAdded: [] });
  expect(await listServerIds()).toEqual([ours.id, second?.id ?? -1, ours.id]);
});

test('a server whose name has 128 characters of two UTF-16 units each is added', async () => {
  const name = '🎯'.repeat(128);
  const server = insertInto('sa_servers', { id: 1, hostname: name, address: ADDRESS });
  const ban = simpleAdmin.add('ban', { id: 1, serverId: 1 });
  const summary = await simpleAdmin.run(deps, { url: createFile(simpleAdmin.schema + server + ban) });
  expect(summary).toMatchObject({ added: 1, warnings: 0, serversAdded: [name] });
  const [added] = await db.select().from(servers);
  expect(added?.name).toBe(name);
  expect(await listServerIds()).toEqual([added?.id ?? -1]);
});

test('a server of a source that cannot be one of ours is a warning, and its penalties have no server', async () => {
  const url = createSource(simpleAdmin, { 1: 'some where:27015', 2: ADDRESS });
  const summary = await simpleAdmin.run(deps, { url });
  expect(summary).toMatchObject({ added: 2, setAside: 0, serversAdded: ['Mirage'] });
  expect(summary.warnedRows).toEqual([
    {
      table: 'sa_servers',
      id: '1',
      reason:
        'its penalties are kept without a server: address "some where:27015" isn\'t valid: use HOST:PORT, such as play.example.org:27015 or [2001:db8::1]:27015',
    },
  ]);
  const [mirage] = await db.select().from(servers);
  expect(await listServerIds()).toEqual([0, mirage?.id ?? -1]);
});

test('two imports that add the same new server at once end up with one', async () => {
  const address = 'Play.Example.org:27015';
  const urls = [createSource(simpleAdmin, { 1: address }), createSource(simpleAdmin, { 2: address })];
  // Both look for the server before either can add it.
  const { imports } = await connection.begin(async (transaction) => {
    await transaction`lock table servers in share mode`;
    const imports = urls.map((url, index) => simpleAdmin.run(deps, { url, source: `community-${index}` }));
    await waitFor(async () => (await countWaiting(db)) === 2);
    return { imports };
  });
  const summaries = await Promise.all(imports);
  expect(summaries.map(({ serversAdded }) => serversAdded.length).sort()).toEqual([0, 1]);
  const [server, ...others] = await db.select().from(servers);
  expect([server?.address, others]).toEqual(['play.example.org:27015', []]);
  expect(await listServerIds()).toEqual([server?.id ?? -1, server?.id ?? -1]);
});

test.each<[string, Record<number, string>, string]>([
  ['its public address', { 1: ADDRESS }, 'localhost:27015'],
  ['both of its addresses', { 1: ADDRESS, 8: '10.0.0.8:27015' }, '10.0.0.8:27015'],
])('brings a removed server back once when the source lists it by %s', async (_, addresses, address) => {
  const url = createSource(iks, addresses);
  await insertServer(db, { address, publicAddress: ADDRESS, slug: 'mirage' });
  await iks.run(deps, { url });
  const before = await stored();
  await removeServer(db, 'mirage', { actor: 'operator' });
  const done = await announceAndImport((options) => iks.run(deps, { url, ...options }));
  expect(done).toMatchObject({ changed: 0, unchanged: before.length, serversAdded: ['Mirage'] });
  expect(await stored()).toEqual(before);
  expect(await db.select().from(servers)).toMatchObject([
    { id: before[0]?.serverId ?? 0, address: ADDRESS, isHidden: true },
  ]);
});

test('adds a server under a new id when its former one has been given back meanwhile', async () => {
  const { id } = await insertServer(db, { address: ADDRESS, slug: 'mirage' });
  const other = { name: 'Mirage', address: '10.0.0.8:27015', formerId: id, actor: 'operator' } as const;
  expect((await addServer(db, other)).id).toBeGreaterThan(id);
});

test('adds a removed server again under its id by any of its addresses, and another one under a new id', async () => {
  const addresses = { address: 'localhost:27015', publicAddress: ADDRESS };
  const { id } = await insertServer(db, { ...addresses, slug: 'mirage' });
  await removeServer(db, 'mirage', { actor: 'operator' });
  const add = (address: string) => addServer(db, { name: 'Mirage', address, actor: 'operator' });
  expect((await add('127.0.0.1:27016')).id).toBeGreaterThan(id);
  expect(await add(ADDRESS)).toMatchObject({ id, isHidden: false });
  expect((await add('localhost:27015')).id).toBeGreaterThan(id);
  expect(await db.select().from(removedServers)).toEqual([]);
});

describe('a server id of a source', () => {
  const [alpha, beta] = ['10.0.0.1:27015', '10.0.0.2:27015'];
  const openServers = async () => [
    (await insertServer(db, { address: alpha, slug: 'alpha' })).id,
    (await insertServer(db, { address: beta, slug: 'beta' })).id,
  ];
  /** Gives the ids of the source's servers these addresses, in one order, and adds a ban for each. */
  const fillAnew = (url: string, ...addresses: string[]) =>
    editSource(
      url,
      'delete from iks_servers; delete from iks_bans',
      ...addresses.map((address, index) => iks.addServer({ id: index + 1, address })),
      ...addresses.map((_, index) => iks.add('ban', { id: index + 1, serverId: index + 1 })),
    );

  test('a server id refers to the server whose address it has now, reported once', async () => {
    const ids = await openServers();
    const url = createSource(iks, { 1: alpha, 2: beta });
    await iks.run(deps, { url });
    expect(await listServerIds()).toEqual(ids);
    fillAnew(url, beta, alpha);
    const done = await announceAndImport((options) => iks.run(deps, { url, ...options }));
    expect(done.serversMoved).toEqual([
      { id: '1', address: beta },
      { id: '2', address: alpha },
    ]);
    expect(await listServerIds()).toEqual(ids.toReversed());
    expect(await iks.run(deps, { url })).toMatchObject({ serversMoved: [], changed: 0 });
  });

  test('a server id keeps its server while its new address is unknown here', async () => {
    const [id = 0] = await openServers();
    const url = createSource(iks, { 1: alpha });
    await iks.run(deps, { url });
    fillAnew(url, '10.0.0.9:27015');
    expect(await iks.run(deps, { url })).toMatchObject({ serversMoved: [], serversAdded: [] });
    expect(await listServerIds()).toEqual([id]);
  });

  test('a server id keeps the server that an operator chose, and follows later changes of its address', async () => {
    const [alphaId = 0, betaId = 0] = await openServers();
    const url = createSource(iks, { 1: alpha });
    await db.insert(serverAliases).values({ source: 'iks', sourceServerId: '1', serverId: betaId });
    expect(await iks.run(deps, { url })).toMatchObject({ serversMoved: [] });
    expect(await iks.run(deps, { url })).toMatchObject({ serversMoved: [] });
    expect(await listServerIds()).toEqual([betaId]);
    await connection`update server_aliases set server_id = ${betaId}, address = ${beta}`;
    await iks.run(deps, { url });
    expect(await listServerIds()).toEqual([alphaId]);
  });
});

test('finds a server with a host name by its IP address, and again after it was removed', async () => {
  const { id } = await insertServer(db, { address: 'localhost:27015', slug: 'mirage' });
  const url = createSource(iks, { 1: '127.0.0.1:27015' });
  expect(await iks.run(deps, { url })).toMatchObject({ added: 1, serversAdded: [] });
  expect(await listServerIds()).toEqual([id]);
  await removeServer(db, 'mirage', { actor: 'operator' });
  expect(await iks.run(deps, { url })).toMatchObject({ changed: 0, unchanged: 1, serversAdded: ['Mirage'] });
});

test('a dry run names a server of several ids once, as the import does', async () => {
  const url = createSource(iks, { 0: ADDRESS, 1: ADDRESS });
  const done = await announceAndImport((options) => iks.run(deps, { url, ...options }));
  expect(done).toMatchObject({ added: 2, serversAdded: ['Mirage'] });
});

test('IKS Admin: the operator chooses the ids of servers, and 0 may be one', async () => {
  const url = createSource(iks, { 0: ADDRESS });
  expect(await iks.run(deps, { url })).toMatchObject({ added: 1, warnings: 0 });
  const [server] = await db.select().from(servers);
  expect(await listServerIds()).toEqual([server?.id ?? -1]);
});
