import { afterAll, describe, expect, test } from 'bun:test';
import { openSourceDatabase } from '../../../../src/import/source/open-source.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../../support/import/mariadb.ts';
import { BAN, createMirrors, ENDED_EARLY, MUTE } from '../../../support/import/mirror.ts';
import { storedPenalties, storedPenalty } from '../../../support/import/penalty-rows.ts';
import { simpleAdminMysqlSchema } from '../../../support/import/simple-admin-schema.ts';
import { waitFor } from '../../../support/wait.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const { lines, startMirror, openMirror, nextRound, warnings, sweeps } = createMirrors(database);
const TABLES = ['sa_bans', 'sa_mutes', 'sa_warns'];

describe.if(await isMariaDbAtHand())('the mirror of MariaDB', () => {
  test('finds changed bans by updated_at, whatever their status, and the rest by looking up active ones', async () => {
    const source = await createTestMariaDb(
      simpleAdminMysqlSchema({ migration: 12 }),
      `insert into sa_bans ${BAN.replace('12:30:00', '11:31:00')}`,
      ...[2, 3].map(() => `insert into sa_bans ${BAN}`),
      `insert into sa_mutes ${MUTE}`,
    );
    const { mirror } = await openMirror(source.url);
    // Ids far above the first ones, so that rereading the latest ids does not reach those.
    await source.run(`insert into sa_bans (id, ${BAN.slice(1).replace('values (', 'values (5000, ')}`);
    await nextRound(mirror);
    await source.run(
      "update sa_bans set reason = 'Edited' where id = 1",
      "insert into sa_unbans (ban_id, reason) values (2, 'Appeal')",
      "update sa_bans set status = 'UNBANNED', unban_id = 1 where id = 2",
      "update sa_mutes set status = 'UNMUTED'",
    );
    await nextRound(mirror);
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ reason: 'Edited', status: 'EXPIRED' });
    expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({ status: 'UNBANNED', liftReason: 'Appeal' });
    expect(await storedPenalty(db, 'sa_bans', 5000)).toMatchObject({ status: 'ACTIVE' });
    expect(await storedPenalty(db, 'sa_mutes', 1)).toMatchObject({ status: 'UNBANNED' });
    expect(sweeps()).toHaveLength(1);
  });

  test('a penalty that is made active again is found whether or not a column shows the change', async () => {
    const source = await createTestMariaDb(simpleAdminMysqlSchema({ migration: 15 }), ...ENDED_EARLY);
    const { mirror } = await openMirror(source.url);
    await source.run(...TABLES.map((table) => `update ${table} set status = 'ACTIVE' where id = 1`));
    await nextRound(mirror);
    const active = { status: 'ACTIVE' };
    for (const table of TABLES) expect(await storedPenalty(db, table, 1)).toMatchObject(active);

    // The service's clock, which was ahead, had ended it; nothing changed in the source.
    await connection`update penalties set status = 'EXPIRED' where source_id = '1'`;
    await nextRound(mirror);
    for (const table of TABLES) expect(await storedPenalty(db, table, 1)).toMatchObject(active);
    expect(sweeps()).toHaveLength(1);
  });

  test('a corrected time zone is a silent change of times, and other changes are announced', async () => {
    const permanent = BAN.replace('60,', '0,');
    const source = await createTestMariaDb(
      simpleAdminMysqlSchema({ migration: 12 }),
      ...[1, 2].map(() => `insert into sa_bans ${permanent}`),
    );
    const { mirror: before } = await openMirror(source.url);
    await before.stop();
    await connection`truncate penalty_events`;
    const { mirror } = await openMirror(source.url, { timezone: 'Europe/Warsaw' });
    expect(sweeps()).toHaveLength(2);
    const listEvents = async () =>
      (
        await connection`select type, is_silent, reason, created_at from penalty_events order by penalty_id, id`
      ).map((row) => [row.type, row.is_silent, row.reason, row.created_at].join(' '));
    const corrected = '2026-11-21 10:30:00+00';
    const change = `penalty.changed true Aim ${corrected}`;
    expect(await listEvents()).toEqual([change, change]);

    await mirror.stop();
    await source.run("update sa_bans set reason = 'Edited' where id = 1");
    const { mirror: again } = await openMirror(source.url);
    await again.stop();
    expect((await listEvents()).filter((event) => !event.includes(corrected))).toEqual([
      'penalty.changed false Edited 2026-11-21 11:30:00+00',
      'penalty.changed true Aim 2026-11-21 11:30:00+00',
    ]);
    await source.run("update sa_bans set created = '2026-11-21 11:45:00' where id = 2");
    await nextRound((await openMirror(source.url)).mirror);
    expect(await listEvents()).toContain('penalty.changed false Aim 2026-11-21 11:45:00+00');
  });

  test('a creation time that MySQL rewrites at each change does not identify a ban', async () => {
    const source = await createTestMariaDb(
      simpleAdminMysqlSchema({ migration: 12 }),
      'alter table sa_bans modify created timestamp not null default current_timestamp on update current_timestamp',
      `insert into sa_bans ${BAN}`,
    );
    const { mirror } = await openMirror(source.url);
    await source.run("update sa_bans set admin_name = 'Basia'");
    await nextRound(mirror);
    expect(await storedPenalties(db)).toMatchObject([{ sourceId: '1', adminName: 'Basia', goneAt: null }]);
    expect(await connection`select from penalties`).toHaveLength(1);
  });

  test('a table that the account can no longer read is missing', async () => {
    const source = await createTestMariaDb(
      simpleAdminMysqlSchema({ migration: 15 }),
      ...TABLES.map((table) => `insert into ${table} ${table === 'sa_mutes' ? MUTE : BAN}`),
    );
    const account = new URL(source.url);
    account.username = `reader_${crypto.randomUUID().slice(0, 8)}`;
    account.password = '';
    const [name, user] = [account.pathname.slice(1), `'${account.username}'@'%'`];
    const tables = [...TABLES, 'sa_unbans', 'sa_unmutes', 'sa_servers'];
    await source.run(
      `create user ${user}`,
      ...tables.map((table) => `grant select, insert on ${name}.${table} to ${user}`),
    );
    try {
      const { mirror } = await openMirror(account.href);
      expect(mirror.health()).toMatchObject({ isUp: true, missing: undefined });
      await source.run(`revoke select on ${name}.sa_bans from ${user}`, `insert into sa_mutes ${MUTE}`);
      await nextRound(mirror);
      expect(mirror.health()).toMatchObject({ isUp: false, missing: ['sa_bans'] });
      expect(await storedPenalty(db, 'sa_mutes', 2)).toMatchObject({ status: 'ACTIVE' });
      await source.run(`grant select on ${name}.sa_bans to ${user}`);
      await nextRound(mirror);
      expect(mirror.health()).toMatchObject({ isUp: true, missing: undefined });
    } finally {
      await source.run(`drop user ${user}`);
    }
  });

  test('a server that goes away in the middle is one log line, and the mirror recovers', async () => {
    const source = await createTestMariaDb(simpleAdminMysqlSchema({ migration: 15 }));
    const proxy = await startDatabaseProxy(source.url);
    const { mirror } = await openMirror(proxy.url);
    proxy.cut();
    await waitFor(() => mirror.health().failures >= 3);
    await source.run(`insert into sa_bans ${BAN}`);
    proxy.restore();
    await waitFor(async () => (await storedPenalties(db)).length === 1);
    expect(warnings()).toEqual(['mirroring CS2-SimpleAdmin failed: retrying']);
    await mirror.stop();
  });
});

describe.if(await isMariaDbAtHand())('accounts of MariaDB', () => {
  const user = `test_${crypto.randomUUID().slice(0, 8)}`;

  /** The address of a new database for a new account. */
  async function createAccount(identified: string): Promise<string> {
    const { url, run } = await createTestMariaDb();
    const rights = `grant all on ${new URL(url).pathname.slice(1)}.* to ${user}@'%'`;
    await run(`create or replace user ${user}@'%' ${identified}`, rights);
    afterAll(() => run(`drop user if exists ${user}@'%'`));
    return Object.assign(new URL(url), { username: user, password: 'secret' }).href;
  }

  test('names the plugin of an account that cannot sign in, and one that can', async () => {
    const { run } = await createTestMariaDb();
    await run("install plugin if not exists ed25519 soname 'auth_ed25519'");
    const account = await createAccount("identified via ed25519 using password('secret')");
    await expect(openSourceDatabase(account)).rejects.toThrow(
      /: the account uses the plugin client_ed25519, which is not supported: give it mysql_native_password or caching_sha2_password$/,
    );
  });

  test('a mirror whose account may connect once says so in one line without a stack trace', async () => {
    const account = await createAccount("identified by 'secret' with max_user_connections 1");
    const other = await openSourceDatabase(account);
    const { mirror } = startMirror(account);
    await waitFor(() => mirror.health().failures > 0);
    await other.close();
    const [line] = lines.filter(({ level }) => level >= 40);
    expect(line).toMatchObject({
      msg: 'mirroring CS2-SimpleAdmin failed: retrying',
      reason: expect.stringContaining("exceeded the 'max_user_connections' resource (current value: 1)"),
    });
    expect(line).not.toHaveProperty('err');
  });
});
