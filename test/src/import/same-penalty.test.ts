import { beforeEach, describe, expect, test } from 'bun:test';
import { tallyDifferences } from '../../support/database/tallies.ts';
import { LINE, openImports } from '../../support/import/penalty-rows.ts';
import { editSource } from '../../support/import/source-file.ts';
import { NOW, type Penalty, type SourceRow, SYSTEMS } from '../../support/import/systems.ts';

const { connection, deps, createFile, importLines, announceAndImport } = await openImports();
const { schema, add, tables, run } = SYSTEMS['CS2-SimpleAdmin'];
const SOURCEBANS = SYSTEMS['SourceBans++'];
const OTHER = '76561198000000002';
const HOUR = 3600;

beforeEach(async () => {
  await connection`truncate penalties restart identity cascade`;
});

/** Each stored penalty by its number, as `number: reason of its player, where it is at the source`. */
async function list(): Promise<string[]> {
  const rows = await connection`
    select id, reason, right(player_steamid::text, 1) as player, source_id, gone_at is not null as is_gone from penalties order by id`;
  return rows.map(
    ({ id, reason, player, source_id, is_gone }) =>
      `${id}: ${reason} of ${player}, ${is_gone ? 'gone' : `row ${source_id}`}`,
  );
}

type Row = [penalty: Omit<Penalty, 'id'>, columns?: SourceRow];
const named = { playerName: 'Ala' };
const temporary = { ends: NOW + HOUR };

describe('a row with the id of a stored ban', () => {
  const importBoth = async (before: Row, after: Row) => {
    const url = createFile(schema, add('ban', { id: 1, ...before[0] }, before[1]));
    await run(deps, { url });
    editSource(url, `delete from ${tables.ban}`, add('ban', { id: 1, ...after[0] }, after[1]));
    return announceAndImport((options) => run(deps, { url, ...options, acceptsRemovals: true }));
  };
  const created = (seconds: number) => ({ created: NOW - 60 - seconds });
  const nobody = { player: '' };
  const withoutCreation: SourceRow = { created: '0000-00-00 00:00:00' };

  test.each<[string, Row, Row]>([
    ['names another player with the same name', [named], [{ ...named, player: OTHER }]],
    ['names its player another way', [named], [{ playerName: 'Ola' }]],
    ['was created hours and a quarter earlier', [{}], [created(5 * HOUR + 900)]],
    ['was created 26 hours later', [{}], [created(-26 * HOUR)]],
    ['has another reason, length and server', [{}], [{ reason: 'Aim', ...temporary, serverId: 4 }]],
    [
      'bans the same address at another hour',
      [{ ...nobody, reason: 'A' }],
      [{ ...nobody, reason: 'A', ...created(HOUR) }],
    ],
    [
      'no longer has a creation time, with the same reason and length',
      [temporary],
      [temporary, withoutCreation],
    ],
    [
      'ends later and never had a creation time',
      [temporary, withoutCreation],
      [{ ends: NOW + 2 * HOUR, created: NOW + HOUR - 60 }, withoutCreation],
    ],
  ])('a row that %s is the same ban', async (_, before, after) => {
    const summary = await importBoth(before, after);
    expect(summary).toMatchObject({ added: 0, gone: 0, movedAside: 0 });
    expect(await connection`select id from penalties`).toHaveLength(1);
  });

  test.each<[string, Row, Row]>([
    ['names another player, and neither has a name', [{}], [{ player: OTHER }]],
    ['was created minutes earlier', [named], [{ ...named, ...created(540) }]],
    ['was created more than 26 hours later', [named], [{ ...named, ...created(-26 * HOUR - 900) }]],
    [
      'bans another address, whose reason differs',
      [{ ...nobody, reason: 'A' }],
      [{ ...nobody, reason: 'B' }],
    ],
    ['bans an address, and the stored one a player', [{}], [nobody]],
    [
      'has no creation time and another reason',
      [temporary],
      [{ created: NOW + HOUR - 60, ends: NOW + 2 * HOUR, reason: 'B' }, withoutCreation],
    ],
  ])('a row that %s is another ban', async (_, before, after) => {
    const summary = await importBoth(before, after);
    expect(summary).toMatchObject({ added: 1, changed: 0, gone: 1, movedAside: 1 });
    expect(await connection`select gone_at is null as here from penalties order by id`).toMatchObject([
      { here: false },
      { here: true },
    ]);
    expect(await tallyDifferences(connection)).toEqual([]);
  });
});

test('a ban of another player under the id of a deleted ban is stored at once, and the deleted one is removed', async () => {
  const url = createFile(schema, add('ban', { id: 1, reason: 'A' }), add('ban', { id: 2, reason: 'B' }));
  await run(deps, { url });
  editSource(
    url,
    'delete from sa_bans',
    add('ban', { id: 1, reason: 'C', player: OTHER, created: NOW - 30 }),
  );
  const done = await announceAndImport((options) => run(deps, { url, ...options }));
  expect(done).toMatchObject({ added: 1, changed: 0, unchanged: 0, gone: 2 });
  expect(await list()).toEqual(['1: A of 1, gone', '2: B of 1, gone', '3: C of 2, row 1']);
  const events =
    await connection`select type, penalty_id::integer as id from penalty_events where penalty_id in (1, 3) order by id`;
  expect(events.map(({ type, id }) => `${type} ${id}`).sort()).toEqual([
    'penalty.created 1',
    'penalty.created 3',
    'penalty.removed 1',
  ]);
  expect(await run(deps, { url })).toMatchObject({ added: 0, changed: 0, gone: 0 });
});

test('a new ban of the same player under the id of their old one gets its own number', async () => {
  const url = createFile(schema, add('ban', { id: 1, reason: 'A', created: NOW - 5000, playerName: 'Ala' }));
  await run(deps, { url });
  editSource(url, 'delete from sa_bans', add('ban', { id: 1, reason: 'B', playerName: 'Ala' }));
  await run(deps, { url });
  expect(await list()).toEqual(['1: A of 1, gone', '2: B of 1, row 1']);
});

test('a source_id of NDJSON stands for one penalty, whatever changes about it', async () => {
  await importLines([{ ...LINE, source_id: '1' }]);
  const changed = { source_id: '1', player_steamid: OTHER, created: '2026-11-21T11:50:00Z' };
  expect(await importLines([{ ...LINE, ...changed }])).toMatchObject({ added: 0, changed: 1 });
  expect(await list()).toEqual(['1:  of 2, row 1']);
});

describe('SourceBans++: silences of two rows', () => {
  const silence = (ids: [number, number], penalty: Omit<Penalty, 'id'>) =>
    ids.map((id, index) => SOURCEBANS.add('mute', { id, ...penalty }, { type: index + 1 }));

  test("a new silence leaves another player's mute that is stored under its second id", async () => {
    const mutes = Array.from({ length: 60 }, (_, index) =>
      SOURCEBANS.add('mute', { id: index + 1, player: `STEAM_0:0:${index + 1}` }),
    );
    const url = createFile(SOURCEBANS.schema, ...mutes);
    await SOURCEBANS.run(deps, { url });
    editSource(url, 'delete from sb_comms', ...silence([1, 2], { player: OTHER, created: NOW - 30 }));
    const summary = await announceAndImport((options) => SOURCEBANS.run(deps, { url, ...options }));
    expect(summary).toMatchObject({ added: 1, gone: 0, held: 60 });
    expect(await connection`select from penalties where status = 'ACTIVE'`).toHaveLength(61);
    expect(await connection`select from penalty_events where type = 'penalty.removed'`).toHaveLength(0);
    expect(await connection`select type from penalties where source_id = '1'`).toMatchObject([
      { type: 'silence' },
    ]);
  });

  test('a silence keeps its number when its second row has the id that its first one had', async () => {
    const url = createFile(SOURCEBANS.schema, ...silence([2, 3], {}));
    await SOURCEBANS.run(deps, { url });
    editSource(url, 'delete from sb_comms', ...silence([1, 2], {}));
    const summary = await announceAndImport((options) => SOURCEBANS.run(deps, { url, ...options }));
    expect(summary).toMatchObject({ added: 0, changed: 1, gone: 0 });
    expect(await connection`select id::integer, source_id from penalties`).toMatchObject([
      { id: 1, source_id: '1' },
    ]);
  });

  test('a silence replaces the mute and the gag that it was before', async () => {
    const [mute = '', gag = ''] = silence([1, 2], {});
    const url = createFile(SOURCEBANS.schema, mute);
    await SOURCEBANS.run(deps, { url });
    editSource(url, gag, 'update sb_comms set length = 60, ends = created + 60 where bid = 2');
    await SOURCEBANS.run(deps, { url });
    editSource(url, 'update sb_comms set length = 0, ends = created where bid = 2');
    const summary = await announceAndImport((options) => SOURCEBANS.run(deps, { url, ...options }));
    expect(summary).toMatchObject({ added: 0, changed: 1, gone: 0, movedAside: 0 });
    expect(await connection`select type, source_id from penalties`).toMatchObject([
      { type: 'silence', source_id: '1' },
    ]);
  });
});

describe('rows that cannot be read', () => {
  test.each<[string, Omit<Penalty, 'id'>, SourceRow]>([
    ['a bot', { player: 'BOT', playerName: 'BOT', created: NOW - 30 }, {}],
    [
      'a player who is not known, at another time',
      { player: 'STEAM_ID_PENDING', ...named, created: NOW - 30 },
      {},
    ],
    ['the same name at a time that cannot be read', { player: OTHER, ...named }, { created: 'yesterday' }],
  ])('a lifted row that names %s lifts no ban that was stored under its id', async (_, penalty, columns) => {
    const url = createFile(
      schema,
      add('ban', { id: 1, reason: 'A', ...named }),
      add('ban', { id: 2, player: OTHER, reason: 'B' }),
    );
    await run(deps, { url });
    editSource(
      url,
      'delete from sa_bans where id = 1',
      add('ban', { id: 1, ...penalty }, { status: 'UNBANNED', ...columns }),
    );
    const done = await announceAndImport((options) => run(deps, { url, ...options }));
    expect(done).toMatchObject({ setAside: 1, outdated: 0, changed: 0, gone: 1 });
    expect(await list()).toEqual(['1: A of 1, gone', '2: B of 2, row 2']);
    expect(await connection`select from penalty_events where type = 'penalty.lifted'`).toHaveLength(0);
  });

  test('a lifted row that names the same player at a time that cannot be read lifts their ban', async () => {
    const url = createFile(schema, add('ban', { id: 1, reason: 'A' }));
    await run(deps, { url });
    editSource(url, "update sa_bans set created = 'yesterday', status = 'UNBANNED'");
    expect(await run(deps, { url })).toMatchObject({ changed: 1, gone: 0 });
    expect(await connection`select status from penalties`).toMatchObject([{ status: 'UNBANNED' }]);
  });
});

describe('rows with new ids', () => {
  const bans = ['A', 'B', 'C'].map((reason, index) => ({
    id: index + 1,
    reason,
    created: NOW - 600 + index,
  }));
  const insertBans = (idOf: (index: number) => number) =>
    bans.map((ban, index) => add('ban', { ...ban, id: idOf(index) }));
  const numbers = (rows: number[]) =>
    bans.map(({ reason }, index) => `${index + 1}: ${reason} of 1, row ${rows[index]}`);
  const createBans = async () => {
    const url = createFile(schema, ...insertBans((index) => index + 1));
    await run(deps, { url });
    return url;
  };
  const eventsOf = async () =>
    (await connection`select type from penalty_events order by id`).map(({ type }) => type);

  test.each<[string, number[]]>([
    ['have other ids', [101, 102, 103]],
    ['were inserted again in another order', [3, 1, 2]],
    ['were inserted again, some under an id of another one', [2, 3, 4]],
  ])('bans whose rows %s keep their numbers, and nothing is announced', async (_, ids) => {
    const url = await createBans();
    const before = await eventsOf();
    editSource(url, 'delete from sa_bans', ...insertBans((index) => ids[index] ?? 0));
    const done = await announceAndImport((options) => run(deps, { url, ...options }));
    expect(done).toMatchObject({ added: 0, changed: 3, unchanged: 0, gone: 0, movedAside: 0 });
    expect(await list()).toEqual(numbers(ids));
    expect(await eventsOf()).toEqual(before);
    expect(await run(deps, { url })).toMatchObject({ added: 0, changed: 0, unchanged: 3, gone: 0 });
  });

  test('removed bans come back with their numbers when a backup is loaded at the source', async () => {
    const url = await createBans();
    editSource(url, 'delete from sa_bans');
    await run(deps, { url, acceptsRemovals: true });
    expect(await list()).toEqual(['1: A of 1, gone', '2: B of 1, gone', '3: C of 1, gone']);
    editSource(url, ...insertBans((index) => 50 - index));
    expect(await run(deps, { url })).toMatchObject({ added: 0, changed: 3, gone: 0 });
    expect(await list()).toEqual(numbers([50, 49, 48]));
  });

  test('equal rows take over equal bans one to one, the lowest number first', async () => {
    const equal = (...ids: number[]) => ids.map((id) => add('ban', { id, reason: 'A' }));
    const url = createFile(schema, ...equal(1, 2));
    await run(deps, { url });
    editSource(url, 'delete from sa_bans', ...equal(7, 8, 9));
    const done = await announceAndImport((options) => run(deps, { url, ...options }));
    expect(done).toMatchObject({ added: 1, changed: 2, gone: 0 });
    expect(await list()).toEqual(['1: A of 1, row 7', '2: A of 1, row 8', '3: A of 1, row 9']);
  });

  test('a row takes over no ban that still has a row, had another length or names no player', async () => {
    const rows = [
      { id: 1, reason: 'A' },
      { id: 2, reason: 'B', player: OTHER, ...temporary },
      { id: 3, reason: 'C', player: '' },
    ];
    const url = createFile(schema, ...rows.map((row) => add('ban', row)));
    await run(deps, { url });
    const moved = [
      { id: 11, reason: 'A' },
      { id: 12, reason: 'B', player: OTHER, ends: NOW + 2 * HOUR },
      { id: 13, reason: 'C', player: '' },
    ];
    editSource(url, 'delete from sa_bans where id > 1', ...moved.map((row) => add('ban', row)));
    expect(await run(deps, { url })).toMatchObject({ added: 3, changed: 0, unchanged: 1, gone: 2 });
  });
});

test('a row of an erased player takes over no ban of another player', async () => {
  const url = createFile(
    schema,
    add('ban', { id: 1, reason: 'A' }),
    add('ban', { id: 2, reason: 'B', player: OTHER }),
  );
  await run(deps, { url });
  await connection`update penalties set player_steamid = 0 where reason = 'A'`;
  editSource(url, `update sa_bans set player_steamid = '' where id = 1`);
  expect(await run(deps, { url })).toMatchObject({ added: 0, changed: 0, unchanged: 2 });
  editSource(url, `update sa_bans set reason = 'D' where id = 1`);
  expect(await run(deps, { url })).toMatchObject({ added: 1, gone: 1 });
  expect((await list()).filter((row) => row.includes('gone'))).toEqual(['1: A of 0, gone']);
});
