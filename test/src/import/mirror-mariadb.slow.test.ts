import { describe, expect, test } from 'bun:test';
import { sourcebansSystem } from '../../../src/import/sourcebans/sourcebans.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../support/import/mariadb.ts';
import { BAN, createMirrors, ENDED_EARLY, MUTE } from '../../support/import/mirror.ts';
import { storedPenalties, storedPenalty } from '../../support/import/penalty-rows.ts';
import { simpleAdminMysqlSchema } from '../../support/import/simple-admin-schema.ts';
import { sourcebansSchema } from '../../support/import/sourcebans-schema.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const { startMirror, nextRound, warnings, sweeps } = createMirrors(database);

describe.if(await isMariaDbAtHand())('the mirror of MariaDB', () => {
  test('finds changed bans by updated_at, whatever their status, and the rest by looking up active ones', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 12 }));
    await source.run(`insert into sa_bans ${BAN.replace('12:30:00', '11:31:00')}`);
    for (let id = 2; id <= 3; id++) await source.run(`insert into sa_bans ${BAN}`);
    await source.run(`insert into sa_mutes ${MUTE}`);
    const { mirror } = startMirror(source.url);
    await waitFor(() => mirror.health().lastRoundAt);
    // Ids far above the first ones, so that rereading the latest ids does not reach those.
    await source.run(`insert into sa_bans (id, ${BAN.slice(1).replace('values (', 'values (5000, ')}`);
    await nextRound(mirror);
    await source.run("update sa_bans set reason = 'Edited' where id = 1");
    await source.run("insert into sa_unbans (ban_id, reason) values (2, 'Appeal')");
    await source.run("update sa_bans set status = 'UNBANNED', unban_id = 1 where id = 2");
    await source.run("update sa_mutes set status = 'UNMUTED'");
    await nextRound(mirror);
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ reason: 'Edited', status: 'EXPIRED' });
    expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({ status: 'UNBANNED', liftReason: 'Appeal' });
    expect(await storedPenalty(db, 'sa_bans', 5000)).toMatchObject({ status: 'ACTIVE' });
    expect(await storedPenalty(db, 'sa_mutes', 1)).toMatchObject({ status: 'UNBANNED' });
    expect(sweeps()).toHaveLength(1);
  });

  test('a penalty that is made active again is found whether or not a column shows the change', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 15 }));
    for (const statement of ENDED_EARLY) await source.run(statement);
    const { mirror } = startMirror(source.url);
    await waitFor(() => mirror.health().lastRoundAt);
    for (const table of ['sa_bans', 'sa_mutes', 'sa_warns'])
      await source.run(`update ${table} set status = 'ACTIVE' where id = 1`);
    await nextRound(mirror);
    for (const table of ['sa_bans', 'sa_mutes', 'sa_warns'])
      expect(await storedPenalty(db, table, 1)).toMatchObject({ status: 'ACTIVE' });

    // The service's clock, which was ahead, had ended it; nothing changed in the source.
    await connection`update penalties set status = 'EXPIRED' where source_id = '1'`;
    await nextRound(mirror);
    for (const table of ['sa_bans', 'sa_mutes', 'sa_warns'])
      expect(await storedPenalty(db, table, 1)).toMatchObject({ status: 'ACTIVE' });
    expect(sweeps()).toHaveLength(1);
  });

  test.each(['1.5', '1.8'] as const)('follows the tables of SourceBans++ %s', async (version) => {
    const source = await createTestMariaDb();
    await source.run(sourcebansSchema('sb_', version));
    const now = Math.floor(Date.now() / 1000);
    const values = `'STEAM_0:1:1', ${now - 60}, 3600, ${now + 3540}, ''`;
    await source.run(`insert into sb_comms (type, authid, created, length, ends, reason) values (1, ${values}), (2, ${values});
      insert into sb_bans (authid, created, length, ends, reason) values (${values})`);
    const { mirror } = startMirror(source.url, { system: sourcebansSystem({}), source: 'sourcebans' });
    await waitFor(() => mirror.health().lastRoundAt);
    expect(await storedPenalty(db, 'comms', 1)).toMatchObject({ type: 'silence', status: 'ACTIVE' });
    const lift = `RemoveType = 'U', RemovedBy = 0, RemovedOn = ${now}`;
    await source.run(`update sb_bans set ${lift}; update sb_comms set ${lift} where bid = 2`);
    await nextRound(mirror);
    expect(await storedPenalty(db, 'bans', 1)).toMatchObject({ status: 'UNBANNED', liftedByName: 'CONSOLE' });
    expect(await storedPenalty(db, 'comms', 1)).toMatchObject({ type: 'mute', status: 'ACTIVE' });
    expect(await storedPenalty(db, 'comms', 2)).toMatchObject({ type: 'gag', status: 'UNBANNED' });
    await source.run(`update sb_bans set RemoveType = null, RemovedBy = null, RemovedOn = null`);
    await nextRound(mirror);
    expect(await storedPenalty(db, 'bans', 1)).toMatchObject({ status: 'ACTIVE' });
    expect(sweeps()).toHaveLength(1);
    expect(warnings()).toEqual([]);
  });

  test('a server that goes away in the middle is one log line, and the mirror recovers', async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 15 }));
    const proxy = await startDatabaseProxy(source.url);
    const { mirror } = startMirror(proxy.url);
    await waitFor(() => mirror.health().isUp);
    proxy.cut();
    await waitFor(() => mirror.health().failures >= 3);
    await source.run(`insert into sa_bans ${BAN}`);
    proxy.restore();
    await waitFor(async () => (await storedPenalties(db)).length === 1);
    expect(warnings()).toEqual(['mirroring CS2-SimpleAdmin failed: retrying']);
    await mirror.stop();
    await proxy.stop();
  });
});
