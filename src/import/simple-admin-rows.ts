import { InvalidInput } from '../errors.ts';
import { type PenaltyStatus, type PenaltyType, statusAt } from '../penalty.ts';
import { cleanText, LONGEST_NAME, LONGEST_REASON } from './clean-text.ts';
import type { ItemReader } from './import-run.ts';
import type { ImportedPenalty } from './penalty-writer.ts';
import type { SourceDatabase, SourceRow } from './source-database.ts';
import {
  parseDurationMinutes,
  parsePlayerSteamId,
  parseUnixSeconds,
  readAdminSteamId,
} from './source-values.ts';
import { parseWallClock, type WallClock } from './wall-clock.ts';

/** The three tables of CS2-SimpleAdmin, and where each keeps who lifted a penalty. */
const TABLES = [
  { name: 'sa_bans', lifts: 'sa_unbans', liftId: 'unban_id', panelReason: 'unban_reason' },
  { name: 'sa_mutes', lifts: 'sa_unmutes', liftId: 'unmute_id', panelReason: 'unmute_reason' },
  { name: 'sa_warns', lifts: undefined, liftId: undefined, panelReason: undefined },
] as const;

export type SimpleAdminTableName = (typeof TABLES)[number]['name'];

/** One of the tables as it is in this database: `select` has no WHERE yet, the rows are `p`. */
export type SimpleAdminTable = { name: SimpleAdminTableName; select: string; columns: Set<string> };

const NEEDED = ['id', 'player_steamid', 'duration', 'created', 'status'];
const WANTED = [
  ...NEEDED,
  'player_name',
  'admin_steamid',
  'admin_name',
  'reason',
  'passed',
  'ends',
  'server_id',
  'type',
];

/**
 * Looks at the columns that are there: they differ by version, and an SQLite file is often stuck at an old one.
 * @throws {InvalidInput} when the database holds none of the tables, or one lacks what a penalty cannot do without.
 */
export async function findSimpleAdminTables(source: SourceDatabase): Promise<SimpleAdminTable[]> {
  const hasAdmins = (await source.listColumns('sa_admins')).has('player_name');
  const tables: SimpleAdminTable[] = [];
  for (const { name, lifts, liftId, panelReason } of TABLES) {
    const columns = await source.listColumns(name);
    if (columns.size === 0) continue;
    const missing = NEEDED.filter((column) => !columns.has(column));
    if (missing.length > 0)
      throw new InvalidInput(`the table ${name} of the source has no column ${missing.join(', ')}`);
    const hasLifts =
      liftId !== undefined && columns.has(liftId) && (await source.listColumns(lifts)).has('admin_id');
    const selected = WANTED.map((column) => (columns.has(column) ? `p.${column}` : `null as ${column}`));
    if (hasLifts) {
      const date = source.kind === 'mysql' ? 'unix_timestamp(l.date)' : "strftime('%s', l.date)";
      selected.push(`${date} as lifted_at`, 'l.admin_id as lifter_id', 'l.reason as lift_reason');
      if (hasAdmins) selected.push('a.player_name as lifter_name', 'a.player_steamid as lifter_steamid');
    }
    if (panelReason && columns.has(panelReason)) selected.push(`p.${panelReason} as panel_reason`);
    const joins = hasLifts
      ? ` left join ${lifts} l on l.id = p.${liftId}${hasAdmins ? ' left join sa_admins a on a.id = l.admin_id' : ''}`
      : '';
    tables.push({ name, columns, select: `select ${selected.join(', ')} from ${name} p${joins}` });
  }
  if (tables.length > 0) return tables;
  throw new InvalidInput(
    'the source holds no sa_bans, sa_mutes or sa_warns: is it a CS2-SimpleAdmin database?',
  );
}

export type SimpleAdminRowOptions = {
  now: Date;
  serverIds: ReadonlyMap<string, number>;
  /** The plugin's configured zone; SQLite files are in UTC. */
  toInstant: (wallClock: WallClock) => Date;
  /** Takes the minutes a player was online (`passed`) as what counts down a mute, instead of the clock. */
  trustsOnlineTime: boolean;
};

/** Makes penalties of the rows that a table's `select` returns. */
export function readSimpleAdminRows(
  table: SimpleAdminTableName,
  options: SimpleAdminRowOptions,
): ItemReader<SourceRow> {
  return {
    table,
    idOf: (row) => row.id ?? '',
    parse: (row, remark) => parseRow(table, row, remark, options),
  };
}

function parseRow(
  table: SimpleAdminTableName,
  row: SourceRow,
  remark: (reason: string) => void,
  { now, serverIds, toInstant, trustsOnlineTime }: SimpleAdminRowOptions,
): ImportedPenalty {
  const playerSteamId = parsePlayerSteamId(row.player_steamid);
  const durationMinutes = parseDurationMinutes(row.duration, 'minutes');
  const times = readTimes(row, durationMinutes, remark);
  const countsOnlineTime = trustsOnlineTime && durationMinutes > 0 && /^[0-9]+$/.test(row.passed ?? '');
  // Nobody knows when a player will have been online for long enough: such a mute has no end on the clock.
  const endsAt = times.ends === undefined || countsOnlineTime ? null : toInstant(times.ends);
  const told = readStatus(row.status ?? '', remark);
  const isServed = countsOnlineTime && Number(row.passed) >= durationMinutes;
  return {
    sourceTable: table,
    sourceId: row.id ?? '',
    type: readType(table, row.type ?? ''),
    status: statusAt(told === 'ACTIVE' && isServed ? 'EXPIRED' : told, endsAt, now),
    playerName: cleanText(row.player_name, LONGEST_NAME),
    playerSteamId,
    adminName: cleanText(row.admin_name, LONGEST_NAME),
    adminSteamId: readAdminSteamId(row.admin_steamid),
    reason: cleanText(row.reason, LONGEST_REASON),
    durationMinutes,
    serverId: readServerId(row.server_id, serverIds, remark),
    createdAt: toInstant(times.created),
    endsAt,
    ...readLift(row, told),
  };
}

const HOUR_MS = 3_600_000;
/** The plugin and the database write their times a moment apart. */
const CLOCK_NOISE_MS = 2000;
/** No two zones are further apart. */
const WIDEST_GAP_HOURS = 26;

/** When it began and ends, on the plugin's wall clock; what is permanent has no end, whatever `ends` says. */
function readTimes(row: SourceRow, durationMinutes: number, remark: (reason: string) => void) {
  const durationMs = durationMinutes * 60_000;
  const isPermanent = durationMinutes === 0;
  const created = parseWallClock(row.created);
  const told = isPermanent ? undefined : parseWallClock(row.ends);
  if (created === undefined) {
    if (told === undefined) throw new InvalidInput('it has no date of creation');
    remark('it has no date of creation: taken as its end less its duration');
    return { created: told - durationMs, ends: told };
  }
  if (isPermanent) return { created, ends: undefined };
  if (told === undefined) {
    remark('it has a duration and no end: taken as its creation plus its duration');
    return { created, ends: created + durationMs };
  }
  const gapMs = told - created - durationMs;
  const gapHours = Math.round(gapMs / HOUR_MS);
  const isWholeHours = Math.abs(gapMs - gapHours * HOUR_MS) <= CLOCK_NOISE_MS;
  if (isWholeHours && gapHours !== 0 && Math.abs(gapHours) <= WIDEST_GAP_HOURS) {
    remark(`its end is ${gapHours} h off its creation plus its duration: two clocks wrote it`);
  }
  return { created, ends: told };
}

function readType(table: SimpleAdminTableName, type: string): PenaltyType {
  if (table === 'sa_bans') return 'ban';
  if (table === 'sa_warns') return 'warn';
  switch (type.toUpperCase()) {
    case 'GAG':
      return 'gag';
    case 'MUTE':
    case '':
      return 'mute';
    case 'SILENCE':
      return 'silence';
    default:
      throw new InvalidInput(`the type ${JSON.stringify(type.slice(0, 64))} is not known`);
  }
}

function readStatus(status: string, remark: (reason: string) => void): PenaltyStatus {
  switch (status.toUpperCase()) {
    case 'ACTIVE':
      return 'ACTIVE';
    case 'EXPIRED':
      return 'EXPIRED';
    case 'UNBANNED':
    case 'UNMUTED':
      return 'UNBANNED';
    case '':
      remark('its status is empty: taken as active until its end');
      return 'ACTIVE';
    default:
      throw new InvalidInput(`the status ${JSON.stringify(status.slice(0, 64))} is not known`);
  }
}

function readServerId(
  id: string | null | undefined,
  serverIds: ReadonlyMap<string, number>,
  remark: (reason: string) => void,
): number {
  if (id === null || id === undefined || id === '' || id === '0') return 0;
  const serverId = serverIds.get(id);
  if (serverId === undefined) remark(`its server ${id} is not at the source any more: kept without a server`);
  return serverId ?? 0;
}

function readLift(row: SourceRow, status: PenaltyStatus) {
  const none = { liftedAt: null, liftedByName: null, liftedBySteamId: null, liftReason: null };
  if (status !== 'UNBANNED') return none;
  const liftReason = cleanText(row.lift_reason ?? row.panel_reason, LONGEST_REASON) || null;
  if (row.lifter_id === null || row.lifter_id === undefined) return { ...none, liftReason };
  return {
    liftedAt: parseUnixSeconds(row.lifted_at) ?? null,
    // Admin 0 is the console, whose row old versions lack.
    liftedByName: cleanText(row.lifter_name, LONGEST_NAME) || (row.lifter_id === '0' ? 'Console' : null),
    liftedBySteamId: readAdminSteamId(row.lifter_steamid),
    liftReason,
  };
}
