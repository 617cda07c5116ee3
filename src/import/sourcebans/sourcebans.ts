import { InvalidInput } from '../../domain/errors.ts';
import { MUTE_TYPES } from '../../domain/penalty.ts';
import { formatServerAddress } from '../../domain/server-address.ts';
import {
  type AdminRights,
  findRows,
  loadRows,
  toAdminRights,
  toGroupPermission,
  toLetters,
} from '../admin-rights.ts';
import type { ImportSummary } from '../import-report.ts';
import type { ImportDeps } from '../import-run.ts';
import { importSource, type SourceOptions } from '../import-source.ts';
import { matchSourceServers, type SourceServerTable } from '../servers.ts';
import type { SourceDatabase, SourceRow } from '../source/source-database.ts';
import { findSourceTable, type SourceTable } from '../source/tables.ts';
import type { PenaltyTable, SourceSystem } from '../source-system.ts';
import { parseSourcebansRow, parseSourcebansState, type SourcebansRowOptions } from './rows.ts';
import { completeComms, readComms } from './silences.ts';

export const SOURCEBANS_PREFIX = 'sb_';

type SystemOptions = {
  /** The prefix of the table names, `sb_` by default; `sb` means the same. */
  prefix?: string | undefined;
};

/** Imports the bans and communication bans of a SourceBans++ database; see {@link importSource}. */
export async function importSourcebans(
  deps: ImportDeps,
  { prefix, ...options }: SourceOptions & SystemOptions,
): Promise<ImportSummary> {
  return importSource(deps, sourcebansSystem({ prefix }), options);
}

/**
 * SourceBans++. A mute and a gag of the same player, time and length are one silence, unless only one of them is lifted.
 * @throws {InvalidInput} for an invalid prefix.
 */
export function sourcebansSystem({ prefix: given = SOURCEBANS_PREFIX }: SystemOptions): SourceSystem {
  if (!/^\w{0,32}$/.test(given)) {
    throw new InvalidInput(
      `prefix ${JSON.stringify(given)} isn't valid: use letters, digits and underscores`,
    );
  }
  const prefix = given === '' || given.endsWith('_') ? given : `${given}_`;
  const servers = serverTable(prefix);
  return {
    kind: 'sourcebans',
    prefix,
    serverTable: servers.name,
    readAdmins: (database) => readSourcebansAdmins(database, prefix),
    async openTables(run, database) {
      const bans = await findTable(database, prefix, 'bans');
      const comms = await findTable(database, prefix, 'comms');
      if (!bans && !comms) {
        throw new InvalidInput(`the source has neither ${prefix}bans nor ${prefix}comms: set its prefix`);
      }
      const serverIds = await matchSourceServers(run, database, servers);
      const tables: PenaltyTable[] = [];
      if (bans) tables.push({ ...describeTable('bans', bans, { serverIds }), types: ['ban'] });
      if (comms) {
        const groups = {
          readAll: (pageRows: number) => readComms(database, comms, pageRows),
          complete: (rows: readonly SourceRow[]) => completeComms(database, comms, rows),
        };
        tables.push({ ...describeTable('comms', comms, { serverIds }), types: MUTE_TYPES, groups });
      }
      return tables;
    },
  };
}

function describeTable(
  table: 'bans' | 'comms',
  source: SourceTable,
  options: SourcebansRowOptions,
): Omit<PenaltyTable, 'types'> {
  const ends = source.columns.has('ends') ? 'p.ends' : 'p.created + p.length';
  const notRemoved = source.columns.has('removetype') ? "coalesce(p.RemoveType, '') = ''" : 'true';
  return {
    source,
    key: 'bid',
    // A length of 0 is permanent, of -1 for a session, whose end is not recorded.
    isActiveAt: (seconds) => `${notRemoved} and (p.length <= 0 or ${ends} > ${seconds})`,
    parser: {
      table,
      idsOf: (rows) => rows.map(({ bid }) => bid ?? ''),
      parse: (rows, report) => parseSourcebansRow(table, rows, { ...options, ...report }),
      parseState: ([row = {}]) => parseSourcebansState(row),
    },
  };
}

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
): Promise<SourceTable | undefined> {
  const table = await findSourceTable(database, `${prefix}${kind}`, { needed: NEEDED, wanted: WANTED });
  if (!table) return undefined;
  const { columns } = table;
  const admins = `${prefix}admins`;
  const hasAdmins = columns.has('aid') && (await database.listColumns(admins)).has('authid');
  if (!hasAdmins) return table;
  const selected = [...table.selected, 'a.user as admin_name', 'a.authid as admin_authid'];
  const joins = [`left join ${admins} a on a.aid = p.aid`];
  if (columns.has('removedby')) {
    selected.push('l.user as lifter_name', 'l.authid as lifter_authid');
    joins.push(`left join ${admins} l on l.aid = p.removedby`);
  }
  return { ...table, selected, joins };
}

function serverTable(prefix: string): SourceServerTable {
  return {
    name: `${prefix}servers`,
    needed: ['sid', 'ip', 'port'],
    wanted: [],
    // Server 0 stands for bans made on the web panel.
    condition: 'p.sid > 0',
    toServer: ({ sid, ip, port }) => {
      const address = formatServerAddress({ host: ip ?? '', port: port ?? '' });
      return { sourceServerId: sid ?? '', name: null, address };
    },
  };
}

/**
 * The admins of a SourceBans++ database, with their flags in the game; rights to its panel are none there.
 * @param prefix of the table names, such as `sb_`.
 * @throws {InvalidInput} when a table that they need is missing.
 */
async function readSourcebansAdmins(database: SourceDatabase, prefix: string): Promise<AdminRights[]> {
  const admins = await loadRows(database, `${prefix}admins`, {
    needed: ['authid', 'srv_flags'],
    wanted: ['srv_group'],
  });
  const groups = await findRows(database, `${prefix}srvgroups`, { needed: ['name', 'flags'] });
  if (!groups && admins.some(({ srv_group }) => srv_group)) {
    throw new InvalidInput(`the source has no table ${prefix}srvgroups, or its user may not read it`);
  }
  // MySQL compares names without letter case.
  const groupsByName = new Map(groups?.map((group) => [foldName(group.name), group]));
  return admins.flatMap((admin) => {
    const group = groupsByName.get(foldName(admin.srv_group));
    const permissions = [
      ...toLetters(admin.srv_flags),
      ...(group ? [toGroupPermission(group.name ?? ''), ...toLetters(group.flags)] : []),
    ];
    return toAdminRights(admin.authid, { permissions, endsAt: null }) ?? [];
  });
}

function foldName(name: string | null | undefined): string {
  return (name ?? '').trim().toLowerCase();
}
