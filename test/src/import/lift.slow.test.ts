import { describe, expect, test } from 'bun:test';
import mysql from 'mysql2/promise';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { IKS } from '../../../src/import/iks.ts';
import {
  findLiftProblem,
  type LiftableSource,
  type LiftOutcome,
  liftAtSource,
} from '../../../src/import/lift.ts';
import { simpleAdminSystem } from '../../../src/import/simple-admin/simple-admin.ts';
import { importSource, type SourceSystem } from '../../../src/import/source-system.ts';
import { sourcebansSystem } from '../../../src/import/sourcebans/sourcebans.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { iksSchema } from '../../support/import/iks-schema.ts';
import { COMMIT, createLiftAccounts } from '../../support/import/lifting.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../support/import/mariadb.ts';
import { openImports, storedPenalty } from '../../support/import/penalty-rows.ts';
import { aRow, simpleAdminMysqlSchema } from '../../support/import/simple-admin-schema.ts';
import { sourcebansSchema } from '../../support/import/sourcebans-schema.ts';
import { insertInto, NOW, PLAYER } from '../../support/import/systems.ts';
import { waitFor } from '../../support/wait.ts';

const { db, deps } = await openImports();
const hasMariaDb = await isMariaDbAtHand();

const BASIA = '76561198900000002' as SteamId64;
const STRANGER = '76561198900000003' as SteamId64;
const SIMPLE_ADMIN = simpleAdminSystem({});
const SOURCEBANS = sourcebansSystem({});
const REASON = `Appeal #12, "sorry" & 'bye' <3`;

/** As migration 005 of the plugin makes them. */
const FOREIGN_KEYS = ['ban', 'mute'].map(
  (kind) => `alter table sa_un${kind}s add foreign key (admin_id) references sa_admins(id) on delete cascade;
    alter table sa_${kind}s add foreign key (un${kind}_id) references sa_un${kind}s(id) on delete cascade`,
);
const ADMINS = insertInto(
  'sa_admins',
  { player_name: 'Console', player_steamid: '0' },
  { player_name: 'Basia', player_steamid: BASIA },
);

/** An imported database with its two accounts, and a function that lifts one of its penalties. */
async function openSource(system: SourceSystem, ...statements: string[]) {
  const source = await createTestMariaDb(...statements);
  const accounts = await createLiftAccounts(source);
  const target: LiftableSource = { system, ...accounts };
  const importAgain = () => importSource(deps, system, { url: accounts.mirrorUrl });
  await importAgain();

  async function lift(
    table: string,
    id = 1,
    {
      lifter = BASIA,
      now = new Date(NOW * 1000),
      ...changes
    }: { lifter?: SteamId64; now?: Date } & Partial<LiftableSource> = {},
  ): Promise<LiftOutcome> {
    const penalty = await storedPenalty(db, table, id);
    if (!penalty) throw new Error(`no penalty ${id} of ${table}`);
    const { playerSteamId, createdAt } = penalty;
    const shown = { sourceTable: table, sourceId: String(id), playerSteamId, createdAt };
    const options = { lifter, reason: REASON, now, anonymise: (steamId64: SteamId64) => steamId64 };
    return liftAtSource({ ...target, ...changes }, shown, options, () => {});
  }

  /** What this site shows of a penalty after the next import. */
  async function read(table: string, id = 1) {
    await importAgain();
    return storedPenalty(db, table, id);
  }
  return { ...source, accounts, target, lift, show: read };
}

const openSimpleAdmin = (...statements: string[]) =>
  openSource(SIMPLE_ADMIN, simpleAdminMysqlSchema({ migration: 15 }), ...FOREIGN_KEYS, ...statements);

describe.if(hasMariaDb)('a lift in CS2-SimpleAdmin', () => {
  test.each([5, 8, 10, 12, 15] as const)(
    'a lift in CS2-SimpleAdmin writes what the plugin writes into the tables of migration %d',
    async (migration) => {
      const { lift, read, show } = await openSource(
        SIMPLE_ADMIN,
        simpleAdminMysqlSchema({ migration }),
        ...FOREIGN_KEYS,
        ADMINS,
        insertInto('sa_bans', aRow(), aRow({ player_steamid: null })),
        ...['GAG', 'MUTE', 'SILENCE'].map((type) => insertInto('sa_mutes', aRow({ type }))),
        migration >= 10 ? insertInto('sa_warns', aRow()) : '',
      );
      expect(await lift('sa_bans', 2)).toBe('written');
      expect(await lift('sa_bans', 1)).toBe('written');
      expect(await read('select ban_id, admin_id, reason from sa_unbans')).toMatchObject([
        { ban_id: 2, admin_id: 2, reason: REASON },
        { ban_id: 1, admin_id: 2, reason: REASON },
      ]);
      expect(await read('select status, unban_id from sa_bans')).toMatchObject([
        { status: 'UNBANNED', unban_id: 2 },
        { status: 'UNBANNED', unban_id: 1 },
      ]);
      const lifted = {
        status: 'UNBANNED',
        liftedBySteamId: BASIA,
        liftedByName: 'Basia',
        liftReason: REASON,
      };
      expect(await show('sa_bans')).toMatchObject(lifted);

      for (const id of [1, 2, 3]) expect(await lift('sa_mutes', id)).toBe('written');
      expect(await read('select mute_id, admin_id, reason from sa_unmutes')).toHaveLength(3);
      expect(await read('select status, unmute_id from sa_mutes where id = 3')).toMatchObject([
        { status: 'UNMUTED', unmute_id: 3 },
      ]);
      expect(await show('sa_mutes', 3)).toMatchObject({ ...lifted, type: 'silence' });

      if (migration < 10) return;
      expect(await lift('sa_warns')).toBe('written');
      expect(await show('sa_warns')).toMatchObject({ status: 'EXPIRED', liftedAt: null });
    },
  );

  test('a lift changes only the status where the version has no records of lifts', async () => {
    const { lift, show } = await openSource(
      SIMPLE_ADMIN,
      simpleAdminMysqlSchema({ migration: 5 }),
      'drop table sa_unbans, sa_unmutes; alter table sa_bans drop column unban_id',
      'alter table sa_mutes drop column unmute_id',
      insertInto('sa_bans', aRow()),
      insertInto('sa_mutes', aRow({ type: 'GAG' })),
    );
    expect(await lift('sa_bans')).toBe('written');
    expect(await lift('sa_mutes')).toBe('written');
    expect(await show('sa_bans')).toMatchObject({ status: 'UNBANNED', liftedByName: null });
    expect(await show('sa_mutes')).toMatchObject({ status: 'UNBANNED' });
  });

  test('a lift names the console, by its row, for staff who are no admins there', async () => {
    const { lift, read } = await openSimpleAdmin(
      insertInto('sa_admins', { player_name: 'Basia', player_steamid: BASIA }),
      insertInto('sa_admins', { player_name: 'Console', player_steamid: 0 }),
      insertInto('sa_bans', aRow()),
    );
    expect(await lift('sa_bans', 1, { lifter: STRANGER })).toBe('written');
    expect(await read('select admin_id from sa_unbans')).toMatchObject([{ admin_id: 2 }]);
  });

  test('a lift writes nothing for staff who are no admins there if there is no console either', async () => {
    const { lift, show } = await openSource(
      SIMPLE_ADMIN,
      simpleAdminMysqlSchema({ migration: 15 }),
      insertInto('sa_admins', { player_name: 'Basia', player_steamid: BASIA }),
      insertInto('sa_bans', aRow()),
    );
    expect(await lift('sa_bans', 1, { lifter: STRANGER })).toBe('no-console');
    expect(await show('sa_bans')).toMatchObject({ status: 'ACTIVE' });
    expect(await lift('sa_bans', 1, { lifter: BASIA })).toBe('written');
  });

  test('a lift writes nothing into a penalty of the lifter', async () => {
    const { lift, show } = await openSimpleAdmin(ADMINS, insertInto('sa_bans', aRow()));
    expect(await lift('sa_bans', 1, { lifter: PLAYER as SteamId64 })).toBe('own');
    expect(await show('sa_bans')).toMatchObject({ status: 'ACTIVE' });
  });

  test.each([
    ['gone', 'delete from sa_bans'],
    ['changed', "update sa_bans set player_steamid = '76561198000000009'"],
    ['changed', "update sa_bans set created = '2026-11-21 11:30:01'"],
    ['lifted', "update sa_bans set status = 'UNBANNED'"],
    ['ended', "update sa_bans set status = 'EXPIRED'"],
    ['ended', "update sa_bans set ends = '2026-11-21 11:31:00', duration = 1"],
  ] as const)('a lift writes nothing into a row that is %s: %s', async (outcome, statement) => {
    const { lift, run, read } = await openSimpleAdmin(ADMINS, insertInto('sa_bans', aRow()));
    await run(statement);
    const before = await read('select * from sa_bans');
    expect(await lift('sa_bans')).toBe(outcome);
    expect(await read('select * from sa_bans')).toEqual(before);
    expect(await read('select * from sa_unbans')).toEqual([]);
  });

  test('a lift writes nothing into a row that somebody else changes at the same time', async () => {
    const { lift, run, read, accounts } = await openSimpleAdmin(ADMINS, insertInto('sa_bans', aRow()));
    const proxy = await startDatabaseProxy(accounts.liftUrl);
    proxy.before('update sa_bans', () => run("update sa_bans set status = 'EXPIRED'"));
    expect(await lift('sa_bans', 1, { liftUrl: proxy.url })).toBe('changed');
    expect(await read('select status, unban_id from sa_bans')).toMatchObject([
      { status: 'EXPIRED', unban_id: null },
    ]);
  });

  test('a lift is undone as a whole if its record is refused', async () => {
    const { lift, run, read } = await openSimpleAdmin(ADMINS, insertInto('sa_bans', aRow()));
    await run('alter table sa_unbans modify reason varchar(5) not null');
    expect(await lift('sa_bans')).toBe('refused');
    expect(await read('select status from sa_bans')).toMatchObject([{ status: 'ACTIVE' }]);
  });

  test('a lift in MySQL 8, which names columns of information_schema in capitals, is undone as well', async () => {
    const { accounts, lift, run, read } = await openSimpleAdmin(ADMINS, insertInto('sa_bans', aRow()));
    await run('alter table sa_unbans modify reason varchar(5) not null');
    const proxy = await startDatabaseProxy(accounts.mirrorUrl);
    // The name of a column without an alias, and its name in the table.
    proxy.replace('\x06engine\x06ENGINE', '\x06ENGINE\x06ENGINE');
    expect(await lift('sa_bans', 1, { mirrorUrl: proxy.url })).toBe('refused');
    expect(await read('select status from sa_bans')).toMatchObject([{ status: 'ACTIVE' }]);
  });

  test('a lift stays without details in a table without transactions if its record is refused', async () => {
    const { lift, show } = await openSource(
      SIMPLE_ADMIN,
      simpleAdminMysqlSchema({ migration: 12 }),
      ADMINS,
      'alter table sa_bans engine = myisam; alter table sa_unbans modify reason varchar(5) not null',
      insertInto('sa_bans', aRow()),
    );
    expect(await lift('sa_bans')).toBe('written');
    expect(await show('sa_bans')).toMatchObject({ status: 'UNBANNED', liftReason: null });
  });

  describe('over a connection that breaks', () => {
    test.each([
      ['before the commit has written nothing', 'update sa_bans', 'cut', 'unreachable', 'ACTIVE'],
      ['with the commit is unknown', COMMIT, 'cut', 'unknown', 'ACTIVE'],
      ['after the commit is unknown', COMMIT, 'cut-before-response', 'unknown', 'UNBANNED'],
    ] as const)('a lift over a connection that breaks %s', async (_, text, how, outcome, status) => {
      const source = await openSimpleAdmin(ADMINS, insertInto('sa_bans', aRow()));
      const proxy = await startDatabaseProxy(source.accounts.liftUrl);
      proxy.failAt(text, how);
      expect(await source.lift('sa_bans', 1, { liftUrl: proxy.url })).toBe(outcome);
      await waitFor(async () => (await source.show('sa_bans'))?.status === status);
      expect(await source.read('select count(*) as n from sa_unbans')).toMatchObject([
        { n: status === 'UNBANNED' ? 1 : 0 },
      ]);
    });

    test('a lift in a table without transactions is unknown when the connection breaks', async () => {
      const source = await openSource(
        SIMPLE_ADMIN,
        simpleAdminMysqlSchema({ migration: 12 }),
        ADMINS,
        'alter table sa_bans engine = myisam',
        insertInto('sa_bans', aRow()),
      );
      const proxy = await startDatabaseProxy(source.accounts.liftUrl);
      proxy.failAt('update sa_bans', 'cut-before-response');
      expect(await source.lift('sa_bans', 1, { liftUrl: proxy.url })).toBe('unknown');
      await waitFor(async () => (await source.show('sa_bans'))?.status === 'UNBANNED');
    });

    test('a lift says that the source cannot be reached, by either account', async () => {
      const { lift, accounts } = await openSimpleAdmin(ADMINS, insertInto('sa_bans', aRow()));
      const away = (url: string) => Object.assign(new URL(url), { port: '1' }).href;
      expect(await lift('sa_bans', 1, { liftUrl: away(accounts.liftUrl) })).toBe('unreachable');
      expect(await lift('sa_bans', 1, { mirrorUrl: away(accounts.mirrorUrl) })).toBe('unreachable');
    });
  });
});

describe.if(hasMariaDb)('a lift in SourceBans++', () => {
  const ROW = { authid: 'STEAM_0:0:123', name: 'Rzeźnik', reason: 'Aim', aid: 0 };
  const ACTIVE = { ...ROW, created: NOW - 1800, ends: NOW + 1800, length: 3600 };
  const rows = (table: string, ...changes: object[]) =>
    insertInto(table, ...changes.map((change) => ({ ...ACTIVE, ...change })));
  const admin = insertInto('sb_admins', { user: 'Basia', authid: 'STEAM_0:0:469867137' });

  test.each(['1.4', '1.5', '1.8'] as const)(
    'a lift in SourceBans++ writes what the panel of version %s writes',
    async (version) => {
      const hasReason = version !== '1.4';
      const { lift, read, show } = await openSource(
        SOURCEBANS,
        sourcebansSchema('sb_', version),
        admin,
        rows('sb_bans', {}, { authid: '', type: 1, length: 0, ends: 0 }),
        hasReason ? rows('sb_comms', { type: 1 }, { type: 2, length: 0, ends: 0 }) : '',
      );
      expect(await lift('bans', 1)).toBe('written');
      expect(await lift('bans', 2, { lifter: STRANGER })).toBe('written');
      const stored = 'RemoveType, RemovedBy, RemovedOn > unix_timestamp() - 60 as isNow';
      expect(await read(`select ${stored}${hasReason ? ', ureason' : ''} from sb_bans`)).toEqual(
        [1, 0].map((RemovedBy) => ({
          ...{ RemoveType: 'U', RemovedBy, isNow: 1 },
          ...(hasReason && { ureason: `Appeal #12, &quot;sorry&quot; &amp; 'bye' &lt;3` }),
        })) as never,
      );
      expect(await show('bans')).toMatchObject({
        ...{ status: 'UNBANNED', liftedBySteamId: BASIA },
        liftReason: hasReason ? REASON : null,
      });
      expect(await show('bans', 2)).toMatchObject({ status: 'UNBANNED', liftedByName: 'CONSOLE' });
      if (!hasReason) return;
      for (const id of [1, 2]) expect(await lift('comms', id)).toBe('written');
      expect(await show('comms', 2)).toMatchObject({ status: 'UNBANNED', type: 'gag', liftReason: REASON });
    },
  );

  test.each(['1.5', '1.8'] as const)(
    'a lift changes both rows of a silence in version %s',
    async (version) => {
      const { lift, read, show } = await openSource(
        SOURCEBANS,
        sourcebansSchema('sb_', version),
        rows('sb_comms', { type: 1 }, { type: 2 }, { type: 2, created: NOW - 1799 }),
      );
      expect(await lift('comms')).toBe('written');
      expect(await read('select RemoveType from sb_comms')).toMatchObject([
        { RemoveType: 'U' },
        { RemoveType: 'U' },
        { RemoveType: null },
      ]);
      expect(await show('comms')).toMatchObject({ status: 'UNBANNED', type: 'silence' });
    },
  );

  test.each(['myisam', 'innodb'])(
    'a lift changes neither row of a silence in %s if somebody else lifts one of them meanwhile',
    async (engine) => {
      const { lift, run, read, accounts } = await openSource(
        SOURCEBANS,
        sourcebansSchema('sb_', '1.8'),
        `alter table sb_comms engine = ${engine}`,
        rows('sb_comms', { type: 1 }, { type: 2 }),
      );
      const proxy = await startDatabaseProxy(accounts.liftUrl);
      const other = "update sb_comms set RemoveType = 'U', RemovedBy = 0, RemovedOn = 1 where bid = 2";
      proxy.before('update sb_comms', () => run(other));
      expect(await lift('comms', 1, { liftUrl: proxy.url })).toBe('changed');
      expect(await read('select RemoveType, RemovedOn from sb_comms')).toMatchObject([
        { RemoveType: null, RemovedOn: null },
        { RemoveType: 'U', RemovedOn: 1 },
      ]);
    },
  );
});

describe.if(hasMariaDb)('a lift in IKS Admin', () => {
  const ROW = {
    ...{ steam_id: PLAYER, name: 'Rzeźnik', duration: 3600, reason: 'Aim', admin_id: 2 },
    ...{ created_at: NOW - 1800, end_at: NOW + 1800, updated_at: NOW - 60 },
  };
  const FOREIGN_KEYS = (column: string) =>
    ['iks_bans', 'iks_comms'].map(
      (table) => `alter table ${table} add foreign key (${column}) references iks_admins(id)`,
    );

  test.each([
    ['first', 'ubanned_by'],
    ['present', 'unbanned_by'],
  ] as const)(
    'a lift in IKS Admin writes what the plugin of the %s release writes',
    async (release, column) => {
      const { lift, read, show } = await openSource(
        IKS,
        iksSchema(release),
        ...FOREIGN_KEYS(column),
        insertInto('iks_bans', ROW),
        insertInto('iks_comms', { ...ROW, mute_type: 2 }),
      );
      expect(await lift('iks_bans')).toBe('written');
      expect(await lift('iks_comms', 1, { lifter: STRANGER })).toBe('written');
      const stored = `${column} as lifter, updated_at > unix_timestamp() - 60 as isNow`;
      const reason = release === 'first' ? '' : ', unban_reason';
      const written = { isNow: 1, ...(release === 'present' && { unban_reason: REASON }) };
      expect(await read(`select ${stored}${reason} from iks_bans`)).toEqual([
        { ...written, lifter: 2 },
      ] as never);
      expect(await read(`select ${stored}${reason} from iks_comms`)).toEqual([
        { ...written, lifter: 1 },
      ] as never);
      expect(await show('iks_bans')).toMatchObject({ status: 'UNBANNED', liftedBySteamId: BASIA });
    },
  );

  test('a lift names no admin whom IKS marked as deleted', async () => {
    const { lift, read } = await openSource(
      IKS,
      iksSchema('present'),
      'alter table iks_admins add column deleted_at int default null',
      "update iks_admins set deleted_at = 1 where name = 'Basia'",
      insertInto('iks_bans', ROW),
    );
    expect(await lift('iks_bans')).toBe('written');
    expect(await read('select unbanned_by from iks_bans')).toMatchObject([{ unbanned_by: 1 }]);
  });

  test('a lift finds no penalty in a row that IKS marked as deleted', async () => {
    const { lift, run } = await openSource(IKS, iksSchema('present'), insertInto('iks_bans', ROW));
    await run('update iks_bans set deleted_at = 1');
    expect(await lift('iks_bans')).toBe('gone');
  });
});

test.if(hasMariaDb)('a database is imported by an account that may not write', async () => {
  const { accounts, show, read } = await openSimpleAdmin(ADMINS, insertInto('sa_bans', aRow()));
  const asMirror = await mysql.createConnection(accounts.mirrorUrl);
  const write = asMirror.query("update sa_bans set status = 'UNBANNED'");
  await expect(write).rejects.toMatchObject({ code: 'ER_TABLEACCESS_DENIED_ERROR' });
  await asMirror.end();
  expect(await show('sa_bans')).toMatchObject({ status: 'ACTIVE' });
  expect(await read('select status from sa_bans')).toMatchObject([{ status: 'ACTIVE' }]);
});

describe.if(hasMariaDb)('the rights to lift', () => {
  const listNewest = async ({ sourceTable }: { sourceTable: string }) =>
    sourceTable === 'sa_warns' ? [] : ['1'];
  const open = () =>
    openSimpleAdmin(ADMINS, insertInto('sa_bans', aRow()), insertInto('sa_mutes', aRow({ type: 'GAG' })));

  test.each([
    ['CS2-SimpleAdmin', SIMPLE_ADMIN, simpleAdminMysqlSchema({ migration: 15 })],
    ['an old CS2-SimpleAdmin', SIMPLE_ADMIN, simpleAdminMysqlSchema({ migration: 5 })],
    ['SourceBans++', SOURCEBANS, sourcebansSchema('sb_', '1.8')],
    ['an old SourceBans++', SOURCEBANS, sourcebansSchema('sb_', '1.4')],
    ['IKS Admin', IKS, iksSchema('present')],
  ])('the rights that the guide grants suffice in %s', async (_, system, schema) => {
    const { target } = await openSource(system, schema);
    expect(await findLiftProblem(target, async () => [])).toBeUndefined();
  });

  test('the check of an account writes nothing', async () => {
    const { target, read } = await open();
    expect(await findLiftProblem(target, listNewest)).toBeUndefined();
    expect(await read('select status from sa_bans')).toMatchObject([{ status: 'ACTIVE' }]);
    expect(await read('select * from sa_unbans')).toEqual([]);
  });

  test('the check of an account that may only read names the table and why', async () => {
    const { target, accounts, lift, show } = await open();
    const readOnly = { ...target, liftUrl: accounts.mirrorUrl };
    expect(await findLiftProblem(readOnly, listNewest)).toMatchObject({ kind: 'rights', table: 'sa_bans' });
    expect(await lift('sa_bans', 1, { liftUrl: accounts.mirrorUrl })).toBe('refused');
    expect(await show('sa_bans')).toMatchObject({ status: 'ACTIVE' });
  });

  test('the check of an account in another database names the table whose penalties are missing', async () => {
    const { target } = await open();
    const other = await createTestMariaDb(
      simpleAdminMysqlSchema({ migration: 15 }),
      insertInto('sa_bans', aRow({ player_steamid: '76561198000000009' })),
    );
    const { liftUrl } = await createLiftAccounts(other);
    const elsewhere = { ...target, liftUrl };
    expect(await findLiftProblem(elsewhere, listNewest)).toEqual({
      kind: 'other-database',
      table: 'sa_bans',
    });
  });

  test('the check of an account says that its database cannot be reached', async () => {
    const { target, accounts } = await open();
    const liftUrl = Object.assign(new URL(accounts.liftUrl), { port: '1' }).href;
    expect(await findLiftProblem({ ...target, liftUrl }, listNewest)).toMatchObject({ kind: 'unreachable' });
  });
});
