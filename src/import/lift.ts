import type { LiftRefusal, WrittenLift } from '../domain/lift.ts';
import { type PenaltyType, statusAt } from '../domain/penalty.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import type { PenaltySystem, TableOf } from '../domain/systems.ts';
import type { SourceKey } from '../queries/penalties/imported.ts';
import { withTimeLimit } from '../runtime/time-limit.ts';
import { StatementRefused, type WriteMysql, writeToMysql } from './source/mysql.ts';
import { readSource } from './source/open-source.ts';
import { findRows, type SourceDatabase, type SourceRow } from './source/tables.ts';
import { parsePlayerSteamId, toAdminSteamId, tryParse } from './source/values.ts';
import { findRowsById, type PenaltyTable, type SourceSystem } from './source-system.ts';
import { encodeEntities } from './sourcebans/entities.ts';

type Statements = readonly [string, ...string[]];

const LIFT_IN_SOURCEBANS =
  "update :table set RemovedBy = :lifter, RemoveType = 'U', RemovedOn = unix_timestamp(), ureason = :reason where :rows";
const LIFT_IN_IKS =
  'update :table set unbanned_by = :lifter, unban_reason = :reason, updated_at = unix_timestamp() where :rows';

/**
 * The only statements that write into another system's database, by table: those of its own lift, in one transaction.
 * `:rows` are the rows of the penalty, unless they have changed since they were read; `:id` is the row's id,
 * `:lifter` the id of the admin there, `:reason` the reason. The first statement decides: if a table without
 * transactions keeps only that, the penalty is lifted without details.
 */
const STATEMENTS: { [System in PenaltySystem]: Record<TableOf<System>, Statements> } = {
  simpleadmin: {
    sa_bans: [
      "update sa_bans set status = 'UNBANNED' where :rows",
      'insert into sa_unbans (ban_id, admin_id, reason) values (:id, :lifter, :reason)',
      'update sa_bans set unban_id = last_insert_id() where id = :id',
    ],
    sa_mutes: [
      "update sa_mutes set status = 'UNMUTED' where :rows",
      'insert into sa_unmutes (mute_id, admin_id, reason) values (:id, :lifter, :reason)',
      'update sa_mutes set unmute_id = last_insert_id() where id = :id',
    ],
    sa_warns: ["update sa_warns set status = 'EXPIRED' where :rows"],
  },
  sourcebans: { bans: [LIFT_IN_SOURCEBANS], comms: [LIFT_IN_SOURCEBANS] },
  iks: { iks_bans: [LIFT_IN_IKS], iks_comms: [LIFT_IN_IKS] },
};

/** Columns, each with the name under which rows of its table are read. */
type ReadColumns = Readonly<Record<string, string>>;

type Details = {
  /** The columns by which a row with the same id is the same penalty. */
  identity: ReadColumns;
  /** The column that a lift changes. */
  state: ReadColumns;
  /** The tables with records of lifts, and the column of a penalty that names its record; since migration 005. */
  records?: Readonly<Record<string, { table: string; id: string }>>;
  /** The table of admins, after the prefix. */
  admins: { table: string; id: string; steamId: string };
};

const DETAILS: Record<SourceSystem['kind'], Details> = {
  simpleadmin: {
    identity: { player_steamid: 'player_steamid', created: 'created' },
    state: { status: 'status' },
    records: {
      sa_bans: { table: 'sa_unbans', id: 'unban_id' },
      sa_mutes: { table: 'sa_unmutes', id: 'unmute_id' },
    },
    admins: { table: 'sa_admins', id: 'id', steamId: 'player_steamid' },
  },
  sourcebans: {
    identity: { authid: 'player_steamid', created: 'created' },
    state: { RemoveType: 'removetype' },
    admins: { table: 'admins', id: 'aid', steamId: 'authid' },
  },
  iks: {
    identity: { steam_id: 'player_steamid', created_at: 'created_at' },
    state: { unbanned_by: 'lifter_id' },
    admins: { table: 'iks_admins', id: 'id', steamId: 'steam_id' },
  },
};

/** The lifter for staff who are not admins there. */
const CONSOLE = /^(console|steam_id_server|0)$/i;
/** The console in SourceBans, which has no row for it. No system gives an admin this id. */
const NO_ADMIN = '0';

/** A database that is mirrored, and an account of it that may lift penalties. */
export type LiftableSource = { system: SourceSystem; mirrorUrl: string; liftUrl: string };

/** The penalty as this service shows it. */
type ShownPenalty = SourceKey & { playerSteamId: SteamId64; createdAt: Date };

type LiftOrder = {
  lifter: SteamId64;
  reason: string;
  now: Date;
  /** Replaces the players of rows as imports do. */
  anonymise: (steamId64: SteamId64) => SteamId64;
};

/** What became of a lift; anything but {@link WrittenLift} has changed nothing. */
export type LiftOutcome = WrittenLift | LiftRefusal;

/** Longer than the sum of the two connection timeouts that a lift may run into. */
const READ_LIMIT_MS = 8000;

/**
 * Lifts a penalty at its source, if the row there is still the penalty that is shown here and in force. The mirror's
 * account, which sees all columns, reads the row; the account for lifting writes it. Nothing is retried.
 * @param onFailure receives the error behind an outcome that staff cannot explain.
 */
export async function liftAtSource(
  source: LiftableSource,
  penalty: ShownPenalty,
  order: LiftOrder,
  onFailure: (error: unknown) => void,
): Promise<LiftOutcome> {
  try {
    const target = await withTimeLimit(
      readSource(source.mirrorUrl, (database) => findTarget(database, source, penalty, order)),
      READ_LIMIT_MS,
    );
    return typeof target === 'string' ? target : await write(source, target, order.reason, onFailure);
  } catch (error) {
    onFailure(error);
    return 'unreachable';
  }
}

type Target = {
  table: LiftedTable;
  rows: readonly SourceRow[];
  lifterId: string;
};

/** A table of penalties with the statements of its version. */
type LiftedTable = Pick<PenaltyTable, 'key'> & {
  name: string;
  statements: readonly string[];
  hasTransactions: boolean;
  details: Details;
};

async function findTarget(
  database: SourceDatabase,
  { system }: LiftableSource,
  penalty: ShownPenalty,
  { lifter, now, anonymise }: LiftOrder,
): Promise<Target | LiftOutcome> {
  const table = (await system.findTables(database)).find((each) => each?.name === penalty.sourceTable);
  const rows = table && (await readRows(database, table, penalty.sourceId));
  const [row, ...others] = rows ?? [];
  if (!table || !row) return 'gone';
  const terms = tryParse(() => table.parseTerms([row, ...others], { warn: () => {}, assume: () => {} }));
  const player = tryParse(() => parsePlayerSteamId(row.player_steamid));
  const isShown =
    terms?.createdAt.getTime() === penalty.createdAt.getTime() &&
    player !== undefined &&
    anonymise(player) === penalty.playerSteamId;
  if (!terms || !isShown) return 'changed';
  if (player === lifter) return 'own';
  const status = statusAt(terms.status ?? table.parseStatus(row), terms.endsAt, now);
  if (status !== 'ACTIVE') return status === 'UNBANNED' ? 'lifted' : 'ended';
  const described = await describeTable(database, system, table);
  const lifterId = await findLifter(database, system, lifter);
  const needsLifter = described.statements.some((statement) => statement.includes(':lifter'));
  if (needsLifter && lifterId === NO_ADMIN && system.kind !== 'sourcebans') return 'no-console';
  return { table: described, rows: [row, ...others], lifterId };
}

/** The row with this id, with the other half of a merged silence. */
async function readRows(database: SourceDatabase, table: PenaltyTable, id: string): Promise<SourceRow[]> {
  const found = await findRowsById(database, table, [id]);
  // A number compared with a text that only begins with it is equal in MySQL.
  const rows = found.filter((row) => row.id === id);
  const groups = await table.groups?.complete(rows);
  return groups?.find((group) => group.some((row) => row.id === id)) ?? rows;
}

/** The statements for a table as it is in this database. */
async function describeTable(
  database: SourceDatabase,
  { kind }: SourceSystem,
  { name, key, source }: PenaltyTable,
): Promise<LiftedTable> {
  const { columns } = source;
  const details = DETAILS[kind];
  const record = details.records?.[name];
  const hasRecords =
    record && columns.has(record.id) && (await database.listColumns(record.table)).has('admin_id');
  const ofSystem: Readonly<Record<string, Statements>> = STATEMENTS[kind];
  const statements = ofSystem[name];
  if (!statements) throw new Error(`nothing is known about lifts in ${name}`);
  const isMisspelled = kind === 'iks' && !columns.has('unbanned_by');
  const withTransactions = await database.select(
    `select 1 from information_schema.tables
     where table_schema = database() and table_name = ? and engine = 'InnoDB'`,
    [source.name],
  );
  return {
    name: source.name,
    key,
    hasTransactions: withTransactions.length > 0,
    statements: (record && !hasRecords ? statements.slice(0, 1) : statements).map((statement) => {
      const withoutMissing = statement.replace(/, (ureason|unban_reason) = :reason/, (text, column) =>
        columns.has(column) ? text : '',
      );
      return isMisspelled ? withoutMissing.replace('unbanned_by', MISSPELLED) : withoutMissing;
    }),
    details: isMisspelled ? { ...details, state: { [MISSPELLED]: 'lifter_id' } } : details,
  };
}

/** In the first releases of IKS. */
const MISSPELLED = 'ubanned_by';

/** The id of the admin with this SteamID there, else of the console. */
async function findLifter(
  database: SourceDatabase,
  { kind, prefix }: SourceSystem,
  lifter: SteamId64,
): Promise<string> {
  const { table, id, steamId } = DETAILS[kind].admins;
  const columns = { needed: [`${id} as id`, `${steamId} as steam_id`], optional: ['deleted_at'] };
  const rows = (await findRows(database, prefix + table, columns)) ?? [];
  const admins = rows.filter(({ deleted_at }) => deleted_at === null);
  const admin =
    admins.find(({ steam_id }) => toAdminSteamId(steam_id) === lifter) ??
    admins.find(({ steam_id }) => CONSOLE.test(steam_id ?? ''));
  return admin?.id ?? NO_ADMIN;
}

type Values = Record<string, Bound>;
/** SQL with its parameters. */
type Bound = { sql: string; parameters: readonly (string | null)[] };

/** Puts values in place of the names in a statement. */
function bind(statement: string, values: Values): Bound {
  const parameters: (string | null)[] = [];
  const sql = statement.replace(/:(\w+)/g, (name, key) => {
    const value = values[key];
    if (!value) throw new Error(`${name} has no value in ${statement}`);
    parameters.push(...value.parameters);
    return value.sql;
  });
  return { sql, parameters };
}

function parameter(value: string | null): Bound {
  return { sql: '?', parameters: [value] };
}

/** The condition that a row has the same values, as text: a number compared with a text would be rounded. */
function isSame({ key }: LiftedTable, row: SourceRow, columns: ReadColumns): Bound {
  const others = Object.entries(columns);
  return {
    sql: [`${key} = ?`, ...others.map(([column]) => `cast(${column} as char) <=> ?`)].join(' and '),
    parameters: [row.id ?? null, ...others.map(([, field]) => row[field] ?? null)],
  };
}

/** The condition that matches all rows of a penalty, or none if one of several has changed. */
function areSame({ table, rows }: Pick<Target, 'table' | 'rows'>): Bound {
  const { identity, state } = table.details;
  const each = rows.map((row) => isSame(table, row, { ...identity, ...state }));
  const [only] = each;
  if (only && each.length === 1) return only;
  const any = each.map(({ sql }) => `(${sql})`).join(' or ');
  return {
    sql: `${table.key} in (${rows.map(() => '?').join(', ')})
      and (select n from (select count(*) as n from ${table.name} where ${any}) as same) = ${rows.length}`,
    parameters: [...rows.map(({ id }) => id ?? null), ...each.flatMap(({ parameters: ofRow }) => [...ofRow])],
  };
}

function valuesOf(target: Target, reason: string): Values {
  return {
    table: { sql: target.table.name, parameters: [] },
    rows: areSame(target),
    id: parameter(target.rows[0]?.id ?? null),
    lifter: parameter(target.lifterId),
    reason: parameter(reason),
  };
}

async function write(
  { system, liftUrl }: LiftableSource,
  target: Target,
  reason: string,
  onFailure: (error: unknown) => void,
): Promise<LiftOutcome> {
  const { statements, hasTransactions } = target.table;
  const values = valuesOf(target, system.kind === 'sourcebans' ? encodeEntities(reason) : reason);
  let step: 'before' | 'first' | 'details' | 'commit' = 'before';
  try {
    return await writeToMysql(liftUrl, async (run) => {
      await run('start transaction');
      for (const [index, statement] of statements.entries()) {
        step = index === 0 ? 'first' : 'details';
        const { sql, parameters } = bind(statement, values);
        const matched = await run(sql, parameters);
        if (index === 0 && matched !== target.rows.length) return 'changed';
      }
      step = 'commit';
      await run('commit');
      return 'written';
    });
  } catch (error) {
    onFailure(error);
    if (step === 'before') return error instanceof StatementRefused ? 'refused' : 'unreachable';
    if (!hasTransactions && step !== 'first') return 'written';
    if (error instanceof StatementRefused) return 'refused';
    return step === 'commit' || !hasTransactions ? 'unknown' : 'unreachable';
  }
}

/** Why nothing can be lifted at a source. */
export type LiftProblem =
  | { kind: 'other-database'; table: string }
  /** The account lacks the privileges for a lift. */
  | { kind: 'rights'; table: string; reason: string }
  | { kind: 'unreachable'; reason: string };

/**
 * Checks, by some penalties in each table, that the account is for the database that is mirrored, and that it has all
 * privileges for a lift. Nothing is written: `EXPLAIN` of the statements needs the same privileges.
 * @param listNewest the ids there of the newest penalties of a table that are stored here.
 * @returns undefined when penalties can be lifted.
 */
export async function findLiftProblem(
  { system, mirrorUrl, liftUrl }: LiftableSource,
  listNewest: ListNewest,
): Promise<LiftProblem | undefined> {
  try {
    const tables = await withTimeLimit(
      readSource(mirrorUrl, (database) => listSamples(database, system, listNewest)),
      READ_LIMIT_MS,
    );
    return await writeToMysql(liftUrl, async (run) => {
      for (const sample of tables) {
        const problem = await findTableProblem(sample, run);
        if (problem) return problem;
      }
      return undefined;
    });
  } catch (error) {
    return { kind: 'unreachable', reason: error instanceof Error ? error.message : String(error) };
  }
}

type ListNewest = (table: {
  sourceTable: string;
  types: readonly PenaltyType[];
}) => Promise<readonly string[]>;
type Sample = { table: LiftedTable; rows: readonly SourceRow[] };

/** Each table of penalties, with the rows of its newest penalties. */
async function listSamples(
  database: SourceDatabase,
  system: SourceSystem,
  listNewest: ListNewest,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const table of await system.findTables(database)) {
    if (!table) continue;
    const ids = await listNewest({ sourceTable: table.name, types: table.types });
    const rows = ids.length === 0 ? [] : await findRowsById(database, table, ids);
    samples.push({ table: await describeTable(database, system, table), rows });
  }
  return samples;
}

async function findTableProblem({ table, rows }: Sample, run: WriteMysql): Promise<LiftProblem | undefined> {
  const { name, details, statements } = table;
  try {
    for (const row of rows) {
      const { sql, parameters } = isSame(table, row, details.identity);
      if ((await run(`select 1 from ${name} where ${sql}`, parameters)) === 0) {
        return { kind: 'other-database', table: name };
      }
    }
    const values = valuesOf({ table, rows: [{}], lifterId: NO_ADMIN }, '');
    for (const statement of statements) {
      const { sql, parameters } = bind(statement, values);
      await run(`explain ${sql}`, parameters);
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof StatementRefused)) throw error;
    if (error.code === 'ER_NO_SUCH_TABLE') return { kind: 'other-database', table: name };
    return { kind: 'rights', table: name, reason: error.message };
  }
}
