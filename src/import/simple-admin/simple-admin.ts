import { InvalidInput } from '../../domain/errors.ts';
import { MUTE_TYPES, type PenaltyStatus } from '../../domain/penalty.ts';
import { HOUR_MS } from '../../domain/time.ts';
import type { ItemReport, Warn } from '../import-run.ts';
import { extendTable, findSourceTable, type SourceDatabase, type SourceRow } from '../source/tables.ts';
import { computeCreationMs, parseDurationMinutes } from '../source/values.ts';
import { parseWallClock, type WallClock, wallClockToInstant } from '../source/wall-clock.ts';
import {
  type AdminTable,
  findType,
  joinAdmin,
  type PenaltyTable,
  type SourceSystem,
} from '../source-system.ts';
import { readSimpleAdmins } from './admins.ts';

type SystemOptions = {
  /** The plugin's configured zone, `UTC` by default; ignored for SQLite files, which are in UTC. */
  timezone?: string | undefined;
  /** Counts down mutes by the minutes that the player was online (`passed`) where it is set; off by default. */
  trustsOnlineTime?: boolean | undefined;
};

/** How the rows of one database are read. */
type RowOptions = { toInstant: (wallClock: WallClock) => Date; trustsOnlineTime: boolean };

/**
 * CS2-SimpleAdmin. Removing an admin there deletes the bans that they lifted.
 * @throws {InvalidInput} for an unknown zone.
 */
export function simpleAdminSystem({
  timezone = 'UTC',
  trustsOnlineTime = false,
}: SystemOptions): SourceSystem {
  const fromZone = wallClockToInstant(timezone);
  const fromUtc = wallClockToInstant('UTC');
  const timezoneOf = ({ kind }: SourceDatabase) => (kind === 'sqlite' ? 'UTC' : timezone);
  const toInstantOf = (database: SourceDatabase) => (timezoneOf(database) === timezone ? fromZone : fromUtc);
  return {
    kind: 'simpleadmin',
    prefix: '',
    timezoneOf,
    tables: {
      penalties: TABLES.map(({ name }) => name),
      lifts: { sa_unbans: 'sa_bans', sa_unmutes: 'sa_mutes' },
      admins: ['sa_admins', 'sa_admins_flags', 'sa_groups', 'sa_groups_flags', 'sa_groups_servers'],
    },
    servers: { name: 'sa_servers', columns: { needed: ['id'], optional: ['hostname as name', 'address'] } },
    readAdmins: (database) => readSimpleAdmins(database, toInstantOf(database)),
    findTables: (database) => {
      const options = { toInstant: toInstantOf(database), trustsOnlineTime };
      return Promise.all(TABLES.map((description) => findTable(database, description, options)));
    },
  };
}

/** The three tables, and where each stores who lifted a penalty. */
const TABLES = [
  {
    name: 'sa_bans',
    types: ['ban'],
    lifts: { name: 'sa_unbans', verb: 'unban', penaltyId: 'ban_id' },
  },
  {
    name: 'sa_mutes',
    types: MUTE_TYPES,
    lifts: { name: 'sa_unmutes', verb: 'unmute', penaltyId: 'mute_id' },
  },
  { name: 'sa_warns', types: ['warn'], lifts: undefined },
] as const;

type TableDescription = (typeof TABLES)[number];
type LiftTable = NonNullable<TableDescription['lifts']>;

const ADMINS: AdminTable = {
  table: 'sa_admins',
  key: 'id',
  name: 'player_name',
  steamId: 'player_steamid',
};

/** Finds a table and its columns, which differ by version; SQLite files often have an old one. */
async function findTable(
  database: SourceDatabase,
  { name, types, lifts }: TableDescription,
  options: RowOptions,
): Promise<PenaltyTable | undefined> {
  const table = await findSourceTable(database, name, {
    needed: ['id', 'player_steamid', 'duration', 'created', 'status'],
    optional: [
      'player_name',
      'admin_steamid',
      'admin_name',
      'reason',
      'passed',
      'ends',
      'server_id',
      'type as mute_type',
    ],
  });
  if (!table) return undefined;
  const isMysql = database.kind === 'mysql';
  // Old versions of MySQL set a table's first timestamp at every change of its row, unless it is declared otherwise.
  const isCreationRewritten = /on update/i.test(table.columns.get('created') ?? '');
  return {
    name,
    source: lifts ? await joinLifts(database, table, lifts) : table,
    key: 'id',
    types,
    // Old versions have no row of the console.
    consoleName: 'Console',
    // An empty status counts as active until its end.
    isActiveAt: () => "p.status in ('ACTIVE', '')",
    // SQLite has no ON UPDATE, and only some versions of the plugin set the column themselves.
    ...(isMysql &&
      table.columns.has('updated_at') && {
        isChangedSince: (seconds: number) => `p.updated_at >= from_unixtime(${seconds})`,
      }),
    parseCreation: ({ created }) => {
      const wallClock = isCreationRewritten ? undefined : parseWallClock(created);
      return wallClock === undefined ? undefined : options.toInstant(wallClock);
    },
    parseStatus,
    parseTerms: ([row], report) => ({ type: parseType(types, row), ...parseLength(row, options, report) }),
  };
}

/**
 * Joins the newest record of a lift: the one that a penalty names, or the last one that names the penalty. The panel
 * css-bans writes only the latter, and its reason also into the penalty.
 */
async function joinLifts(
  database: SourceDatabase,
  table: ReturnType<typeof extendTable>,
  { name, verb, penaltyId }: LiftTable,
) {
  const panelReason = table.columns.has(`${verb}_reason`) ? `p.${verb}_reason` : 'null';
  const columns = await database.listColumns(name);
  if (!columns.has('admin_id') || !columns.has(penaltyId)) {
    return extendTable(table, [`${panelReason} as lift_reason`]);
  }
  const liftId = table.columns.has(`${verb}_id`) ? `p.${verb}_id` : 'null';
  const liftedAt = database.kind === 'mysql' ? 'unix_timestamp(l.date)' : "strftime('%s', l.date)";
  const joinedTable = extendTable(
    table,
    [
      'l.id as lift_id',
      `${liftedAt} as lifted_at`,
      'l.admin_id as lifter_id',
      `coalesce(l.reason, ${panelReason}) as lift_reason`,
    ],
    [
      `left join ${name} named on named.id = ${liftId}`,
      `left join (select ${penaltyId}, max(id) as id from ${name} group by ${penaltyId}) newest on newest.${penaltyId} = p.id`,
      `left join ${name} l on l.id = case when newest.id > named.id or named.id is null then newest.id else named.id end`,
    ],
  );
  const hasAdmins = (await database.listColumns(ADMINS.table)).has(ADMINS.name);
  return hasAdmins ? joinAdmin(joinedTable, 'lifter', 'l.admin_id', ADMINS) : joinedTable;
}

function parseType(types: TableDescription['types'], { mute_type }: SourceRow) {
  if (types.length === 1) return types[0];
  const code = mute_type?.toUpperCase() || 'MUTE';
  return findType('type', code, { GAG: 'gag', MUTE: 'mute', SILENCE: 'silence' });
}

function parseStatus({ status, lift_id }: SourceRow): PenaltyStatus {
  switch (status?.toUpperCase() ?? '') {
    case 'ACTIVE':
      return 'ACTIVE';
    case '':
      // MySQL stores a status as '' that the column does not allow, such as UNBANNED for a mute.
      return lift_id ? 'UNBANNED' : 'ACTIVE';
    case 'EXPIRED':
      return 'EXPIRED';
    case 'UNBANNED':
    case 'UNMUTED':
      return 'UNBANNED';
    default:
      throw new InvalidInput(`the status ${JSON.stringify(status?.slice(0, 64))} is not known`);
  }
}

function parseLength(row: SourceRow, { toInstant, trustsOnlineTime }: RowOptions, { warn }: ItemReport) {
  const durationMinutes = parseDurationMinutes(row.duration, 'minutes');
  const status = parseStatus(row);
  if (!row.status) warn(`its status is empty: treated as ${row.lift_id ? 'lifted' : 'active until its end'}`);
  const times = parseTimes(row, { durationMinutes, isLifted: status === 'UNBANNED' }, warn);
  const countsOnlineTime = trustsOnlineTime && durationMinutes > 0 && /^[0-9]+$/.test(row.passed ?? '');
  const isServed = countsOnlineTime && Number(row.passed) >= durationMinutes;
  return {
    durationMinutes,
    createdAt: toInstant(times.created),
    // When the player will have been online for long enough is unknown: such a mute has no end time.
    endsAt: times.ends === undefined || countsOnlineTime ? null : toInstant(times.ends),
    ...(status === 'ACTIVE' && isServed && { status: 'EXPIRED' as const }),
  };
}

/** Times written by the plugin and by the database differ by up to this. */
const CLOCK_NOISE_MS = 2000;
/** The largest difference between two time zones. */
const WIDEST_GAP_HOURS = 26;

/** Creation and end by the plugin's wall clock; a permanent penalty has no end, even if `ends` is set. */
function parseTimes(
  row: SourceRow,
  { durationMinutes, isLifted }: { durationMinutes: number; isLifted: boolean },
  warn: Warn,
): { created: WallClock; ends: WallClock | undefined } {
  const durationMs = durationMinutes * 60_000;
  const isPermanent = durationMinutes === 0;
  const ends = isPermanent ? undefined : parseWallClock(row.ends);
  const created = parseWallClock(row.created) ?? computeCreationMs({ endsMs: ends, durationMs }, warn);
  if (isPermanent) return { created, ends };
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
