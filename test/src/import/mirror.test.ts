import { describe, expect, test } from 'bun:test';
import { rename } from 'node:fs/promises';
import { openSession } from '../../../src/db/client.ts';
import { LOCKS } from '../../../src/db/locks.ts';
import { saveSetting } from '../../../src/queries/settings.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { importSimpleAdmin } from '../../support/import/importers.ts';
import { BAN, createMirrors, ENDED_EARLY, MUTE } from '../../support/import/mirror.ts';
import { storedPenalties, storedPenalty } from '../../support/import/penalty-rows.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const { db, url: databaseUrl, connection } = database;
const { clock, lines, startMirror, nextRound, warnings, sweeps, createFile } = createMirrors(database);

describe('the mirror of an SQLite file', () => {
  test('mirrors new, changed, lifted and expired penalties', async () => {
    const source = createFile();
    source.run(`insert into sa_bans ${BAN}`);
    source.run(`insert into sa_mutes ${MUTE}`);
    source.run(`insert into sa_mutes ${MUTE}`);
    const { mirror, metrics } = startMirror(source.url);
    await waitFor(async () => (await storedPenalties(db)).length === 3);

    source.run(`insert into sa_bans ${BAN}`);
    source.run("update sa_bans set reason = 'Wallhack' where id = 1");
    source.run(
      "insert into sa_unmutes (mute_id, admin_id, reason, date) values (1, 0, 'Sorry', '2026-11-21 11:50:00'), (2, 0, 'Panel', '2026-11-21 11:50:00')",
    );
    // The second as the panel css-bans does it.
    source.run("update sa_mutes set status = 'UNMUTED', unmute_id = case id when 1 then 1 end");
    source.run(`insert into sa_warns ${BAN}`);
    await nextRound(mirror);
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ reason: 'Wallhack', status: 'ACTIVE' });
    expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({ status: 'ACTIVE' });
    expect(await storedPenalty(db, 'sa_mutes', 1)).toMatchObject({ status: 'UNBANNED', liftReason: 'Sorry' });
    expect(await storedPenalty(db, 'sa_mutes', 2)).toMatchObject({ status: 'UNBANNED', liftReason: 'Panel' });
    expect(await storedPenalty(db, 'sa_warns', 1)).toMatchObject({ type: 'warn', status: 'ACTIVE' });

    source.run("update sa_warns set status = 'EXPIRED'");
    await nextRound(mirror);
    expect(await storedPenalty(db, 'sa_warns', 1)).toMatchObject({ status: 'EXPIRED' });
    expect(sweeps()).toHaveLength(1);
    expect(warnings()).toEqual([]);
    expect((await metrics.render()).text).toContain('community_api_mirror_up{system="simpleadmin"} 1');
    expect((await metrics.render()).text).toContain(
      'community_api_mirror_rows_total{system="simpleadmin",change="added"} 5',
    );
  });

  test('a saved state that cannot be read is begun anew, with a warning', async () => {
    const source = createFile();
    source.run(`insert into sa_bans ${BAN}`);
    const { mirror } = startMirror(source.url);
    await waitFor(() => mirror.health().lastRoundAt);
    for (const state of ['{', 'null', '{"source":"x","sweptAt":"x","sourceSeconds":1,"tables":{}}']) {
      const [before, sweepsBefore] = [warnings().length, sweeps().length];
      await saveSetting(db, 'mirror.simpleadmin', state);
      await nextRound(mirror);
      expect(warnings().slice(before)).toEqual([
        'the saved state of the mirror of CS2-SimpleAdmin cannot be read: all rows are read again',
      ]);
      expect(sweeps()).toHaveLength(sweepsBefore + 1);
    }
  });

  test('the metrics say when a round last succeeded', async () => {
    const { mirror, metrics } = startMirror(createFile().url);
    const lastRoundAt = await waitFor(() => mirror.health().lastRoundAt);
    expect((await metrics.render()).text).toContain(
      `community_api_mirror_last_success_timestamp_seconds{system="simpleadmin"} ${lastRoundAt.getTime() / 1000}\n`,
    );
  });

  test('a full read each night catches what the rounds miss', async () => {
    const source = createFile();
    source.run(`insert into sa_bans ${BAN.replace('12:30:00', '11:31:00')}`);
    source.run("update sa_bans set status = 'EXPIRED'");
    source.run(`insert into sa_bans ${BAN}`);
    // Beyond the rows that each round reads again: the last ids, and those active in the source or here.
    source.run(
      'insert into sa_bans select 700, player_ip, unban_id, player_name, player_steamid, admin_steamid, admin_name, reason, duration, ends, created, server_id, status from sa_bans where id = 2',
    );
    const { mirror } = startMirror(source.url, { timezone: 'Europe/Warsaw' });
    await waitFor(async () => mirror.health().lastRoundAt);
    source.run("update sa_bans set reason = 'Edited long after' where id = 1");
    source.run('delete from sa_bans where id = 2');
    await nextRound(mirror);
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ reason: 'Aim', status: 'EXPIRED' });
    // Four in the morning in Warsaw is three in Greenwich.
    clock.now = new Date('2026-11-22T02:59:00Z');
    await nextRound(mirror);
    expect(sweeps()).toHaveLength(1);
    clock.now = new Date('2026-11-22T03:00:00Z');
    await nextRound(mirror);
    expect(sweeps()).toHaveLength(2);
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ reason: 'Edited long after' });
    expect((await storedPenalty(db, 'sa_bans', 2))?.goneAt).not.toBeNull();
  });

  test('a penalty that is made active again at the source is active here after a round', async () => {
    const source = createFile();
    for (const statement of ENDED_EARLY) source.run(statement);
    const { mirror } = startMirror(source.url);
    await waitFor(() => mirror.health().lastRoundAt);
    for (const table of ['sa_bans', 'sa_mutes', 'sa_warns']) {
      expect(await storedPenalty(db, table, 1)).toMatchObject({ status: 'EXPIRED' });
      source.run(`update ${table} set status = 'ACTIVE' where id = 1`);
    }
    await nextRound(mirror);
    for (const table of ['sa_bans', 'sa_mutes', 'sa_warns'])
      expect(await storedPenalty(db, table, 1)).toMatchObject({ status: 'ACTIVE' });
    expect(sweeps()).toHaveLength(1);
  });

  test('the next rounds look at the active rows that a round had no room for', async () => {
    const source = createFile();
    source.run(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 12000)
      insert into sa_warns (player_steamid, admin_steamid, admin_name, reason, duration, created, status)
      select 76561198000000000 + i, '0', 'Console', 'Aim', 0, '2026-11-01 10:00:00',
        case when i in (3, 11000) then 'EXPIRED' else 'ACTIVE' end from n`);
    const { mirror } = startMirror(source.url);
    await waitFor(() => mirror.health().lastRoundAt);
    source.run("update sa_warns set status = 'ACTIVE' where id in (3, 11000)");
    for (const id of [3, 11_000])
      await waitFor(async () => (await storedPenalty(db, 'sa_warns', id))?.status === 'ACTIVE', {
        everyMs: 200,
      });
    expect(sweeps()).toHaveLength(1);
  });

  test('a source that is away is one log line, and all goes on when it is back', async () => {
    const source = createFile();
    const { mirror, metrics } = startMirror(source.url);
    await waitFor(() => mirror.health().isUp);
    await rename(source.path, `${source.path}.away`);
    await waitFor(() => mirror.health().failures >= 3);
    expect(warnings()).toEqual(['mirroring CS2-SimpleAdmin failed: retrying']);
    expect((await metrics.render()).text).toContain('community_api_mirror_up{system="simpleadmin"} 0');
    await rename(`${source.path}.away`, source.path);
    source.run(`insert into sa_bans ${BAN}`);
    await nextRound(mirror);
    expect(await storedPenalties(db)).toHaveLength(1);
    expect(lines.map((line) => line.msg)).toContain('mirroring CS2-SimpleAdmin works again');
  });

  test('a bad row is reported once, the rest is brought over', async () => {
    const source = createFile();
    source.run(`insert into sa_bans ${BAN.replace('76561198000000001', 'BOT')}`);
    source.run(`insert into sa_bans ${BAN}`);
    const { mirror } = startMirror(source.url);
    await waitFor(() => mirror.health().lastRoundAt);
    await nextRound(mirror);
    expect(await storedPenalties(db)).toHaveLength(1);
    expect(warnings()).toEqual(['a row of CS2-SimpleAdmin was set aside']);
  });

  test('times that nobody can keep and servers that nobody can reach stop nothing, and are named once', async () => {
    const source = createFile();
    source.run("insert into sa_servers (hostname, address) values ('Nowhere', 'some where:27015')");
    source.run(`insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, ends, server_id)
      values ('76561198000000001', '0', 'Console', 'bad', 2000000000, '0000-00-00 00:00:00', '2026-11-21 12:30:00', null),
        ('76561198000000001', '0', 'Console', 'good', 60, '2026-11-21 11:30:00', '2026-11-21 12:30:00', 1)`);
    const { mirror } = startMirror(source.url);
    await waitFor(() => mirror.health().lastRoundAt);
    await nextRound(mirror);
    expect(mirror.health()).toMatchObject({ isUp: true, failures: 0 });
    expect(await storedPenalties(db)).toMatchObject([{ reason: 'good', serverId: 0 }]);
    expect(warnings()).toEqual([
      'a server of CS2-SimpleAdmin could not be matched',
      'a row of CS2-SimpleAdmin was set aside',
    ]);
  });

  test('one process mirrors; another takes over and goes on where it was', async () => {
    const source = createFile();
    source.run(`insert into sa_bans ${BAN}`);
    const first = startMirror(source.url).mirror;
    await waitFor(() => first.health().lastRoundAt);
    const second = startMirror(source.url).mirror;
    await nextRound(first);
    expect(second.health()).toMatchObject({ isMirroring: false, lastRoundAt: undefined });
    await first.stop();
    source.run(`insert into sa_bans ${BAN}`);
    await waitFor(async () => (await storedPenalties(db)).length === 2);
    expect(second.health().isMirroring).toBe(true);
    expect(sweeps()).toHaveLength(1);
  });

  test('says once that another import keeps it out, and that it works again', async () => {
    const source = createFile();
    source.run(`insert into sa_bans ${BAN}`);
    const other = openSession(databaseUrl, 'import simpleadmin');
    await other`select pg_advisory_lock(${LOCKS.importSource}, hashtext('simpleadmin'))`;
    const [holder] = await other`select pg_backend_pid() as pid`;
    const { mirror, metrics } = startMirror(source.url);
    await waitFor(() => mirror.health().waitsFor);
    await rename(source.path, `${source.path}.away`);
    await waitFor(() => mirror.health().failures > 0);
    await rename(`${source.path}.away`, source.path);
    const { waitsFor } = await waitFor(() => mirror.health().waitsFor && mirror.health());
    expect(waitsFor).toMatch(
      new RegExp(
        `^another import of simpleadmin is running, since .* \\(PostgreSQL process ${holder?.pid}\\)$`,
      ),
    );
    expect(mirror.health()).toMatchObject({ isUp: false });
    expect((await metrics.render()).text).toContain('community_api_mirror_up{system="simpleadmin"} 0');
    await other.end();
    await waitFor(() => mirror.health().isUp);
    expect(mirror.health()).toMatchObject({ waitsFor: undefined, failures: 0 });
    const waits = `mirroring CS2-SimpleAdmin waits: ${waitsFor}`;
    expect(lines.map(({ msg }) => msg).filter((msg) => msg.startsWith('mirroring'))).toEqual([
      waits,
      'mirroring CS2-SimpleAdmin failed: retrying',
      waits,
      'mirroring CS2-SimpleAdmin works again',
    ]);
  });

  test('a failure is reported although another process mirrored before', async () => {
    const source = createFile();
    const first = startMirror(source.url, { intervalSeconds: 60 });
    await waitFor(() => first.mirror.health().isUp);
    await first.mirror.stop();
    const second = startMirror(source.url);
    await waitFor(() => second.mirror.health().isUp);
    await rename(source.path, `${source.path}.away`);
    await waitFor(() => second.mirror.health().failures > 0);
    for (const { metrics } of [first, second])
      expect((await metrics.render()).text).toContain('community_api_mirror_up{system="simpleadmin"} 0');
  });

  test('another database under its name is not mirrored: said in the log and in its health, until an operator decides', async () => {
    const [first, second] = [createFile(), createFile()];
    first.run(`insert into sa_bans ${BAN}`);
    second.run(`insert into sa_bans ${BAN.replace('Aim', 'of another community')}`);
    const before = startMirror(first.url).mirror;
    await waitFor(() => before.health().lastRoundAt);
    await before.stop();

    const { mirror, metrics } = startMirror(second.url);
    await waitFor(() => mirror.health().failures >= 3);
    const refusal =
      'SIMPLEADMIN_URL names a different database from the one its penalties came from: nothing is mirrored';
    expect(mirror.health()).toMatchObject({ isUp: false, refusal, lastRoundAt: undefined });
    expect((await metrics.render()).text).toContain('community_api_mirror_up{system="simpleadmin"} 0');
    expect(await storedPenalties(db)).toMatchObject([{ reason: 'Aim' }]);
    const said = lines.filter((line) => line.level >= 40);
    expect(said).toMatchObject([
      {
        level: 50,
        source: 'simpleadmin',
        previous: `CS2-SimpleAdmin at ${first.path}`,
        current: `CS2-SimpleAdmin at ${second.path}`,
      },
    ]);
    expect(said[0]?.msg).toStartWith(`${refusal}: set SIMPLEADMIN_SOURCE`);

    // Under its own source name, it is mirrored beside the first.
    const beside = startMirror(second.url, { source: 'second' }).mirror;
    await mirror.stop();
    await waitFor(() => beside.health().lastRoundAt);
    expect((await storedPenalties(db)).map((row) => `${row.source} ${row.reason}`).sort()).toEqual([
      'second of another community',
      'simpleadmin Aim',
    ]);
  });

  test('a database that moved is mirrored on once an operator said so, without a restart', async () => {
    const [old, moved] = [createFile(), createFile()];
    for (const file of [old, moved]) file.run(`insert into sa_bans ${BAN}`);
    const before = startMirror(old.url).mirror;
    await waitFor(() => before.health().lastRoundAt);
    await before.stop();
    moved.run(`insert into sa_bans ${BAN}`);
    const { mirror } = startMirror(moved.url);
    await waitFor(() => mirror.health().refusal);
    await importSimpleAdmin(
      { db, databaseUrl, now: () => clock.now, actor: 'operator' },
      { url: moved.url, replacesSource: true },
    );
    await waitFor(() => mirror.health().isUp);
    expect(mirror.health().refusal).toBeUndefined();
    moved.run(`insert into sa_bans ${BAN}`);
    await nextRound(mirror);
    expect(await storedPenalties(db)).toHaveLength(3);
    expect(lines.map((line) => line.msg)).toContain('mirroring CS2-SimpleAdmin works again');
  });

  test('stops in the middle of a full read', async () => {
    const source = createFile();
    source.run(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
      insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created)
      select 76561198000000000 + i, '0', 'Console', 'Aim', 0, '2026-11-01 10:00:00' from n`);
    const { mirror } = startMirror(source.url);
    await waitFor(async () => (await connection`select from penalties limit 1`).length > 0);
    await mirror.stop();
    const [row] = await connection`select count(*)::int as n from penalties`;
    expect(row?.n).toBeLessThan(50_000);
    expect(warnings()).toEqual([]);
  });
});
