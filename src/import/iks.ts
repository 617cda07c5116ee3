import { InvalidInput } from '../domain/errors.ts';
import { MUTE_TYPES, type PenaltyType } from '../domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../domain/steam-id.ts';
import type { ImportedPenalty } from '../queries/penalties/imported.ts';
import {
  type AdminRights,
  findRows,
  loadRows,
  toAdminRights,
  toGroupPermission,
  toLetters,
} from './admin-rights.ts';
import { ACTIVE, type PenaltyState } from './checked-penalty.ts';
import { BAN_BY_ADDRESS, type ImportSummary } from './import-report.ts';
import type { ImportDeps, ItemReport, Warn } from './import-run.ts';
import { importSource, type SourceOptions } from './import-source.ts';
import { findServerId, matchSourceServers, type ServerIds, type SourceServerTable } from './servers.ts';
import { cleanText, MAX_NAME_LENGTH, MAX_REASON_LENGTH } from './source/clean-text.ts';
import type { SourceDatabase, SourceRow } from './source/source-database.ts';
import { findSourceTable, type SourceTable } from './source/tables.ts';
import {
  computeCreationMs,
  minutesBetween,
  parseDurationMinutes,
  parsePlayerSteamId,
  parseUnixSeconds,
  toJoinedAdmin,
} from './source/values.ts';
import type { SourceSystem } from './source-system.ts';

/** Without `iks_admins_warns`, which contains warnings given to admins. */
const TABLES = ['iks_bans', 'iks_comms'] as const;
type TableName = (typeof TABLES)[number];

const SERVERS: SourceServerTable = {
  name: 'iks_servers',
  needed: ['id', 'ip'],
  wanted: ['name'],
  // `ip` includes the port.
  toServer: ({ id, name, ip }) => ({ sourceServerId: id ?? '', name: name ?? null, address: ip ?? '' }),
};

/** Imports the bans and communication bans of an IKS Admin 3 database; see {@link importSource}. */
export async function importIks(deps: ImportDeps, options: SourceOptions): Promise<ImportSummary> {
  return importSource(deps, IKS, options);
}

/** IKS Admin 3. Rows that it marked as deleted are not read: those that were imported are marked as gone, and kept. */
export const IKS: SourceSystem = {
  kind: 'iks',
  prefix: '',
  serverTable: SERVERS.name,
  readAdmins: readIksAdmins,
  async openTables(run, database) {
    const found = await Promise.all(TABLES.map((name) => findTable(database, name)));
    const sources = found.filter((table) => table !== undefined);
    if (sources.length === 0) throw new InvalidInput('the source has neither iks_bans nor iks_comms');
    const serverIds = await matchSourceServers(run, database, SERVERS);
    return sources.map((source) => ({
      source,
      key: 'id',
      types: source.name === 'iks_bans' ? (['ban'] as const) : MUTE_TYPES,
      isActiveAt: (seconds) => `${notUnbanned(source)} and (p.end_at = 0 or p.end_at > ${seconds})`,
      parser: {
        table: source.name,
        idsOf: (rows) => rows.map(({ id }) => id ?? ''),
        parse: ([row = {}], report) => parseRow(source.name, row, { serverIds, ...report }),
        parseState: ([row = {}]) => parseState(row),
      },
    }));
  },
};

const NEEDED = ['id', 'steam_id', 'duration', 'created_at', 'end_at'];
const WANTED = [
  'name',
  'reason',
  'server_id',
  'admin_id',
  'ban_type',
  'mute_type',
  'unban_reason',
  'updated_at',
];

async function findTable(
  database: SourceDatabase,
  name: TableName,
): Promise<SourceTable<TableName> | undefined> {
  const table = await findSourceTable(database, name, { needed: NEEDED, wanted: WANTED });
  if (!table) return undefined;
  const { columns } = table;
  const [selected, joins] = [[...table.selected], [...table.joins]];
  const unbannedBy = findUnbannedBy(table);
  selected.push(unbannedBy ? `p.${unbannedBy} as unbanned_by` : 'null as unbanned_by');
  if ((await database.listColumns('iks_admins')).has('steam_id')) {
    selected.push('a.name as admin_name', 'a.steam_id as admin_steamid');
    joins.push('left join iks_admins a on a.id = p.admin_id');
    if (unbannedBy) {
      selected.push('l.name as lifter_name', 'l.steam_id as lifter_steamid');
      joins.push(`left join iks_admins l on l.id = p.${unbannedBy}`);
    }
  }
  const condition = columns.has('deleted_at') ? 'p.deleted_at is null' : table.condition;
  return { ...table, selected, joins, condition };
}

/** Misspelled in the first releases. */
function findUnbannedBy({ columns }: SourceTable): string | undefined {
  return ['unbanned_by', 'ubanned_by'].find((column) => columns.has(column));
}

function notUnbanned(table: SourceTable): string {
  const unbannedBy = findUnbannedBy(table);
  return unbannedBy ? `p.${unbannedBy} is null` : 'true';
}

function parseRow(
  table: TableName,
  row: SourceRow,
  { serverIds, warn, assume }: { serverIds: ServerIds } & ItemReport,
): ImportedPenalty {
  const endsAt = parseUnixSeconds(row.end_at) ?? null;
  const length = { endsMs: endsAt?.getTime(), durationMs: Number(row.duration) * 1000 };
  const createdAt = parseUnixSeconds(row.created_at) ?? new Date(computeCreationMs(length, warn));
  const durationMinutes = parseDuration(row, { createdAt, endsAt }, warn);
  const admin = toJoinedAdmin(row.admin_name, row.admin_steamid);
  const playerSteamId = parsePlayerSteamId(row.steam_id);
  if (row.ban_type === '1' && playerSteamId !== UNKNOWN_STEAM_ID) assume(BAN_BY_ADDRESS);
  if (isLifted(row) && row.unbanned_by === null) assume(UNBANNED_BY_NOBODY);
  return {
    sourceTable: table,
    sourceId: row.id ?? '',
    type: table === 'iks_bans' ? 'ban' : parseMuteType(row.mute_type),
    playerName: cleanText(row.name, MAX_NAME_LENGTH),
    playerSteamId,
    adminName: admin.name ?? '',
    adminSteamId: admin.steamId,
    reason: cleanText(row.reason, MAX_REASON_LENGTH),
    durationMinutes,
    serverId: findServerId(serverIds, row.server_id, warn),
    createdAt,
    endsAt,
    ...parseState(row),
  };
}

const UNBANNED_BY_NOBODY = 'with an unban_reason but no unbanned_by: UNBANNED by somebody unknown';

/** Whether an admin lifted it; `unban_reason` alone says so too. */
function isLifted(row: SourceRow): boolean {
  return row.unbanned_by !== null || Boolean(row.unban_reason);
}

/** IKS only looks at `end_at`: a duration that says permanent where `end_at` does not, or the reverse, is corrected. */
function parseDuration(
  row: SourceRow,
  { createdAt, endsAt }: { createdAt: Date; endsAt: Date | null },
  warn: Warn,
): number {
  const duration = parseDurationMinutes(row.duration, 'seconds');
  if (endsAt === null) {
    if (duration !== 0) warn('it has a duration but no end: kept as permanent, as IKS treats it');
    return 0;
  }
  if (duration !== 0) return duration;
  warn('it has an end but no duration: computed from its creation and its end');
  return minutesBetween(createdAt, endsAt);
}

function parseMuteType(type: string | null | undefined): PenaltyType {
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

/** IKS does not record when a penalty was lifted: the time of the row's last change is used. */
function parseState(row: SourceRow): PenaltyState {
  if (!isLifted(row)) return ACTIVE;
  const lifter = toJoinedAdmin(row.lifter_name, row.lifter_steamid);
  return {
    status: 'UNBANNED',
    liftedAt: parseUnixSeconds(row.updated_at) ?? null,
    liftedByName: lifter.name || null,
    liftedBySteamId: lifter.steamId,
    liftReason: cleanText(row.unban_reason, MAX_REASON_LENGTH) || null,
  };
}

/**
 * The admins of an IKS Admin 3 database who are neither deleted nor disabled, on any server.
 * @throws {InvalidInput} when a table that they need is missing.
 */
async function readIksAdmins(database: SourceDatabase): Promise<AdminRights[]> {
  const admins = await loadRows(database, 'iks_admins', {
    needed: ['steam_id', 'flags'],
    wanted: ['group_id', 'is_disabled', 'end_at', 'deleted_at'],
  });
  const groups = await findRows(database, 'iks_groups', { needed: ['id', 'name', 'flags'] });
  if (!groups && admins.some(({ group_id }) => isSet(group_id))) {
    throw new InvalidInput('the source has no table iks_groups, or its user may not read it');
  }
  const groupsById = new Map(groups?.map((group) => [group.id, group]));
  return admins.flatMap((admin) => {
    const endsAt = tryParseEnd(admin.end_at);
    if (endsAt === undefined || isSet(admin.is_disabled) || isSet(admin.deleted_at)) return [];
    const group = isSet(admin.group_id) ? groupsById.get(admin.group_id ?? null) : undefined;
    const permissions = [
      ...toLetters(admin.flags),
      ...(group ? [toGroupPermission(group.name ?? ''), ...toLetters(group.flags)] : []),
    ];
    return toAdminRights(admin.steam_id, { permissions, endsAt }) ?? [];
  });
}

function isSet(value: string | null | undefined): boolean {
  return value !== null && value !== undefined && value !== '' && value !== '0';
}

/** @returns null for ever; undefined for what is no time. */
function tryParseEnd(text: string | null | undefined): Date | null | undefined {
  try {
    return parseUnixSeconds(text) ?? null;
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}
