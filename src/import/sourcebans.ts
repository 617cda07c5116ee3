import { InvalidInput } from '../errors.ts';
import { type PenaltyStatus, type PenaltyType, statusAt } from '../penalty.ts';
import type { PenaltySource } from '../queries/penalty-sources.ts';
import { UNKNOWN_STEAM_ID } from '../steam-id.ts';
import { cleanText, LONGEST_NAME, LONGEST_REASON } from './clean-text.ts';
import type { ImportSummary } from './import-report.ts';
import {
  type ImportDeps,
  type ImportOptions,
  type ImportRun,
  importPage,
  importPages,
  runImport,
} from './import-run.ts';
import type { ImportedPenalty } from './penalty-writer.ts';
import {
  openSourceDatabase,
  PAGE_ROWS,
  readPages,
  type SourceDatabase,
  type SourceRow,
} from './source-database.ts';
import { matchSourceServers } from './source-servers.ts';
import {
  parseDurationMinutes,
  parsePlayerSteamId,
  parseUnixSeconds,
  readAdminSteamId,
} from './source-values.ts';
import { isLifted, readComms } from './sourcebans-silences.ts';

const SOURCEBANS_SOURCE = 'sourcebans';

export type SourcebansOptions = ImportOptions & {
  /** `mysql://…`. */
  url: string;
  /** What the names of the tables begin with, `sb_` by default; `sb` means the same. */
  prefix?: string | undefined;
  /** Names the source when several are imported; `sourcebans` by default. */
  source?: string | undefined;
};

/** A communication ban "for this session" is kept as so many minutes: nobody records when a session ended. */
const SESSION_MINUTES = 120;

/**
 * Imports the bans and communication bans of a SourceBans++ database; repeating it changes only what changed there.
 * A mute and a gag of one player, moment and length are one silence, until one of them is lifted alone.
 * @throws {InvalidInput} for an address, a prefix or a database of another kind.
 * @throws {Unavailable} when the source does not answer.
 */
export async function importSourcebans(
  deps: ImportDeps,
  { url, prefix = 'sb_', source = SOURCEBANS_SOURCE, ...options }: SourcebansOptions,
): Promise<ImportSummary> {
  if (!/^\w{0,32}$/.test(prefix)) {
    throw new InvalidInput(
      `prefix ${JSON.stringify(prefix)} is not allowed: give letters, digits and underscores`,
    );
  }
  const complete = withUnderscore(prefix);
  const database = await openSourceDatabase(url);
  try {
    const { address } = database;
    const identity: PenaltySource = { name: source, kind: 'sourcebans', address, prefix: complete };
    return await runImport(deps, identity, options, (run) => sweep(run, database, complete));
  } finally {
    await database.close();
  }
}

function withUnderscore(prefix: string): string {
  return prefix === '' || prefix.endsWith('_') ? prefix : `${prefix}_`;
}

async function sweep(run: ImportRun, database: SourceDatabase, prefix: string): Promise<void> {
  const bans = await findTable(database, prefix, 'bans');
  const comms = await findTable(database, prefix, 'comms');
  const tables = [bans, comms].filter((table) => table !== undefined);
  if (tables.length === 0) {
    throw new InvalidInput(`the source holds no ${prefix}bans and no ${prefix}comms: give its --prefix`);
  }
  const serverIds = await matchServers(run, database, prefix);
  const sized = { ...run, total: await countRows(database, tables) };
  const options = { now: run.now(), serverIds };
  if (bans) {
    await importPages(sized, readBans(database, bans), {
      table: 'bans',
      idOf: (row) => row.bid ?? '',
      parse: (row, remark) => parseRow('bans', [row], remark, options),
    });
  }
  if (comms) {
    // The half of a silence that was kept apart while only one was lifted is part of the other row again.
    const absorbed: { sourceTable: string; sourceId: string }[] = [];
    for await (const page of readComms(database, comms.select)) {
      await importPage(sized, page, {
        table: 'comms',
        idOf: ([row]) => row?.bid ?? '',
        rowsIn: (rows) => rows.length,
        parse: (rows, remark) => {
          const penalty = parseRow('comms', rows, remark, options);
          const [, half] = rows;
          if (half) absorbed.push({ sourceTable: 'comms', sourceId: half.bid ?? '' });
          return penalty;
        },
      });
      await run.writer.absorb(absorbed.splice(0));
    }
  }
  run.summary.gone = await run.writer.markGone(
    [bans && 'bans', comms && 'comms'].filter((name) => name !== undefined),
    run.now(),
  );
}

type Table = { name: string; select: string };

const NEEDED = ['bid', 'authid', 'created', 'length'];
const WANTED = [
  'name',
  'ends',
  'reason',
  'aid',
  'sid',
  'type',
  'removedby',
  'removetype',
  'removedon',
  'ureason',
];

async function findTable(
  database: SourceDatabase,
  prefix: string,
  kind: 'bans' | 'comms',
): Promise<Table | undefined> {
  const name = `${prefix}${kind}`;
  const columns = await database.listColumns(name);
  if (columns.size === 0) return undefined;
  const missing = NEEDED.filter((column) => !columns.has(column));
  if (missing.length > 0)
    throw new InvalidInput(`the table ${name} of the source has no column ${missing.join(', ')}`);
  const selected = [...NEEDED, ...WANTED].map((column) =>
    columns.has(column) ? `p.${column} as ${column}` : `null as ${column}`,
  );
  const admins = `${prefix}admins`;
  const hasAdmins = columns.has('aid') && (await database.listColumns(admins)).has('authid');
  if (!hasAdmins) return { name, select: `select ${selected.join(', ')} from ${name} p` };
  selected.push('a.user as admin_name', 'a.authid as admin_authid');
  const joins = [`left join ${admins} a on a.aid = p.aid`];
  if (columns.has('removedby')) {
    selected.push('l.user as lifter_name', 'l.authid as lifter_authid');
    joins.push(`left join ${admins} l on l.aid = p.removedby`);
  }
  return { name, select: `select ${selected.join(', ')} from ${name} p ${joins.join(' ')}` };
}

async function matchServers(
  run: ImportRun,
  database: SourceDatabase,
  prefix: string,
): Promise<ReadonlyMap<string, number>> {
  const table = `${prefix}servers`;
  const columns = await database.listColumns(table);
  const rows = columns.has('port')
    ? await database.select(`select sid, ip, port from ${table} where sid > 0`)
    : [];
  const sourceServers = rows.map((row) => ({
    sourceServerId: row.sid ?? '',
    name: null,
    address: addressOf(row),
  }));
  return matchSourceServers(run, table, sourceServers);
}

function addressOf({ ip, port }: SourceRow): string {
  return ip?.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

async function countRows(database: SourceDatabase, tables: readonly Table[]): Promise<number> {
  let total = 0;
  for (const { name } of tables) {
    const [counted] = await database.select(`select count(*) as n from ${name}`);
    total += Number(counted?.n ?? 0);
  }
  return total;
}

function readBans(database: SourceDatabase, { select }: Table): AsyncGenerator<SourceRow[]> {
  return readPages((after) =>
    database.select(`${select} where p.bid > ? order by p.bid limit ${PAGE_ROWS}`, [after?.bid ?? '-1']),
  );
}

type RowOptions = { now: Date; serverIds: ReadonlyMap<string, number> };

/** @param rows one row, or the two halves of a silence. */
function parseRow(
  table: 'bans' | 'comms',
  rows: readonly SourceRow[],
  remark: (reason: string) => void,
  { now, serverIds }: RowOptions,
): ImportedPenalty {
  const [row] = rows;
  if (!row) throw new InvalidInput('it is empty');
  const isSession = table === 'comms' && row.length === '-1';
  const durationMinutes = isSession ? SESSION_MINUTES : parseDurationMinutes(row.length, 'seconds');
  const createdAt = parseUnixSeconds(row.created);
  if (createdAt === undefined) throw new InvalidInput('it has no date of creation');
  const told = isSession ? undefined : parseUnixSeconds(row.ends);
  const endsAt =
    durationMinutes === 0 ? null : (told ?? new Date(createdAt.getTime() + durationMinutes * 60_000));
  return {
    sourceTable: table,
    sourceId: row.bid ?? '',
    type: table === 'bans' ? 'ban' : rows.length === 2 ? 'silence' : readCommsType(row.type),
    status: statusAt(readStatus(row.removetype), endsAt, now),
    playerName: cleanText(row.name, LONGEST_NAME),
    playerSteamId: parsePlayerSteamId(row.authid),
    adminName: cleanText(row.admin_name, LONGEST_NAME) || (row.aid === '0' ? 'CONSOLE' : ''),
    adminSteamId: readAdminSteamId(row.admin_authid),
    reason: cleanText(row.reason, LONGEST_REASON),
    durationMinutes,
    serverId: readServerId(row.sid, serverIds, remark),
    createdAt,
    endsAt,
    ...readLift(row),
  };
}

function readCommsType(type: string | null | undefined): PenaltyType {
  if (type === '1') return 'mute';
  if (type === '2') return 'gag';
  throw new InvalidInput(`the type ${JSON.stringify(type ?? null)} is not known: 1 is a mute, 2 a gag`);
}

function readStatus(removeType: string | null | undefined): PenaltyStatus {
  switch (removeType ?? '') {
    case '':
      return 'ACTIVE';
    case 'E':
      return 'EXPIRED';
    case 'U':
    case 'D':
      return 'UNBANNED';
    default:
      throw new InvalidInput(`the RemoveType ${JSON.stringify(removeType)} is not known`);
  }
}

function readServerId(
  sid: string | null | undefined,
  serverIds: ReadonlyMap<string, number>,
  remark: (reason: string) => void,
): number {
  if (sid === null || sid === undefined || Number(sid) <= 0) return 0;
  const serverId = serverIds.get(sid);
  if (serverId === undefined)
    remark(`its server ${sid} is not at the source any more: kept without a server`);
  return serverId ?? 0;
}

function readLift(row: SourceRow) {
  if (!isLifted(row)) return { liftedAt: null, liftedByName: null, liftedBySteamId: null, liftReason: null };
  const isByConsole = row.removedby === '0';
  return {
    liftedAt: parseUnixSeconds(row.removedon) ?? null,
    liftedByName: cleanText(row.lifter_name, LONGEST_NAME) || (isByConsole ? 'CONSOLE' : null),
    liftedBySteamId:
      row.lifter_authid || isByConsole ? readAdminSteamId(row.lifter_authid) : UNKNOWN_STEAM_ID,
    liftReason: cleanText(row.ureason, LONGEST_REASON) || null,
  };
}
