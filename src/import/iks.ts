import { MUTE_TYPES } from '../domain/penalty.ts';
import { readLetterAdmins } from './admin-rights.ts';
import type { Warn } from './import-run.ts';
import { extendTable, findSourceTable, type SourceDatabase, type SourceRow } from './source/tables.ts';
import {
  computeCreationMs,
  minutesBetween,
  parseDurationMinutes,
  parseUnixSeconds,
} from './source/values.ts';
import {
  type AdminTable,
  findType,
  joinAdmin,
  type PenaltyTable,
  type SourceSystem,
} from './source-system.ts';

/** IKS Admin 3. Rows that it marked as deleted are not read: those that were imported are marked as gone, and kept. */
export const IKS: SourceSystem = {
  kind: 'iks',
  prefix: '',
  tables: { penalties: ['iks_bans', 'iks_comms'], admins: ['iks_admins', 'iks_groups'] },
  // `ip` includes the port.
  servers: { name: 'iks_servers', columns: { needed: ['id'], optional: ['name', 'ip as address'] } },
  readAdmins: (database) =>
    readLetterAdmins(
      database,
      {
        table: ADMINS.table,
        columns: {
          needed: ['steam_id', 'flags'],
          optional: ['group_id as group_key', 'is_disabled', 'end_at', 'deleted_at'],
        },
      },
      { table: 'iks_groups', columns: { needed: ['id as group_key', 'name', 'flags'] } },
    ),
  // Without `iks_admins_warns`, which contains warnings given to admins.
  findTables: (database) => Promise.all([findTable(database, 'iks_bans'), findTable(database, 'iks_comms')]),
};

const COLUMNS = {
  needed: ['id', 'steam_id as player_steamid', 'duration', 'created_at', 'end_at'],
  optional: [
    'name as player_name',
    'reason',
    'server_id',
    'admin_id',
    'ban_type',
    'mute_type',
    'unban_reason as lift_reason',
    // It does not record when a penalty was lifted: the time of the row's last change is used.
    'updated_at as lifted_at',
  ],
};
const ADMINS: AdminTable = { table: 'iks_admins', key: 'id', name: 'name', steamId: 'steam_id' };

async function findTable(
  database: SourceDatabase,
  name: 'iks_bans' | 'iks_comms',
): Promise<PenaltyTable | undefined> {
  const table = await findSourceTable(database, name, COLUMNS);
  if (!table) return undefined;
  const { columns } = table;
  // Misspelled in the first releases.
  const unbannedBy = ['unbanned_by', 'ubanned_by'].find((column) => columns.has(column));
  const lifterId = unbannedBy ? `p.${unbannedBy}` : 'null';
  let source = extendTable(table, [`${lifterId} as lifter_id`]);
  if ((await database.listColumns(ADMINS.table)).has(ADMINS.steamId)) {
    source = joinAdmin(joinAdmin(source, 'admin', 'p.admin_id', ADMINS), 'lifter', lifterId, ADMINS);
  }
  if (columns.has('deleted_at')) source = { ...source, condition: 'p.deleted_at is null' };
  return {
    name,
    source,
    key: 'id',
    types: name === 'iks_bans' ? ['ban'] : MUTE_TYPES,
    isActiveAt: (seconds) => `${lifterId} is null and (p.end_at = 0 or p.end_at > ${seconds})`,
    parseCreation: ({ created_at }) => parseUnixSeconds(created_at),
    // A row with only an `unban_reason` was lifted, too.
    parseStatus: ({ lifter_id, lift_reason }) => (lifter_id !== null || lift_reason ? 'UNBANNED' : 'ACTIVE'),
    parseTerms: ([row], { warn, assume }) => {
      const endsAt = parseUnixSeconds(row.end_at) ?? null;
      const length = { endsMs: endsAt?.getTime(), durationMs: Number(row.duration) * 1000 };
      const createdAt = parseUnixSeconds(row.created_at) ?? new Date(computeCreationMs(length, warn));
      const durationMinutes = parseDuration(row, { createdAt, endsAt }, warn);
      const type =
        name === 'iks_bans'
          ? 'ban'
          : findType('mute_type', row.mute_type, { 0: 'mute', 1: 'gag', 2: 'silence' });
      if (row.lifter_id === null && row.lift_reason) assume(UNBANNED_BY_NOBODY);
      return { type, durationMinutes, createdAt, endsAt };
    },
  };
}

const UNBANNED_BY_NOBODY = 'with an unban_reason but no unbanned_by: UNBANNED by somebody unknown';

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
