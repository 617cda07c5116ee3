import { rm } from 'node:fs/promises';
import { connect } from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { importSimpleAdmin } from '../../support/import/importers.ts';
import { createMariaDbDatabase, isMariaDbAtHand } from '../../support/import/mariadb.ts';
import { simpleAdminMysqlSchema } from '../../support/import/simple-admin-schema.ts';
import { type Bench, compare, formatMb, medians, NotMeasured, repeat, timeOf } from '../bench.ts';
import { createDatabase, startTemporaryPostgres } from '../support/temporary-postgres.ts';

const MAX_ROWS = 1_000_000;
const ROUNDS = 2;
const MEGABYTE = 1_048_576;

/** SimpleAdmin rows from MariaDB (70 % bans, 30 % mutes) against COPY of the same rows from a file. */
export const importBench: Bench = {
  name: 'import',
  title: 'CS2-SimpleAdmin rows from MariaDB against COPY of the same rows from a file',
  run: async ({ rows: wanted, say }) => {
    if (!(await isMariaDbAtHand().catch(() => false))) throw new NotMeasured('no MariaDB answers');
    const rows = Math.min(wanted, MAX_ROWS);
    await using postgres = await startTemporaryPostgres('import');
    await using stack = new AsyncDisposableStack();
    const source = await createMariaDbDatabase();
    stack.defer(source.drop);
    say(`filling MariaDB with ${rows} rows`);
    await source.run(simpleAdminMysqlSchema({ migration: 15 }));
    await source.run(fillStatements(rows));
    let [earlyMb, peakMb] = [0, 0];
    const onProgress = ({ read }: { read: number }) => {
      const nowMb = process.memoryUsage.rss() / MEGABYTE;
      if (read <= rows / 10) earlyMb = Math.max(earlyMb, nowMb);
      else peakMb = Math.max(peakMb, nowMb);
    };
    const rounds = await repeat(ROUNDS, async (round) => {
      say(`round ${round + 1} of ${ROUNDS}`);
      const importUrl = await createDatabase(postgres.url, 'bench_import');
      const ours = await timeImport(importUrl, { url: source.url, onProgress });
      return { ours, floor: await timeCopy(importUrl, await createDatabase(postgres.url, 'bench_copy')) };
    });
    const times = { ours: rounds.map(({ ours }) => ours), floor: rounds.map(({ floor }) => floor) };
    return [
      compare(`import of ${rows} rows`, medians(times), {
        name: 'COPY into the same table, with its indexes and triggers',
        atMost: 2,
        format: (ms) => `${(ms / 1000).toFixed(1)} s`,
      }),
      compare(
        'memory while importing, at most',
        { ours: peakMb, floor: earlyMb },
        { name: 'in the first tenth', atMost: 1.25, format: formatMb },
      ),
    ];
  },
};

async function timeImport(
  databaseUrl: string,
  source: Parameters<typeof importSimpleAdmin>[1],
): Promise<number> {
  const { db, url, close } = openDatabase(databaseUrl, { max: 2 });
  const deps = { db, databaseUrl: url, now: () => new Date(), actor: 'operator' as const };
  const tookMs = await timeOf(() => importSimpleAdmin(deps, source));
  await close();
  return tookMs;
}

async function timeCopy(fromUrl: string, toUrl: string): Promise<number> {
  // These take longer than a query of the service may.
  const from = connect(fromUrl, { max: 1, statementTimeoutMs: 0 });
  const to = connect(toUrl, { max: 1, statementTimeoutMs: 0 });
  const [settings] = await to`select current_setting('data_directory') as folder`;
  const file = `${settings?.folder}/bench-penalties.copy`;
  const names = await to`select column_name as name from information_schema.columns
    where table_name = 'penalties' and column_name <> 'id' order by ordinal_position`;
  const columns = names.map((row) => row.name).join(', ');
  await from.unsafe(`copy (select ${columns} from penalties order by id) to '${file}'`);
  const tookMs = await timeOf(() => to.unsafe(`copy penalties (${columns}) from '${file}'`));
  await rm(file);
  await Promise.all([from.end(), to.end()]);
  return tookMs;
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
