import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { insertServer } from '../../support/database/builders.ts';
import { startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { iksSchema } from '../../support/import/iks-schema.ts';
import { createMariaDbDatabase, isMariaDbAtHand } from '../../support/import/mariadb.ts';
import { simpleAdminMysqlSchema } from '../../support/import/simple-admin-schema.ts';
import { sourcebansSchema } from '../../support/import/sourcebans-schema.ts';
import { listFamily, readProcessorMs } from '../../support/machine/processes.ts';
import { type Bench, type BenchOptions, limitFigure, type Row, requireLinux } from '../bench.ts';
import { startChild } from '../support/child.ts';
import { open } from '../support/database-time.ts';
import { startGameServers } from '../support/game-servers.ts';
import { START_COMMAND, serviceEnv } from '../support/service.ts';
import { createTemporaryFolder } from '../support/temporary-postgres.ts';

const SERVERS = 10;
const DAY_SECONDS = 86_400;

export const small: Bench = {
  name: 'small',
  title: `the whole service on one core: all roles, embedded database, bot connected, ${SERVERS} servers polled`,
  run: async (options) => {
    requireLinux();
    const figures = await measure(options);
    const rows = [
      aRow('memory of all processes (PSS)', figures.memoryMb, 160, 'MB'),
      aRow('processor time', figures.processorShare, 2, '% of a core'),
      aRow('wake-ups', figures.wakeUps, 40, 'a second'),
      aRow('commits', figures.commits, 2, 'a second'),
      aRow('write-ahead log', figures.walMb, 200, 'MB a day'),
      aRow('start to the first 200, on a new data folder', figures.firstSeconds, 4, 's'),
    ];
    if (!(await isMariaDbAtHand().catch(() => false))) return rows;
    await using stack = new AsyncDisposableStack();
    const env: Record<string, string> = {};
    for (const [setting, statements] of Object.entries(SOURCES)) {
      const source = await createMariaDbDatabase();
      stack.defer(source.drop);
      await source.run(...statements);
      env[setting] = source.url;
    }
    options.say('the same with three mirrors');
    const mirroring = await measure(options, env);
    return [...rows, aRow('write-ahead log, with three mirrors', mirroring.walMb, 300, 'MB a day')];
  },
};

/** In each source that is mirrored. */
const BANS = 1000;
/** Sources whose bans never change. */
const SOURCES = {
  SIMPLEADMIN_URL: [
    simpleAdminMysqlSchema({ migration: 15 }),
    `insert into sa_bans (player_steamid, player_name, admin_steamid, admin_name, reason, duration, created, server_id)
     select 76561198000000000 + seq, 'Player', 0, 'Console', 'Wallhack', 0, '2026-01-01', null from seq_1_to_${BANS}`,
  ],
  SOURCEBANS_URL: [
    sourcebansSchema('sb_', '1.8'),
    `insert into sb_bans (authid, reason, created)
     select concat('STEAM_0:1:', seq), 'Wallhack', 1767225600 from seq_1_to_${BANS}`,
  ],
  IKS_URL: [
    iksSchema('present'),
    `insert into iks_bans (steam_id, name, duration, reason, admin_id, created_at, end_at, updated_at)
     select 76561198100000000 + seq, 'Player', 0, 'Wallhack', 1, 1767225600, 0, 1767225600 from seq_1_to_${BANS}`,
  ],
};

/** Starts the service, waits, and measures for as long. @param mirrors settings of mirrors. */
async function measure({ minutes, say }: BenchOptions, mirrors: Record<string, string> = {}) {
  await using stack = new AsyncDisposableStack();
  const { path: folder } = stack.use(await createTemporaryFolder('small'));
  const discord = await startFakeDiscord();
  stack.defer(discord.stop);
  const { addresses } = stack.use(await startGameServers(SERVERS));
  const oneCore = Bun.which('taskset') ? ['taskset', '-c', '0'] : [];
  const startedAt = performance.now();
  const child = stack.use(
    await startChild([...oneCore, ...START_COMMAND], {
      ...serviceEnv(undefined, folder),
      ROLES: 'api,bot,poller,media,sync',
      DISCORD_TOKEN: discord.token,
      DISCORD_API_URL: discord.apiUrl,
      ...mirrors,
    }),
  );
  await fetch(`${child.origin}/api/v1/servers`);
  const firstSeconds = (performance.now() - startedAt) / 1000;
  const { url, postmaster } = await findEmbedded(folder);
  await addServers(url, addresses);
  say(`waits ${minutes} minutes, then measures for as long`);
  await Bun.sleep(minutes * 60_000);
  const before = await look(url, [child.pid, postmaster]);
  await Bun.sleep(minutes * 60_000);
  const after = await look(url, [child.pid, postmaster]);
  const online = (await (await fetch(`${child.origin}/api/v1/servers`)).text()).split('"is_online":true');
  if (online.length !== SERVERS + 1) throw new Error('not every game server is online');
  if (!discord.gateway.isReady) throw new Error('the bot is not connected');
  if (after.penalties !== BANS * Object.keys(mirrors).length) throw new Error('not every ban was mirrored');
  const used = (key: keyof Process) => growth(before.processes, after.processes, key) / (minutes * 60);
  return {
    memoryMb: [...after.processes.values()].reduce((sum, process) => sum + process.memoryMb, 0),
    processorShare: used('processorMs') / 10,
    wakeUps: used('wakeUps'),
    commits: (after.commits - before.commits) / (minutes * 60),
    walMb: ((after.walMb - before.walMb) / (minutes * 60)) * DAY_SECONDS,
    firstSeconds,
  };
}

async function addServers(url: string, addresses: readonly string[]): Promise<void> {
  await using database = await open(url);
  for (const address of addresses) await insertServer(database.db, { address });
}

/** The embedded server of a data folder. */
async function findEmbedded(folder: string): Promise<{ url: string; postmaster: number }> {
  const password = (await readFile(join(folder, 'postgres.password'), 'utf8')).trim();
  const lines = (await readFile(join(folder, 'postgres/postmaster.pid'), 'utf8')).split('\n');
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${lines[3]}/postgres`,
    postmaster: Number(lines[0]),
  };
}

type Process = { memoryMb: number; processorMs: number; wakeUps: number };

/** The processes, and the counters of the database. */
async function look(url: string, roots: readonly number[]) {
  await using database = await open(url);
  const [row] = await database.connection`
    select sum(xact_commit)::float as commits, (pg_current_wal_lsn() - '0/0')::float / 1e6 as "walMb",
      (select count(*)::int from penalties) as penalties
    from pg_stat_database`;
  const processes = new Map<number, Process>();
  for (const pid of await listFamily(roots)) {
    const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
    const memoryMb = Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) / 1024;
    let wakeUps = 0;
    for (const task of await readdir(`/proc/${pid}/task`).catch(() => [])) {
      const status = await readFile(`/proc/${pid}/task/${task}/status`, 'utf8').catch(() => '');
      wakeUps += Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    }
    processes.set(pid, { memoryMb, processorMs: await readProcessorMs(pid).catch(() => 0), wakeUps });
  }
  return {
    commits: Number(row?.commits),
    walMb: Number(row?.walMb),
    penalties: Number(row?.penalties),
    processes,
  };
}

/** What the processes have used since; sessions of the database that ended meanwhile are left out. */
function growth(before: Map<number, Process>, after: Map<number, Process>, key: keyof Process): number {
  return [...after].reduce((sum, [pid, process]) => sum + process[key] - (before.get(pid)?.[key] ?? 0), 0);
}

function aRow(what: string, value: number, atMost: number, unit: string): Row {
  const format = (figure: number) => `${figure.toFixed(figure < 10 ? 1 : 0)} ${unit}`;
  return limitFigure(what, value, { format, atMost });
}
