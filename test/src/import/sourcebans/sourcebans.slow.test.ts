import { describe, expect, test } from 'bun:test';
import { servers } from '../../../../src/db/schema/servers.ts';
import { InvalidInput } from '../../../../src/domain/errors.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { importSourcebans } from '../../../support/import/importers.ts';
import { createTestMariaDb, isMariaDbAtHand, type MariaDbDatabase } from '../../../support/import/mariadb.ts';
import { openImports, storedPenalties, storedPenalty } from '../../../support/import/penalty-rows.ts';
import { sourcebansSchema } from '../../../support/import/sourcebans-schema.ts';
import { insertInto } from '../../../support/import/systems.ts';

const { db, connection, deps } = await openImports();
const NOW = Date.parse('2026-11-21T12:00:00Z') / 1000;
type Values = Record<string, string | number | null>;

async function insert(source: MariaDbDatabase, table: string, ...rows: Values[]): Promise<void> {
  for (const row of rows) {
    const values = {
      authid: 'STEAM_0:1:19867136',
      name: 'Rzeźnik',
      created: NOW - 1800,
      length: 3600,
      reason: 'Aim',
      ...row,
    };
    const ends = Number(values.created) + Number(values.length);
    await source.run(insertInto(table, { ends, ...values }));
  }
}

const seconds = (at: number) => new Date(at * 1000);

describe.if(await isMariaDbAtHand())('SourceBans++ on MariaDB', () => {
  for (const version of ['1.4', '1.5', '1.8'] as const) {
    test(`reads the tables of version ${version}, and changes nothing when repeated`, async () => {
      const ours = await insertServer(db, { address: '10.0.0.1:27015' });
      const source = await createTestMariaDb();
      await source.run(sourcebansSchema('sb_', version));
      await source.run("insert into sb_admins (user, authid) values ('Basia', 'STEAM_0:0:5')");
      await source.run("insert into sb_servers (ip, port) values ('10.0.0.1', 27015), ('10.0.0.2', 27016)");
      const ureason = version === '1.4' ? {} : { ureason: 'Appeal accepted' };
      await insert(
        source,
        'sb_bans',
        { aid: 1, sid: 1 },
        { aid: 0, sid: 0, length: 0, ends: 0 },
        { RemoveType: 'U', RemovedBy: 1, RemovedOn: NOW - 60, ...ureason, sid: 2 },
        { RemoveType: 'D', RemovedBy: 0, RemovedOn: NOW - 60, sid: 99 },
        { RemoveType: 'E', created: NOW - 9000 },
        { created: NOW - 9000 },
        { authid: '', type: 1, ip: '192.0.2.1', length: 90 },
      );
      const comms = version === '1.4' ? 0 : 3;
      if (comms > 0)
        await insert(
          source,
          'sb_comms',
          { type: 1 },
          { type: 2, length: 60 },
          { type: 2, length: -1, ends: NOW - 1860 },
        );
      const first = await importSourcebans(deps, { url: source.url });
      expect(first).toMatchObject({
        read: 7 + comms,
        added: 7 + comms,
        setAside: 0,
        warnings: 1,
        serversAdded: ['10.0.0.2:27016'],
      });
      const stored = await storedPenalties(db);
      expect(
        stored.map(
          (row) => `${row.sourceTable} ${row.sourceId} ${row.type} ${row.status} ${row.durationMinutes}`,
        ),
      ).toEqual(
        [
          'bans 1 ban ACTIVE 60',
          'bans 2 ban ACTIVE 0',
          'bans 3 ban UNBANNED 60',
          'bans 4 ban UNBANNED 60',
          'bans 5 ban EXPIRED 60',
          'bans 6 ban EXPIRED 60',
          'bans 7 ban EXPIRED 2',
          ...(comms > 0 ? ['comms 2 gag EXPIRED 1', 'comms 3 gag ACTIVE 120', 'comms 1 mute ACTIVE 60'] : []),
        ].sort(
          (a, b) =>
            stored.findIndex((row) => a.startsWith(`${row.sourceTable} ${row.sourceId} `)) -
            stored.findIndex((row) => b.startsWith(`${row.sourceTable} ${row.sourceId} `)),
        ),
      );
      expect(stored[0]).toMatchObject({
        playerSteamId: '76561198000000001',
        adminName: 'Basia',
        adminSteamId: '76561197960265738',
        serverId: ours.id,
        createdAt: seconds(NOW - 1800),
        endsAt: seconds(NOW + 1800),
      });
      expect(stored[1]).toMatchObject({ adminName: 'CONSOLE', adminSteamId: '0', serverId: 0, endsAt: null });
      expect(stored[2]).toMatchObject({
        liftedAt: seconds(NOW - 60),
        liftedByName: 'Basia',
        liftedBySteamId: '76561197960265738',
        liftReason: version === '1.4' ? null : 'Appeal accepted',
      });
      expect(stored[3]).toMatchObject({ liftedByName: 'CONSOLE', liftedBySteamId: '0', serverId: 0 });
      expect(stored[6]).toMatchObject({ playerSteamId: '0' });
      if (comms > 0)
        expect((await storedPenalty(db, 'comms', 3))?.endsAt).toEqual(seconds(NOW - 1800 + 7200));
      expect(await db.select().from(servers)).toHaveLength(2);
      expect(await importSourcebans(deps, { url: source.url })).toMatchObject({
        added: 0,
        changed: 0,
        gone: 0,
        unchanged: 7 + comms,
        serversAdded: [],
      });
      expect(await storedPenalties(db)).toEqual(stored);
    });
  }

  test('a mute and a gag of one player, moment and length are one silence, until one half is lifted', async () => {
    const source = await createTestMariaDb();
    await source.run(sourcebansSchema('web_', '1.8'));
    await insert(
      source,
      'web_comms',
      { type: 1 },
      { type: 2, authid: 'STEAM_0:1:77' },
      { type: 2 },
      // One pair differs in its start, the other in its length.
      { type: 2, created: NOW - 1799 },
      { type: 2, length: 7200 },
      // Two silences of one second.
      { type: 1, authid: 'STEAM_0:0:9' },
      { type: 1, authid: 'STEAM_0:0:9' },
      { type: 2, authid: 'STEAM_0:0:9' },
      { type: 2, authid: 'STEAM_0:0:9' },
    );
    const types = async () => {
      const rows = await storedPenalties(db);
      return rows
        .sort((a, b) => Number(a.sourceId) - Number(b.sourceId))
        .map((row) => `${row.sourceId} ${row.type} ${row.status}`);
    };
    const url = source.url;
    expect(await importSourcebans(deps, { url, prefix: 'web' })).toMatchObject({ read: 9, added: 6 });
    const merged = [
      '1 silence ACTIVE',
      '2 gag ACTIVE',
      '4 gag ACTIVE',
      '5 gag ACTIVE',
      '6 silence ACTIVE',
      '7 silence ACTIVE',
    ];
    expect(await types()).toEqual(merged);
    expect(await importSourcebans(deps, { url, prefix: 'web_' })).toMatchObject({
      added: 0,
      changed: 0,
      gone: 0,
    });

    await source.run(
      `update web_comms set RemoveType = 'U', RemovedBy = 0, RemovedOn = ${NOW} where bid = 1`,
    );
    expect(await importSourcebans(deps, { url, prefix: 'web' })).toMatchObject({
      added: 1,
      changed: 1,
      gone: 0,
    });
    expect((await types()).slice(0, 3)).toEqual(['1 mute UNBANNED', '2 gag ACTIVE', '3 gag ACTIVE']);

    // Both lifted within seconds by the same admin: one silence again, and no half left over.
    await source.run(
      `update web_comms set RemoveType = 'U', RemovedBy = 0, RemovedOn = ${NOW + 2} where bid = 3`,
    );
    expect(await importSourcebans(deps, { url, prefix: 'web' })).toMatchObject({
      added: 0,
      changed: 1,
      gone: 0,
    });
    expect(await types()).toEqual(['1 silence UNBANNED', ...merged.slice(1)]);

    // The second half of one of two silences: the other gag of that second belongs to the first mute.
    await source.run(
      `update web_comms set RemoveType = 'U', RemovedBy = 0, RemovedOn = ${NOW} where bid = 8`,
    );
    expect(await importSourcebans(deps, { url, prefix: 'web' })).toMatchObject({
      added: 1,
      changed: 1,
      gone: 0,
    });
    expect((await types()).slice(4)).toEqual(['6 silence ACTIVE', '7 mute ACTIVE', '8 gag UNBANNED']);
  });

  test('a dry run counts halves that become one silence as the import does', async () => {
    const source = await createTestMariaDb();
    await source.run(sourcebansSchema('sb_', '1.8'));
    const lifted = { RemoveType: 'U', RemovedBy: 0, RemovedOn: NOW };
    await insert(source, 'sb_comms', { type: 1, ...lifted }, { type: 2 });
    await importSourcebans(deps, { url: source.url });
    await source.run(
      `update sb_comms set RemoveType = 'U', RemovedBy = 0, RemovedOn = ${NOW + 2} where bid = 2`,
    );
    const announced = await importSourcebans(deps, { url: source.url, isDryRun: true });
    const done = await importSourcebans(deps, { url: source.url });
    expect(done).toMatchObject({ added: 0, changed: 1, gone: 0 });
    expect(announced).toEqual({ ...done, isDryRun: true });
  });

  test.each(['1.5', '1.8'] as const)(
    'halves of silences find each other across pages in version %s',
    async (version) => {
      const source = await createTestMariaDb();
      await source.run(sourcebansSchema('sb_', version));
      await source.run(`insert into sb_comms (authid, created, ends, length, reason, type)
      select concat('STEAM_0:', mod(mod(seq, 12001), 2), ':', 1 + floor(mod(seq, 12001) / 2)), ${NOW}, ${NOW} + 60, 60, '', 1 + floor(seq / 12001) from seq_0_to_24001`);
      const summary = await importSourcebans(deps, { url: source.url });
      expect(summary).toMatchObject({ read: 24_002, setAside: 0 });
      const [counts] =
        await connection`select count(*) filter (where type = 'silence') as silences, count(*) as n from penalties`;
      expect(counts).toEqual({ silences: '12001', n: '12001' });
    },
  );

  test('rows that cannot be are set aside, the rest is kept', async () => {
    const source = await createTestMariaDb();
    await source.run(sourcebansSchema('sb_', '1.8'));
    await insert(
      source,
      'sb_bans',
      { length: -5 },
      { authid: 'STEAM_ID_PENDING' },
      { authid: 'BOT' },
      { created: 0 },
      { RemoveType: 'X' },
      {},
    );
    await insert(source, 'sb_comms', { type: 4 }, { type: 1, length: -2 }, { type: 3 });
    const summary = await importSourcebans(deps, { url: source.url });
    expect(summary).toMatchObject({ read: 9, added: 2, setAside: 7 });
    expect(await storedPenalty(db, 'comms', 3)).toMatchObject({ type: 'silence', status: 'ACTIVE' });
    expect(summary.rowsSetAside.map(({ table, id, reason }) => `${table} ${id} ${reason}`)).toEqual([
      'bans 1 the duration -5 is negative',
      'bans 2 the player\'s SteamID "STEAM_ID_PENDING" is not a SteamID',
      'bans 3 the player\'s SteamID "BOT" is not a SteamID',
      'bans 4 it has no date of creation',
      'bans 5 the RemoveType "X" is not known',
      'comms 1 the type "4" is not known: 1 mute, 2 gag, 3 silence',
      'comms 2 the duration -2 is negative',
    ]);
  });

  test('both rows of a silence that cannot be imported are set aside', async () => {
    const source = await createTestMariaDb();
    await source.run(sourcebansSchema('sb_', '1.8'));
    await insert(source, 'sb_comms', { type: 1, authid: 'BOT' }, { type: 2, authid: 'BOT' });
    const summary = await importSourcebans(deps, { url: source.url });
    expect(summary).toMatchObject({ read: 2, added: 0, setAside: 2 });
    expect(summary.rowsSetAside.map(({ id }) => id).sort()).toEqual(['1', '2']);
  });

  test('another prefix, or an invalid one, is refused', async () => {
    const source = await createTestMariaDb();
    await expect(importSourcebans(deps, { url: source.url, prefix: 'other' })).rejects.toThrow(
      'no tables of SourceBans++: their names would begin with other_',
    );
    await expect(importSourcebans(deps, { url: source.url, prefix: 'x; drop' })).rejects.toThrow(
      InvalidInput,
    );
  });
});
