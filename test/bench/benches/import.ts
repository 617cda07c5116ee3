import { rm } from 'node:fs/promises';
import { connect } from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { importSimpleAdmin } from '../../support/import/importers.ts';
import { createMariaDbDatabase, isMariaDbAtHand } from '../../support/import/mariadb.ts';
import { simpleAdminMysqlSchema } from '../../support/import/simple-admin-schema.ts';
import { type Bench, compare, median, NotMeasured, type Row } from '../bench.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const MAX_ROWS = 1_000_000;
const ROUNDS = 2;
const MEGABYTE = 1_048_576;

/** Seconds that each took. */
type Round = { ours: number; floor: number };
/** Resident memory of this process in MB: at the first tenth of an import, and the most after it. */
type Memory = { earlyMb: number; peakMb: number };

/** SimpleAdmin rows from MariaDB (70 % bans, 30 % mutes) against COPY of the same rows from a file. */
export const importBench: Bench = {
  name: 'import',
  title: 'CS2-SimpleAdmin rows from MariaDB against COPY of the same rows from a file',
  run: async ({ rows: wanted, say }) => {
    if (!(await isMariaDbAtHand().catch(() => false))) throw new NotMeasured('no MariaDB answers');
    const rows = Math.min(wanted, MAX_ROWS);
    const source = await createMariaDbDatabase();
    await using postgres = await startTemporaryPostgres('import');
    try {
      say(`filling MariaDB with ${rows} rows`);
      await source.run(simpleAdminMysqlSchema({ migration: 15 }));
      await source.run(fillStatements(rows));
      const rounds: Round[] = [];
      const memory: Memory = { earlyMb: 0, peakMb: 0 };
      for (let round = 1; round <= ROUNDS; round++) {
        say(`round ${round} of ${ROUNDS}`);
        rounds.push(await playRound(source.url, postgres.url, { rows, memory }));
      }
      return toRows(rows, rounds, memory);
    } finally {
      await source.drop();
    }
  },
};

async function playRound(
  sourceUrl: string,
  serverUrl: string,
  { rows, memory }: { rows: number; memory: Memory },
): Promise<Round> {
  const importUrl = await createDatabase(serverUrl, 'bench_import');
  const copyUrl = await createDatabase(serverUrl, 'bench_copy');
  const imported = openDatabase(importUrl, { max: 2 });
  // These take longer than a query of the service may.
  const exporter = connect(importUrl, { max: 1, statementTimeoutMs: 0 });
  const copied = connect(copyUrl, { max: 1, statementTimeoutMs: 0 });
  try {
    const onProgress = ({ read }: { read: number }) => {
      const nowMb = process.memoryUsage.rss() / MEGABYTE;
      if (read <= rows / 10) memory.earlyMb = Math.max(memory.earlyMb, nowMb);
      else memory.peakMb = Math.max(memory.peakMb, nowMb);
    };
    const deps = {
      db: imported.db,
      databaseUrl: imported.url,
      now: () => new Date(),
      actor: 'operator' as const,
    };
    const importSeconds = await secondsOf(() => importSimpleAdmin(deps, { url: sourceUrl, onProgress }));
    const [settings] = await copied`select current_setting('data_directory') as folder`;
    const file = `${settings?.folder}/bench-penalties.copy`;
    const names = await copied`select column_name as name from information_schema.columns
      where table_name = 'penalties' and column_name <> 'id' order by ordinal_position`;
    const columns = names.map((row) => row.name).join(', ');
    await exporter.unsafe(`copy (select ${columns} from penalties order by id) to '${file}'`);
    const copySeconds = await secondsOf(() => copied.unsafe(`copy penalties (${columns}) from '${file}'`));
    await rm(file);
    return { ours: importSeconds, floor: copySeconds };
  } finally {
    await Promise.all([imported.close(), exporter.end(), copied.end()]);
  }
}

function toRows(rows: number, rounds: readonly Round[], { earlyMb, peakMb }: Memory): Row[] {
  return [
    compare(
      `import of ${rows} rows`,
      {
        ours: median(rounds.map(({ ours }) => ours)),
        floor: median(rounds.map(({ floor }) => floor)),
        name: 'COPY into the same table, with its indexes and triggers',
        format: (seconds) => `${seconds.toFixed(1)} s`,
      },
      { atMost: 2 },
    ),
    compare(
      'memory while importing, at most',
      { ours: peakMb, floor: earlyMb, name: 'in the first tenth', format: (mb) => `${mb.toFixed(0)} MB` },
      { atMost: 1.25 },
    ),
  ];
}

async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const admin = connect(serverUrl, { max: 1 });
  await admin.unsafe(`drop database if exists ${name} with (force)`);
  await admin.unsafe(`create database ${name}`);
  await admin.end();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  await migrateDatabase(url.href);
  return url.href;
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

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}
