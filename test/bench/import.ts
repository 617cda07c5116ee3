import { rm } from 'node:fs/promises';
import { type Connection, connect, openDatabase } from '../../src/db/client.ts';
import { migrateDatabase } from '../../src/db/migrate.ts';
import { importSimpleAdmin } from '../../src/import/simple-admin.ts';
import { createMariaDbDatabase, isMariaDbAtHand } from '../support/mariadb.ts';
import { simpleAdminMysqlSchema } from '../support/simple-admin-schema.ts';

export type ImportFigures = {
  rows: number;
  importSeconds: number;
  copySeconds: number;
  bareCopySeconds: number;
  repeatSeconds: number;
  /** Resident memory of this process: before, largest during the import. */
  memoryBeforeMb: number;
  memoryPeakMb: number;
};

/**
 * Imports `rows` SimpleAdmin rows from MariaDB (70 % bans, 30 % mutes), then copies the same rows from a file into the
 * same table of another database with the same indexes and triggers, and into a bare table.
 * @param serverUrl a PostgreSQL on which databases and, in its data folder, a file may be made.
 * @returns undefined when no MariaDB is at hand.
 */
export async function benchImport(
  serverUrl: string,
  { rows = 1_000_000 } = {},
): Promise<ImportFigures | undefined> {
  if (!(await isMariaDbAtHand())) return undefined;
  const source = await createMariaDbDatabase();
  const admin = openDatabase(serverUrl, { max: 1 });
  const names = ['bench_import', 'bench_copy'];
  try {
    await source.run(simpleAdminMysqlSchema({ migration: 15 }));
    await source.run(fillStatements(rows));
    for (const name of names) {
      await admin.connection.unsafe(`drop database if exists ${name} with (force)`);
      await admin.connection.unsafe(`create database ${name}`);
      await migrateDatabase(onServer(serverUrl, name));
    }
    return await measure(source.url, serverUrl, rows);
  } finally {
    await source.drop();
    for (const name of names) await admin.connection.unsafe(`drop database if exists ${name} with (force)`);
    await admin.close();
  }
}

async function measure(sourceUrl: string, serverUrl: string, rows: number): Promise<ImportFigures> {
  const imported = openDatabase(onServer(serverUrl, 'bench_import'), { max: 2 });
  // A COPY of a million rows takes longer than a query of the service may.
  const copied = connect(onServer(serverUrl, 'bench_copy'), { max: 1, statementTimeoutMs: 0 });
  const exporter = connect(onServer(serverUrl, 'bench_import'), { max: 1, statementTimeoutMs: 0 });
  try {
    Bun.gc(true);
    const memoryBeforeMb = residentMb();
    let memoryPeakMb = memoryBeforeMb;
    const runImport = () =>
      importSimpleAdmin(
        { db: imported.db, databaseUrl: imported.url, now: () => new Date() },
        {
          url: sourceUrl,
          onProgress: () => {
            memoryPeakMb = Math.max(memoryPeakMb, residentMb());
          },
        },
      );
    const importSeconds = await secondsOf(runImport);
    const repeatSeconds = await secondsOf(runImport);
    const columns = (await columnsOf(copied)).join(', ');
    const [settings] = await copied`select current_setting('data_directory') as folder`;
    const file = `${settings?.folder}/bench-penalties.copy`;
    await exporter.unsafe(`copy (select ${columns} from penalties order by id) to '${file}'`);
    const copySeconds = await secondsOf(() => copied.unsafe(`copy penalties (${columns}) from '${file}'`));
    await copied.unsafe(`create table bare as select ${columns} from penalties with no data`);
    const bareCopySeconds = await secondsOf(() => copied.unsafe(`copy bare from '${file}'`));
    await rm(file);
    return { rows, importSeconds, copySeconds, bareCopySeconds, repeatSeconds, memoryBeforeMb, memoryPeakMb };
  } finally {
    await imported.close();
    await copied.end();
    await exporter.end();
  }
}

/** Believable shapes: 200,000 players, 60 admins, 12 servers, five years, a fifth of it permanent. */
function fillStatements(rows: number): string {
  const bans = Math.round(rows * 0.7);
  const servers = Array.from({ length: 12 }, (_, n) => `('Server ${n + 1}', '10.0.0.${n + 1}:27015')`);
  const common = (
    n: string,
  ) => `76561198000000000 + mod(${n} * 7919, 200000), 76561198900000000 + mod(${n} * 31, 60),
    concat('Player ', mod(${n} * 7919, 200000)), concat('Admin ', mod(${n} * 31, 60)),
    elt(1 + mod(${n}, 4), 'Wallhack', 'Aimbot, repeated', 'Obraza graczy', 'Spam'),
    if(mod(${n}, 5) = 0, 0, 60 * (1 + mod(${n}, 700))),
    timestampadd(second, mod(${n} * 157, 157680000), '2021-01-01 00:00:00'), 1 + mod(${n}, 12)`;
  const names =
    'player_steamid, admin_steamid, player_name, admin_name, reason, duration, created, server_id';
  return `
    insert into sa_servers (hostname, address) values ${servers.join(', ')};
    insert into sa_bans (${names}, status) select ${common('seq')}, elt(1 + mod(seq, 3), 'ACTIVE', 'EXPIRED', 'UNBANNED') from seq_1_to_${bans};
    insert into sa_mutes (${names}, type, status) select ${common('seq')}, elt(1 + mod(seq, 3), 'GAG', 'MUTE', 'SILENCE'),
      elt(1 + mod(seq, 3), 'ACTIVE', 'EXPIRED', 'UNMUTED') from seq_1_to_${rows - bans};
    update sa_bans set ends = timestampadd(minute, duration, created);
    update sa_mutes set ends = timestampadd(minute, duration, created);`;
}

async function columnsOf(connection: Connection): Promise<string[]> {
  const rows = await connection`select column_name from information_schema.columns
    where table_name = 'penalties' and column_name <> 'id' order by ordinal_position`;
  return rows.map((row) => String(row.column_name));
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

function residentMb(): number {
  return process.memoryUsage.rss() / 1_048_576;
}

function onServer(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
