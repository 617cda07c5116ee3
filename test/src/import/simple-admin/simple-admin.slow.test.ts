import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { serverAliases } from '../../../../src/db/schema/penalties.ts';
import { servers } from '../../../../src/db/schema/servers.ts';
import { InvalidInput, Unavailable } from '../../../../src/domain/errors.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { tallyDifferences } from '../../../support/database/tallies.ts';
import { importSimpleAdmin } from '../../../support/import/importers.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../../support/import/mariadb.ts';
import { openImports, storedPenalties, storedPenalty } from '../../../support/import/penalty-rows.ts';
import { ADMIN, aRow, insertion, PLAYER } from '../../../support/import/simple-admin-rows.ts';
import { simpleAdminMysqlSchema } from '../../../support/import/simple-admin-schema.ts';

const { db, connection, deps } = await openImports();
const hasMariaDb = await isMariaDbAtHand();

describe.if(hasMariaDb)('CS2-SimpleAdmin on MariaDB', () => {
  for (const migration of [5, 8, 10, 12, 15] as const) {
    test(`reads the tables as migration ${migration} leaves them, and changes nothing when repeated`, async () => {
      const source = await createTestMariaDb();
      await source.run(simpleAdminMysqlSchema({ migration }));
      await source.run("insert into sa_servers (hostname, address) values ('Mirage 24/7', '10.0.0.1:27015')");
      await source.run(
        ...insertion('sa_admins', [{ player_name: 'Basia', player_steamid: '76561198900000002' }]),
      );
      await source.run(
        "insert into sa_unbans (ban_id, admin_id, reason, date) values (2, 1, 'Appeal accepted', '2026-11-21 11:40:00')",
      );
      await source.run(
        "insert into sa_unmutes (mute_id, admin_id, reason, date) values (4, 0, 'Enough', '2026-11-21 11:41:00')",
      );
      await source.run(
        ...insertion('sa_bans', [
          { ...aRow({ server_id: 1 }), unban_id: null },
          { ...aRow({ status: 'UNBANNED' }), unban_id: 1 },
          {
            ...aRow({ status: 'EXPIRED', created: '2026-11-01 10:00:00', ends: '2026-11-01 11:00:00' }),
            unban_id: null,
          },
          { ...aRow({ duration: 0, ends: '2026-11-21 11:30:00' }), unban_id: null },
        ]),
      );
      await source.run(
        ...insertion(
          'sa_mutes',
          ['GAG', 'MUTE', 'SILENCE', ''].map((type, index) => ({
            ...aRow({ status: index === 3 ? 'UNMUTED' : 'ACTIVE' }),
            type,
            unmute_id: index === 3 ? 1 : null,
          })),
        ),
      );
      const hasWarns = migration >= 10;
      if (hasWarns) await source.run(...insertion('sa_warns', [aRow(), aRow({ status: 'EXPIRED' })]));

      const expected = hasWarns ? 10 : 8;
      expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
        read: expected,
        added: expected,
        setAside: 0,
        warnings: 0,
        serversAdded: ['Mirage 24/7'],
      });
      const stored = await storedPenalties(db);
      expect(
        stored.map(
          ({ sourceTable, sourceId, type, status }) => `${sourceTable} ${sourceId} ${type} ${status}`,
        ),
      ).toEqual([
        'sa_bans 1 ban ACTIVE',
        'sa_bans 2 ban UNBANNED',
        'sa_bans 3 ban EXPIRED',
        'sa_bans 4 ban ACTIVE',
        'sa_mutes 1 gag ACTIVE',
        'sa_mutes 2 mute ACTIVE',
        'sa_mutes 3 silence ACTIVE',
        'sa_mutes 4 mute UNBANNED',
        ...(hasWarns ? ['sa_warns 1 warn ACTIVE', 'sa_warns 2 warn EXPIRED'] : []),
      ]);
      const [server] = await db.select().from(servers);
      expect(server).toMatchObject({ slug: 'mirage-24-7', address: '10.0.0.1:27015', isHidden: true });
      expect(stored[0]).toEqual({
        type: 'ban',
        status: 'ACTIVE',
        playerName: 'Rzeźnik',
        playerSteamId: PLAYER as never,
        adminName: 'Ala',
        adminSteamId: ADMIN as never,
        reason: 'Wallhack',
        durationMinutes: 60,
        serverId: server?.id ?? 0,
        createdAt: new Date('2026-11-21T11:30:00Z'),
        endsAt: new Date('2026-11-21T12:30:00Z'),
        liftedAt: null,
        liftedByName: null,
        liftedBySteamId: null,
        liftReason: null,
        source: 'simpleadmin',
        sourceTable: 'sa_bans',
        sourceId: '1',
        goneAt: null,
      });
      expect(stored[1]).toMatchObject({
        liftedAt: new Date('2026-11-21T11:40:00Z'),
        liftedByName: 'Basia',
        liftedBySteamId: '76561198900000002',
        liftReason: 'Appeal accepted',
      });
      expect(stored[3]).toMatchObject({ durationMinutes: 0, endsAt: null });
      expect(stored[7]).toMatchObject({
        liftedByName: 'Console',
        liftedBySteamId: '0',
        liftReason: 'Enough',
      });
      expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
        read: expected,
        added: 0,
        changed: 0,
        unchanged: expected,
        gone: 0,
        serversAdded: [],
      });
      expect(await storedPenalties(db)).toEqual(stored);
    });
  }

  test('wall clocks are read in the zone of the plugin, moments of lifting in the clock of the database', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 15 }));
    await source.run("insert into sa_unbans (ban_id, date) values (1, '2026-07-02 11:00:00')");
    await source.run(
      ...insertion('sa_bans', [
        {
          ...aRow({ created: '2026-07-01 12:00:00', ends: '2026-07-01 13:00:00', status: 'UNBANNED' }),
          unban_id: 1,
        },
        // Across the end of summer time a week by the wall clock is an hour longer: that is not two clocks.
        {
          ...aRow({ duration: 10_080, created: '2026-10-20 12:00:00', ends: '2026-10-27 12:00:00' }),
          unban_id: null,
        },
      ]),
    );
    const summary = await importSimpleAdmin(deps, { url: source.url, timezone: 'Europe/Warsaw' });
    expect(summary.warnings).toBe(0);
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({
      createdAt: new Date('2026-07-01T10:00:00Z'),
      endsAt: new Date('2026-07-01T11:00:00Z'),
      liftedAt: new Date('2026-07-02T11:00:00Z'),
    });
    expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({
      createdAt: new Date('2026-10-20T10:00:00Z'),
      endsAt: new Date('2026-10-27T11:00:00Z'),
    });
  });

  test('a row that is gone at the source is marked and kept, and unmarked when it is back', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 12 }));
    await source.run(...insertion('sa_bans', [aRow(), aRow()]));
    await source.run(...insertion('sa_mutes', [{ ...aRow(), type: 'GAG' }]));
    await importSimpleAdmin(deps, { url: source.url });
    await source.run(
      'create table kept as select * from sa_bans where id = 1; delete from sa_bans where id = 1',
    );
    expect(await importSimpleAdmin(deps, { url: source.url, isDryRun: true })).toMatchObject({
      gone: 1,
      unchanged: 2,
    });
    expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
      gone: 1,
      changed: 0,
      unchanged: 2,
    });
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({
      goneAt: new Date('2026-11-21T12:00:00Z'),
      status: 'ACTIVE',
    });
    expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
      gone: 0,
      changed: 0,
      unchanged: 2,
    });
    await source.run('insert into sa_bans select * from kept');
    expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
      gone: 0,
      changed: 1,
      unchanged: 2,
    });
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ goneAt: null });
    expect(await tallyDifferences(connection)).toEqual([]);
  });

  test('servers are matched by address, several ids of the source may mean one of ours', async () => {
    const ours = await insertServer(db, { address: 'Play.Example.org:27015' });
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 12 }));
    await source.run(
      ...insertion('sa_servers', [
        { hostname: 'Ours', address: 'play.example.org:27015' },
        { hostname: 'Moved', address: '10.0.0.9:27016' },
        { hostname: 'Moved', address: '10.0.0.9:27017' },
        { hostname: 'Nonsense', address: 'somewhere else' },
      ]),
    );
    await source.run(
      ...insertion(
        'sa_bans',
        [1, 2, 3, 4, 99].map((id) => aRow({ server_id: id })),
      ),
    );
    const summary = await importSimpleAdmin(deps, { url: source.url });
    expect(summary).toMatchObject({ added: 5, warnings: 2, serversAdded: ['Moved', 'Moved'] });
    expect(summary.warnedRows.map(({ table, id }) => [table, id])).toEqual([
      ['sa_servers', '4'],
      ['sa_bans', '5'],
    ]);
    const moved = await db.select().from(servers).where(eq(servers.name, 'Moved'));
    expect(moved.map((server) => [server.slug, server.isHidden])).toEqual([
      ['moved', true],
      ['moved-2', true],
    ]);
    const stored = await storedPenalties(db);
    expect(stored.map((row) => row.serverId)).toEqual([
      ours.id,
      moved[0]?.id ?? -1,
      moved[1]?.id ?? -1,
      0,
      0,
    ]);

    // An operator maps id 3 to the server of id 2, which is kept from then on.
    await db.update(serverAliases).set({ serverId: ours.id }).where(eq(serverAliases.sourceServerId, '3'));
    expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
      changed: 1,
      serversAdded: [],
    });
    expect((await storedPenalty(db, 'sa_bans', 3))?.serverId).toBe(ours.id);
  });

  test('zero dates, old Latin-1 tables and double encoding as MariaDB tells them', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 12 }));
    await source.run("set session sql_mode = ''; alter table sa_mutes convert to character set latin1");
    await source.run(
      ...insertion('sa_bans', [
        { ...aRow({ created: '0000-00-00 00:00:00', ends: '0000-00-00 00:00:00' }) },
        { ...aRow({ ends: '0000-00-00 00:00:00', player_name: 'ZaÅ¼Ã³Å‚Ä‡' }) },
        { ...aRow({ duration: 0, ends: '0000-00-00 00:00:00', player_steamid: '' }) },
      ]),
    );
    await source.run(...insertion('sa_mutes', [{ ...aRow({ player_name: 'Café Müller' }), type: 'GAG' }]));
    expect(await importSimpleAdmin(deps, { url: source.url })).toMatchObject({
      added: 3,
      setAside: 1,
      warnings: 1,
    });
    expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({
      endsAt: new Date('2026-11-21T12:30:00Z'),
      playerName: 'Zażółć',
    });
    expect(await storedPenalty(db, 'sa_bans', 3)).toMatchObject({ endsAt: null, playerSteamId: '0' });
    expect(await storedPenalty(db, 'sa_mutes', 1)).toMatchObject({ playerName: 'Café Müller' });
  });

  test('texts in binary columns are read as UTF-8', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 12 }));
    await source.run('alter table sa_bans modify player_name varbinary(255), modify reason blob');
    await source.run(...insertion('sa_bans', [aRow({ player_name: 'Żółw', reason: 'Zażółć 😀' })]));
    await importSimpleAdmin(deps, { url: source.url });
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ playerName: 'Żółw', reason: 'Zażółć 😀' });
  });

  test('the source is only read', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 15 }));
    await source.run(...insertion('sa_bans', [aRow()]));
    const { openMysqlSource } = await import('../../../../src/import/source/mysql.ts');
    const opened = await openMysqlSource(source.url);
    await expect(opened.select('delete from sa_bans')).rejects.toThrow(/read.only/i);
    await opened.close();
  });

  test('a source that does not answer, and one of another kind, are refused in one line without the password', async () => {
    const source = await createTestMariaDb();
    await expect(importSimpleAdmin(deps, { url: source.url })).rejects.toThrow(InvalidInput);
    const away = importSimpleAdmin(deps, { url: 'mysql://root:secret@127.0.0.1:1/nowhere' });
    await expect(away).rejects.toThrow(Unavailable);
    expect(await away.catch((error: Error) => error.message)).not.toContain('secret');
  });
});
