import { InvalidInput } from '../../domain/errors.ts';
import { MUTE_TYPES } from '../../domain/penalty.ts';
import { SYSTEMS } from '../../domain/systems.ts';
import { readLetterAdmins } from '../admin-rights.ts';
import { findSourceTable, type SourceDatabase, type SourceRow } from '../source/tables.ts';
import { computeCreationMs, parseDurationMinutes, parseUnixSeconds } from '../source/values.ts';
import {
  type AdminTable,
  findType,
  joinAdmin,
  type PenaltyTable,
  type SourceSystem,
} from '../source-system.ts';
import { decodeEntities } from './entities.ts';
import { parseRemoval } from './removal.ts';
import { completeComms, readComms } from './silences.ts';

/** A communication ban "for this session" gets this duration, since the end of a session is not recorded. */
const SESSION_MINUTES = 120;

/**
 * SourceBans++. A mute and a gag of the same player, time and length are one silence, unless only one of them is lifted.
 * @param options.prefix of the table names, `sb_` by default; `sb` means the same.
 * @throws {InvalidInput} for an invalid prefix.
 */
export function sourcebansSystem(options: { prefix?: string | undefined }): SourceSystem {
  const { prefix: text = SYSTEMS.sourcebans.prefix ?? '' } = options;
  if (!/^\w{0,32}$/.test(text)) {
    throw new InvalidInput(`prefix ${JSON.stringify(text)} isn't valid: use letters, digits and underscores`);
  }
  const prefix = text === '' || text.endsWith('_') ? text : `${text}_`;
  return {
    kind: 'sourcebans',
    prefix,
    tables: {
      penalties: [`${prefix}bans`, `${prefix}comms`],
      admins: [`${prefix}admins`, `${prefix}srvgroups`],
    },
    servers: {
      name: `${prefix}servers`,
      columns: { needed: ['sid as id'], optional: ['ip as address', 'port'] },
      // Server 0 stands for bans made on the web panel.
      condition: 'p.sid > 0',
    },
    // Rights to the web panel are no rights in the game.
    readAdmins: (database) =>
      readLetterAdmins(
        database,
        {
          table: `${prefix}admins`,
          columns: {
            needed: ['authid as steam_id', 'srv_flags as flags'],
            optional: ['srv_group as group_key'],
          },
        },
        { table: `${prefix}srvgroups`, columns: { needed: ['name as group_key', 'name', 'flags'] } },
      ),
    findTables: (database) =>
      Promise.all([findTable(database, prefix, 'bans'), findTable(database, prefix, 'comms')]),
  };
}

async function findTable(
  database: SourceDatabase,
  prefix: string,
  name: 'bans' | 'comms',
): Promise<PenaltyTable | undefined> {
  const table = await findSourceTable(database, `${prefix}${name}`, {
    needed: ['bid as id', 'authid as player_steamid', 'created', 'length'],
    optional: [
      'name as player_name',
      'ends',
      'reason',
      'sid as server_id',
      'aid as admin_id',
      name === 'bans' ? 'type as ban_type' : 'type as mute_type',
      'removetype',
      'removedby as lifter_id',
      'removedon as lifted_at',
      'ureason as lift_reason',
    ],
  });
  if (!table) return undefined;
  const { columns } = table;
  const admins: AdminTable = { table: `${prefix}admins`, key: 'aid', name: 'user', steamId: 'authid' };
  let source = table;
  if (columns.has('aid') && (await database.listColumns(admins.table)).has('authid')) {
    source = joinAdmin(source, 'admin', 'p.aid', admins);
    if (columns.has('removedby')) source = joinAdmin(source, 'lifter', 'p.removedby', admins);
  }
  const ends = columns.has('ends') ? 'p.ends' : 'p.created + p.length';
  const notRemoved = columns.has('removetype') ? "coalesce(p.RemoveType, '') = ''" : 'true';
  return {
    name,
    source,
    key: 'bid',
    types: name === 'bans' ? ['ban'] : MUTE_TYPES,
    consoleName: 'CONSOLE',
    decodeReason: decodeEntities,
    // A length of 0 is permanent, of -1 for a session, whose end is not recorded.
    isActiveAt: (seconds) => `${notRemoved} and (p.length <= 0 or ${ends} > ${seconds})`,
    parseCreation: ({ created }) => parseUnixSeconds(created),
    parseStatus: (row) => parseRemoval(row).status,
    parseTerms: (rows, { warn, assume }) => {
      const [row] = rows;
      const isSession = name === 'comms' && row.length === '-1';
      const durationMinutes = isSession ? SESSION_MINUTES : parseDurationMinutes(row.length, 'seconds');
      const ends = isSession || durationMinutes === 0 ? undefined : parseUnixSeconds(row.ends);
      const length = { endsMs: ends?.getTime(), durationMs: Number(row.length) * 1000 };
      const createdAt = parseUnixSeconds(row.created) ?? new Date(computeCreationMs(length, warn));
      const computedEnd = new Date(createdAt.getTime() + durationMinutes * 60_000);
      const { assumption } = parseRemoval(row);
      if (assumption) assume(assumption);
      return {
        type: name === 'bans' ? 'ban' : parseCommsType(rows),
        durationMinutes,
        createdAt,
        endsAt: durationMinutes === 0 ? null : (ends ?? computedEnd),
      };
    },
    ...(name === 'comms' && {
      groups: {
        readAll: (pageRows) => readComms(database, source, pageRows),
        complete: (rows) => completeComms(database, source, rows),
      },
    }),
  };
}

function parseCommsType(rows: readonly [SourceRow, ...SourceRow[]]) {
  if (rows.length === 2) return 'silence';
  // Only the fork SB-MaterialAdmin has silences.
  return findType('type', rows[0].mute_type, { 1: 'mute', 2: 'gag', 3: 'silence' });
}
