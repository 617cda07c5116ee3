import { InvalidInput } from '../../domain/errors.ts';
import type { PenaltyType } from '../../domain/penalty.ts';
import type { ImportedPenalty } from '../../queries/penalties/imported.ts';
import { ACTIVE, EXPIRED, type PenaltyState } from '../checked-penalty.ts';
import type { ItemParser, ItemReport, Warn } from '../import-run.ts';
import { findServerId, type ServerIds } from '../servers.ts';
import { cleanText, MAX_NAME_LENGTH, MAX_REASON_LENGTH } from '../source/clean-text.ts';
import type { SourceDatabase, SourceRow } from '../source/source-database.ts';
import { findSourceTable, type SourceTable } from '../source/tables.ts';
import {
  computeCreationMs,
  parseDurationMinutes,
  parsePlayerSteamId,
  parseUnixSeconds,
  toAdminSteamId,
  toJoinedAdmin,
} from '../source/values.ts';
import { parseWallClock, type WallClock } from '../source/wall-clock.ts';

/** The three tables of CS2-SimpleAdmin, and where each stores who lifted a penalty. */
const TABLES = [
  { name: 'sa_bans', lifts: { name: 'sa_unbans', verb: 'unban', penaltyId: 'ban_id' } },
  { name: 'sa_mutes', lifts: { name: 'sa_unmutes', verb: 'unmute', penaltyId: 'mute_id' } },
  { name: 'sa_warns', lifts: undefined },
] as const;

export type SimpleAdminTableName = (typeof TABLES)[number]['name'];

/** One of the tables as it is in this database. */
export type SimpleAdminTable = SourceTable<SimpleAdminTableName>;

const NEEDED = ['id', 'player_steamid', 'duration', 'created', 'status'];
const WANTED = [
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
 * Finds the tables and their columns, which differ by version; SQLite files often have an old one.
 * @throws {InvalidInput} when the database has none of the tables, or one lacks a required column.
 */
export async function findSimpleAdminTables(database: SourceDatabase): Promise<SimpleAdminTable[]> {
  const hasAdmins = (await database.listColumns('sa_admins')).has('player_name');
  const tables: SimpleAdminTable[] = [];
  for (const { name, lifts } of TABLES) {
    const table = await findSourceTable(database, name, { needed: NEEDED, wanted: WANTED });
    if (!table) continue;
    const { columns } = table;
    const [selected, joins] = [[...table.selected], [...table.joins]];
    const liftJoins = lifts && joinNewestLift(lifts, columns, await database.listColumns(lifts.name));
    if (liftJoins) {
      const date = database.kind === 'mysql' ? 'unix_timestamp(l.date)' : "strftime('%s', l.date)";
      const lift = [
        'l.id as lift_id',
        `${date} as lifted_at`,
        'l.admin_id as lifter_id',
        'l.reason as lift_reason',
      ];
      selected.push(...lift);
      joins.push(...liftJoins);
      if (hasAdmins) {
        selected.push('a.player_name as lifter_name', 'a.player_steamid as lifter_steamid');
        joins.push('left join sa_admins a on a.id = l.admin_id');
      }
    }
    const panelReason = lifts && `${lifts.verb}_reason`;
    if (panelReason && columns.has(panelReason)) selected.push(`p.${panelReason} as panel_reason`);
    tables.push({ ...table, selected, joins });
  }
  if (tables.length > 0) return tables;
  throw new InvalidInput(
    'the source has no sa_bans, sa_mutes or sa_warns: is it a CS2-SimpleAdmin database?',
  );
}

type LiftTable = NonNullable<(typeof TABLES)[number]['lifts']>;

/**
 * Joins as `l` the newest record of a lift: the one that a penalty names, or the last one that names the penalty. The panel
 * css-bans writes only the latter. Undefined if the table does not have the columns.
 */
function joinNewestLift(
  { name, verb, penaltyId }: LiftTable,
  columns: ReadonlySet<string>,
  liftColumns: ReadonlySet<string>,
): string[] | undefined {
  if (!liftColumns.has('admin_id') || !liftColumns.has(penaltyId)) return undefined;
  const liftId = columns.has(`${verb}_id`) ? `p.${verb}_id` : 'null';
  return [
    `left join ${name} named on named.id = ${liftId}`,
    `left join (select ${penaltyId}, max(id) as id from ${name} group by ${penaltyId}) newest on newest.${penaltyId} = p.id`,
    `left join ${name} l on l.id = case when newest.id > named.id or named.id is null then newest.id else named.id end`,
  ];
}

export type SimpleAdminRowOptions = {
  serverIds: ServerIds;
  /** The plugin's configured zone; SQLite files are in UTC. */
  toInstant: (wallClock: WallClock) => Date;
  /** Counts down a mute by the minutes that the player was online (`passed`), instead of by the clock. */
  trustsOnlineTime: boolean;
};

/** The parser for the rows of one of the tables. */
export function createSimpleAdminParser(
  table: SimpleAdminTableName,
  options: SimpleAdminRowOptions,
): ItemParser<readonly SourceRow[]> {
  return {
    table,
    idsOf: (rows) => rows.map(({ id }) => id ?? ''),
    parse: ([row = {}], report) => parseRow(table, row, { ...options, ...report }),
    parseState: ([row = {}]) => parseState(row),
  };
}

function parseRow(
  table: SimpleAdminTableName,
  row: SourceRow,
  { serverIds, toInstant, trustsOnlineTime, warn }: SimpleAdminRowOptions & ItemReport,
): ImportedPenalty {
  const playerSteamId = parsePlayerSteamId(row.player_steamid);
  const durationMinutes = parseDurationMinutes(row.duration, 'minutes');
  const state = parseState(row);
  if (!row.status) warn(`its status is empty: treated as ${row.lift_id ? 'lifted' : 'active until its end'}`);
  const times = parseTimes(row, { durationMinutes, isLifted: state.status === 'UNBANNED' }, warn);
  const countsOnlineTime = trustsOnlineTime && durationMinutes > 0 && /^[0-9]+$/.test(row.passed ?? '');
  // When the player will have been online for long enough is unknown: such a mute has no end time.
  const endsAt = times.ends === undefined || countsOnlineTime ? null : toInstant(times.ends);
  const isServed = countsOnlineTime && Number(row.passed) >= durationMinutes;
  return {
    sourceTable: table,
    sourceId: row.id ?? '',
    type: parseType(table, row.type ?? ''),
    playerName: cleanText(row.player_name, MAX_NAME_LENGTH),
    playerSteamId,
    adminName: cleanText(row.admin_name, MAX_NAME_LENGTH),
    adminSteamId: toAdminSteamId(row.admin_steamid),
    reason: cleanText(row.reason, MAX_REASON_LENGTH),
    durationMinutes,
    serverId: findServerId(serverIds, row.server_id, warn),
    createdAt: toInstant(times.created),
    endsAt,
    ...(state.status === 'ACTIVE' && isServed ? EXPIRED : state),
  };
}

const HOUR_MS = 3_600_000;
/** Times written by the plugin and by the database differ by up to this. */
const CLOCK_NOISE_MS = 2000;
/** The largest difference between two time zones. */
const WIDEST_GAP_HOURS = 26;

/** Creation and end by the plugin's wall clock; a permanent penalty has no end, even if `ends` is set. */
function parseTimes(
  row: SourceRow,
  { durationMinutes, isLifted }: { durationMinutes: number; isLifted: boolean },
  warn: Warn,
) {
  const durationMs = durationMinutes * 60_000;
  const isPermanent = durationMinutes === 0;
  const ends = isPermanent ? undefined : parseWallClock(row.ends);
  const created = parseWallClock(row.created) ?? computeCreationMs({ endsMs: ends, durationMs }, warn);
  if (isPermanent) return { created, ends: undefined };
  if (ends === undefined) {
    warn('it has a duration but no end: computed as its creation plus its duration');
    return { created, ends: created + durationMs };
  }
  // The panel css-bans sets the end to the time of the lift.
  if (isLifted) return { created, ends };
  const gapMs = ends - created - durationMs;
  const gapHours = Math.round(gapMs / HOUR_MS);
  const isWholeHours = Math.abs(gapMs - gapHours * HOUR_MS) <= CLOCK_NOISE_MS;
  if (isWholeHours && gapHours !== 0 && Math.abs(gapHours) <= WIDEST_GAP_HOURS) {
    warn(`its end is ${gapHours} h off its creation plus its duration: they were written by two clocks`);
  }
  return { created, ends };
}

function parseType(table: SimpleAdminTableName, type: string): PenaltyType {
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

function parseState(row: SourceRow): PenaltyState {
  const status = row.status ?? '';
  switch (status.toUpperCase()) {
    case 'ACTIVE':
      return ACTIVE;
    case '':
      // MySQL stores a status as '' that the column does not allow, such as UNBANNED for a mute.
      return row.lift_id ? parseLift(row) : ACTIVE;
    case 'EXPIRED':
      return EXPIRED;
    case 'UNBANNED':
    case 'UNMUTED':
      return parseLift(row);
    default:
      throw new InvalidInput(`the status ${JSON.stringify(status.slice(0, 64))} is not known`);
  }
}

function parseLift(row: SourceRow): PenaltyState {
  const liftReason = cleanText(row.lift_reason ?? row.panel_reason, MAX_REASON_LENGTH) || null;
  // Admin 0 is the console, which has no row in old versions.
  const lifter = toJoinedAdmin(row.lifter_name, row.lifter_steamid, row.lifter_id === '0' && 'Console');
  return {
    status: 'UNBANNED',
    liftedAt: parseUnixSeconds(row.lifted_at) ?? null,
    liftedByName: lifter.name || null,
    liftedBySteamId: lifter.steamId,
    liftReason,
  };
}
