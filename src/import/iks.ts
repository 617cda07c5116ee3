import { InvalidInput } from '../errors.ts';
import { type PenaltyStatus, type PenaltyType, statusAt } from '../penalty.ts';
import type { PenaltySource } from '../queries/penalty-sources.ts';
import { cleanText, LONGEST_NAME, LONGEST_REASON } from './clean-text.ts';
import type { ImportSummary } from './import-report.ts';
import { type ImportDeps, type ImportOptions, type ImportRun, importPages, runImport } from './import-run.ts';
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
  minutesBetween,
  parseDurationMinutes,
  parsePlayerSteamId,
  parseUnixSeconds,
  readAdminSteamId,
} from './source-values.ts';

const IKS_SOURCE = 'iks';

export type IksOptions = ImportOptions & {
  /** `mysql://…`. */
  url: string;
  /** Names the source when several are imported; `iks` by default. */
  source?: string | undefined;
};

/** `iks_admins_warns` is left out: those are warnings of admins. */
const TABLES = ['iks_bans', 'iks_comms'] as const;
type TableName = (typeof TABLES)[number];

/**
 * Imports the bans and communication bans of an IKS Admin 3 database; repeating it changes only what changed there.
 * Rows that IKS marked as deleted are not read: those we have are marked as gone, and kept.
 * @throws {InvalidInput} for an address or a database of another kind.
 * @throws {Unavailable} when the source does not answer.
 */
export async function importIks(
  deps: ImportDeps,
  { url, source = IKS_SOURCE, ...options }: IksOptions,
): Promise<ImportSummary> {
  const database = await openSourceDatabase(url);
  try {
    const identity: PenaltySource = { name: source, kind: 'iks', address: database.address, prefix: '' };
    return await runImport(deps, identity, options, (run) => sweep(run, database));
  } finally {
    await database.close();
  }
}

async function sweep(run: ImportRun, database: SourceDatabase): Promise<void> {
  const tables: Table[] = [];
  for (const name of TABLES) {
    const table = await findTable(database, name);
    if (table) tables.push(table);
  }
  if (tables.length === 0) throw new InvalidInput('the source holds no iks_bans and no iks_comms');
  const serverIds = await matchServers(run, database);
  let total = 0;
  for (const { name, kept } of tables) {
    const [counted] = await database.select(`select count(*) as n from ${name} p where ${kept}`);
    total += Number(counted?.n ?? 0);
  }
  for (const { name, select, kept } of tables) {
    const pages = readPages((after) =>
      database.select(`${select} where ${kept} and p.id > ? order by p.id limit ${PAGE_ROWS}`, [
        after?.id ?? '-1',
      ]),
    );
    await importPages({ ...run, total }, pages, {
      table: name,
      idOf: (row) => row.id ?? '',
      parse: (row, remark) => parseRow(name, row, remark, { now: run.now(), serverIds }),
    });
  }
  run.summary.gone = await run.writer.markGone(
    tables.map((table) => table.name),
    run.now(),
  );
}

type Table = {
  name: TableName;
  select: string /** The condition of rows that are not deleted. */;
  kept: string;
};

const NEEDED = ['id', 'steam_id', 'duration', 'created_at', 'end_at'];
const WANTED = ['name', 'reason', 'server_id', 'admin_id', 'mute_type', 'unban_reason', 'updated_at'];

async function findTable(database: SourceDatabase, name: TableName): Promise<Table | undefined> {
  const columns = await database.listColumns(name);
  if (columns.size === 0) return undefined;
  const missing = NEEDED.filter((column) => !columns.has(column));
  if (missing.length > 0)
    throw new InvalidInput(`the table ${name} of the source has no column ${missing.join(', ')}`);
  const selected = [...NEEDED, ...WANTED].map((column) =>
    columns.has(column) ? `p.${column}` : `null as ${column}`,
  );
  // The first releases misspelt the column.
  const unbannedBy = ['unbanned_by', 'ubanned_by'].find((column) => columns.has(column));
  selected.push(unbannedBy ? `p.${unbannedBy} as unbanned_by` : 'null as unbanned_by');
  const joins: string[] = [];
  if ((await database.listColumns('iks_admins')).has('steam_id')) {
    selected.push('a.name as admin_name', 'a.steam_id as admin_steamid');
    joins.push('left join iks_admins a on a.id = p.admin_id');
    if (unbannedBy) {
      selected.push('l.name as lifter_name', 'l.steam_id as lifter_steamid');
      joins.push(`left join iks_admins l on l.id = p.${unbannedBy}`);
    }
  }
  const kept = columns.has('deleted_at') ? 'p.deleted_at is null' : 'true';
  return { name, select: `select ${selected.join(', ')} from ${name} p ${joins.join(' ')}`, kept };
}

async function matchServers(run: ImportRun, database: SourceDatabase): Promise<ReadonlyMap<string, number>> {
  const columns = await database.listColumns('iks_servers');
  const rows = columns.has('ip') ? await database.select('select id, name, ip from iks_servers') : [];
  const sourceServers = rows.map(({ id, name, ip }) => ({
    sourceServerId: id ?? '',
    name: name ?? null,
    address: ip ?? '',
  }));
  return matchSourceServers(run, 'iks_servers', sourceServers);
}

type RowOptions = { now: Date; serverIds: ReadonlyMap<string, number> };

function parseRow(
  table: TableName,
  row: SourceRow,
  remark: (reason: string) => void,
  { now, serverIds }: RowOptions,
): ImportedPenalty {
  const createdAt = parseUnixSeconds(row.created_at);
  if (createdAt === undefined) throw new InvalidInput('it has no date of creation');
  const endsAt = parseUnixSeconds(row.end_at) ?? null;
  const durationMinutes = readDuration(row, { createdAt, endsAt }, remark);
  const status: PenaltyStatus = row.unbanned_by === null ? 'ACTIVE' : 'UNBANNED';
  return {
    sourceTable: table,
    sourceId: row.id ?? '',
    type: table === 'iks_bans' ? 'ban' : readMuteType(row.mute_type),
    status: statusAt(status, endsAt, now),
    playerName: cleanText(row.name, LONGEST_NAME),
    playerSteamId: parsePlayerSteamId(row.steam_id),
    adminName: cleanText(row.admin_name, LONGEST_NAME),
    adminSteamId: readAdminSteamId(row.admin_steamid),
    reason: cleanText(row.reason, LONGEST_REASON),
    durationMinutes,
    serverId: readServerId(row.server_id, serverIds, remark),
    createdAt,
    endsAt,
    ...readLift(row, status),
  };
}

/** IKS enforces by `end_at` alone; a duration that contradicts it is corrected. */
function readDuration(
  row: SourceRow,
  { createdAt, endsAt }: { createdAt: Date; endsAt: Date | null },
  remark: (reason: string) => void,
): number {
  const told = parseDurationMinutes(row.duration, 'seconds');
  if (endsAt === null) {
    if (told !== 0) remark('it has a duration and no end: kept as permanent, which is what IKS makes of it');
    return 0;
  }
  if (told !== 0) return told;
  remark('it has an end and no duration: taken from its creation and its end');
  return minutesBetween(createdAt, endsAt);
}

function readMuteType(type: string | null | undefined): PenaltyType {
  switch (type) {
    case '0':
      return 'mute';
    case '1':
      return 'gag';
    case '2':
      return 'silence';
    default:
      throw new InvalidInput(
        `the mute_type ${JSON.stringify(type ?? null)} is not known: 0 mute, 1 gag, 2 silence`,
      );
  }
}

function readServerId(
  id: string | null | undefined,
  serverIds: ReadonlyMap<string, number>,
  remark: (reason: string) => void,
): number {
  if (id === null || id === undefined) return 0;
  const serverId = serverIds.get(id);
  if (serverId === undefined) remark(`its server ${id} is not at the source any more: kept without a server`);
  return serverId ?? 0;
}

/** IKS keeps no moment of lifting: the last change of a lifted row is taken for it. */
function readLift(row: SourceRow, status: PenaltyStatus) {
  if (status !== 'UNBANNED')
    return { liftedAt: null, liftedByName: null, liftedBySteamId: null, liftReason: null };
  return {
    liftedAt: parseUnixSeconds(row.updated_at) ?? null,
    liftedByName: cleanText(row.lifter_name, LONGEST_NAME) || null,
    liftedBySteamId: readAdminSteamId(row.lifter_steamid),
    liftReason: cleanText(row.unban_reason, LONGEST_REASON) || null,
  };
}
