import { rm } from 'node:fs/promises';
import { connect } from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { importSimpleAdmin } from '../../../src/import/simple-admin/simple-admin.ts';
import { createMariaDbDatabase, isMariaDbAtHand } from '../../support/import/mariadb.ts';
import { simpleAdminMysqlSchema } from '../../support/import/simple-admin-schema.ts';
import { type Bench, formatRatio, median, NotMeasured, type Row } from '../bench.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const MAX_ROWS = 1_000_000;
const ROUNDS = 2;
const MEGABYTE = 1_048_576;

/** What one round measured, in seconds. */
type Round = {
  import: number;
  /** Between the two that follow, as the first import of a round also warms everything up. */
  importAgain: number;
  importUnnamed: number;
  importUnrecorded: number;
  copy: number;
  copyIndexed: number;
  copyBare: number;
  repeat: number;
};
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
    const importUnnamed = await importWithout(NAME_TRIGGERS, sourceUrl, serverUrl);
    const importAgain = await importWithout([], sourceUrl, serverUrl);
    const importUnrecorded = await importWithout(EVENT_TRIGGERS, sourceUrl, serverUrl);
    const [settings] = await copied`select current_setting('data_directory') as folder`;
    const file = `${settings?.folder}/bench-penalties.copy`;
    const names = await copied`select column_name as name from information_schema.columns
      where table_name = 'penalties' and column_name <> 'id' order by ordinal_position`;
    const columns = names.map((row) => row.name).join(', ');
    await exporter.unsafe(`copy (select ${columns} from penalties order by id) to '${file}'`);
    const copySeconds = await secondsOf(() => copied.unsafe(`copy penalties (${columns}) from '${file}'`));
    await copied`truncate penalties`;
    await copied`alter table penalties disable trigger user`;
    const copyIndexed = await secondsOf(() => copied.unsafe(`copy penalties (${columns}) from '${file}'`));
    await copied.unsafe(`create table bare as select ${columns} from penalties with no data`);
    const copyBare = await secondsOf(() => copied.unsafe(`copy bare from '${file}'`));
    const repeat = await secondsOf(() => importSimpleAdmin(deps, { url: sourceUrl }));
    await rm(file);
    return {
      import: importSeconds,
      importAgain,
      importUnnamed,
      importUnrecorded,
      copy: copySeconds,
      copyIndexed,
      copyBare,
      repeat,
    };
  } finally {
    await Promise.all([imported.close(), exporter.end(), copied.end()]);
  }
}

/** Keep the names by which players are searched. */
const NAME_TRIGGERS = ['penalties_name_inserted', 'penalties_name_updated'];
/** Record the events of penalties. */
const EVENT_TRIGGERS = ['penalties_record_inserted', 'penalties_record_updated', 'penalties_record_deleted'];

/** @returns how long an import takes while some triggers are disabled. */
async function importWithout(
  triggers: readonly string[],
  sourceUrl: string,
  serverUrl: string,
): Promise<number> {
  const url = await createDatabase(serverUrl, 'bench_import_without');
  const { db, connection, close } = openDatabase(url, { max: 2 });
  const deps = { db, databaseUrl: url, now: () => new Date(), actor: 'operator' as const };
  try {
    for (const trigger of triggers)
      await connection`alter table penalties disable trigger ${connection(trigger)}`;
    return await secondsOf(() => importSimpleAdmin(deps, { url: sourceUrl }));
  } finally {
    await close();
  }
}

function toRows(rows: number, rounds: readonly Round[], { earlyMb, peakMb }: Memory): Row[] {
  const of = (key: keyof Round) => median(rounds.map((round) => round[key]));
  const seconds = (value: number) => `${value.toFixed(1)} s`;
  const against = (what: string, floor: number, target: string, isReached: boolean, note?: string): Row => ({
    what,
    ours: seconds(of('import')),
    floor: `${seconds(floor)} COPY`,
    ratio: formatRatio(of('import') / floor),
    target,
    isReached,
    ...(note !== undefined && { note }),
  });
  const without = (what: string, key: keyof Round, most: number): Row => {
    const ratio = of('importAgain') / of(key);
    return {
      what: `the same without ${what}`,
      ours: seconds(of('importAgain')),
      floor: seconds(of(key)),
      ratio: formatRatio(ratio),
      target: `≤ ${most.toFixed(2)}×`,
      isReached: ratio <= most,
    };
  };
  return [
    against(
      `import of ${rows} rows, same table, indexes and triggers`,
      of('copy'),
      '≤ 4×',
      of('import') <= 4 * of('copy'),
      'COPY is one statement, whose trigger counts all rows at once; the import writes ten thousand rows a statement.',
    ),
    against(
      'the same, COPY without the triggers',
      of('copyIndexed'),
      '≤ 4×',
      of('import') <= 4 * of('copyIndexed'),
    ),
    without('keeping names for the search', 'importUnnamed', 1.15),
    without('recording events', 'importUnrecorded', 1.2),
    against('the same, COPY into a bare table', of('copyBare'), 'for information', true),
    {
      what: 'importing the same again, nothing changed',
      ours: seconds(of('repeat')),
      floor: `${seconds(of('import'))} first import`,
      ratio: formatRatio(of('repeat') / of('import')),
      target: 'for information',
      isReached: true,
    },
    {
      what: 'memory while importing',
      ours: `${peakMb.toFixed(0)} MB at most`,
      floor: `${earlyMb.toFixed(0)} MB in the first tenth`,
      ratio: formatRatio(peakMb / earlyMb),
      target: '≤ 1.25×',
      isReached: peakMb <= 1.25 * earlyMb,
    },
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
