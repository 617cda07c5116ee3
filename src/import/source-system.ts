import { InvalidInput } from '../domain/errors.ts';
import type { PenaltyStatus, PenaltyType } from '../domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../domain/steam-id.ts';
import { type PenaltySystem, SYSTEM_TITLES } from '../domain/systems.ts';
import type { ImportedPenalty, RowIdentity, SourceKey } from '../queries/penalties/imported.ts';
import { listStoredTables } from '../queries/penalties/sources.ts';
import type { AdminRights } from './admin-rights.ts';
import type { ImportSummary } from './import-report.ts';
import {
  checkTime,
  type ImportDeps,
  type ImportOptions,
  type ImportRun,
  type ItemParser,
  type ItemReport,
  importPages,
  NOT_LIFTED,
  type PenaltyState,
  readWhole,
  runImport,
} from './import-run.ts';
import { lookForTables, rememberTables } from './known-tables.ts';
import { findServerId, matchSourceServers, type ServerIds, type SourceServerTable } from './servers.ts';
import { cleanText, MAX_NAME_LENGTH, MAX_REASON_LENGTH } from './source/clean-text.ts';
import { readSource } from './source/open-source.ts';
import {
  extendTable,
  PAGE_ROWS,
  readSourcePages,
  type SourceDatabase,
  type SourceRow,
  type SourceTable,
  selectSourceRows,
} from './source/tables.ts';
import { parsePlayerSteamId, parseUnixSeconds, toJoinedAdmin, tryParse } from './source/values.ts';

/** A kind of system that penalties are imported from, with its options. */
export type SourceSystem = {
  kind: PenaltySystem;
  /** The prefix of its table names. */
  prefix: string;
  /** The names of its tables of penalties, of lifts (each with the table of what it lifts), and of admins and their groups. */
  tables: {
    penalties: readonly string[];
    lifts?: Readonly<Record<string, string>>;
    admins: readonly string[];
  };
  servers: SourceServerTable;
  /** The zone of the times in a database, if they are written without one. */
  timezoneOf?: (database: SourceDatabase) => string;
  /** Finds its tables of penalties in a database; undefined for each that is missing. */
  findTables: (database: SourceDatabase) => Promise<(PenaltyTable | undefined)[]>;
  /** Reads who may do what in its games. @throws {InvalidInput} when a table that this needs is missing. */
  readAdmins: (database: SourceDatabase) => Promise<AdminRights[]>;
};

/**
 * A table of penalties, as it is in one database. Whatever its columns are called, these are read as: `id`, `player_name`,
 * `player_steamid`, `ban_type` (1: of an IP address), `reason`, `server_id`, `admin_id`, `admin_name`, `admin_steamid`,
 * `lifter_id`, `lifter_name`, `lifter_steamid`, `lifted_at` (Unix seconds), `lift_reason`.
 */
export type PenaltyTable = {
  /** What its penalties store as their `source_table`. */
  name: string;
  source: SourceTable;
  /** The column with its ids. */
  key: 'id' | 'bid';
  /** All types of its penalties. */
  types: readonly PenaltyType[];
  /** The name of admin 0, of whom the source may have no row. */
  consoleName?: string;
  /** The SQL condition of rows that are in force, by the source's clock in Unix seconds. */
  isActiveAt: (seconds: number) => string;
  /** The SQL condition of rows that changed since then, if the source records the time of every change. */
  isChangedSince?: (seconds: number) => string;
  /**
   * When a row says that its penalty was created; undefined where the source has no such time, or rewrites it.
   * @throws {InvalidInput} if it cannot be read.
   */
  parseCreation: (row: SourceRow) => Date | undefined;
  /** Whether a row is in force, over or lifted, whatever the clock says. @throws {InvalidInput} if it cannot be read. */
  parseStatus: (row: SourceRow) => PenaltyStatus;
  /**
   * Reads what each system writes in its own way. A `status` replaces that of {@link parseStatus}.
   * @param rows one row, or several that are one penalty.
   * @throws {InvalidInput} for rows that cannot be imported.
   */
  parseTerms: (rows: readonly [SourceRow, ...SourceRow[]], report: ItemReport) => PenaltyTerms;
  /** Reads the reason of a lift; by default it stands there as it was entered. */
  decodeReason?: (text: string) => string;
  /** Only if several rows may be one penalty. */
  groups?: {
    readAll: (pageRows: number) => AsyncIterable<SourceRow[][]>;
    /** The groups that these rows belong to, completed by rows that are not among them. */
    complete: (rows: readonly SourceRow[]) => Promise<SourceRow[][]>;
  };
};

type PenaltyTerms = Pick<ImportedPenalty, 'type' | 'durationMinutes' | 'createdAt' | 'endsAt'> & {
  status?: 'EXPIRED';
};

/** A table whose rows can be imported. */
export type OpenTable = PenaltyTable & { parser: ItemParser<readonly SourceRow[]> };

/** Which database is imported. */
export type SourceOptions = ImportOptions & {
  /** `mysql://…` or `sqlite:PATH`. */
  url: string;
  /** Names the source when several of one kind are imported; by default the name of the kind. */
  source?: string | undefined;
};

/**
 * Imports the penalties of another system's database; a repeated import only writes what changed there. Rows that have
 * vanished there are marked as gone and kept, unless they are suddenly many.
 * @throws {InvalidInput} for an address or a database of another kind.
 * @throws {Unavailable} when the source does not respond.
 */
export async function importSource(
  deps: ImportDeps,
  system: SourceSystem,
  { url, source = system.kind, ...options }: SourceOptions,
): Promise<ImportSummary> {
  const { kind, prefix } = system;
  return readSource(url, (database) => {
    const identity = { name: source, kind, address: database.address, prefix };
    const timezone = system.timezoneOf?.(database);
    return runImport(deps, identity, { ...options, timezone }, async (run) => {
      const opened = await openTables(run, database, system);
      await importTables(run, database, opened, PAGE_ROWS);
      await opened.remember();
    });
  });
}

/** The tables of a source, as one import reads them. */
type OpenedTables = {
  tables: readonly OpenTable[];
  /** The `source_table` of each missing table that the operator has given up: its penalties are lost. */
  lost: readonly string[];
  /** Call it when all rows have been read. */
  remember: () => Promise<void>;
};

/**
 * Finds the tables in a database, and our servers for its servers.
 * @param options.withAdmins whether to look for the tables of admins, too.
 * @throws {InvalidInput} for a database of another kind.
 */
export async function openTables(
  run: ImportRun,
  database: SourceDatabase,
  system: SourceSystem,
  { withAdmins = false } = {},
): Promise<OpenedTables> {
  const { db, acceptsRemovals, isDryRun, summary } = run;
  const source = run.source.name;
  const { penalties, lifts = {}, admins } = system.tables;
  const storedNameOf = (table: string) => table.slice(system.prefix.length);
  const look = await lookForTables(db, database, {
    source,
    names: [...penalties, ...Object.keys(lifts), system.servers.name, ...(withAdmins ? admins : [])],
    listStored: () =>
      listStoredTables(db, source, {
        penalties: Object.fromEntries(penalties.map((table) => [table, storedNameOf(table)])),
        lifts,
        servers: system.servers.name,
      }),
  });
  const tables = (await system.findTables(database)).filter((table) => table !== undefined);
  if (tables.length === 0 && !penalties.some((name) => look.missing.includes(name))) {
    const hint = system.prefix === '' ? '' : `: their names would begin with ${system.prefix}`;
    throw new InvalidInput(`the source has no tables of ${SYSTEM_TITLES[system.kind]}${hint}`);
  }
  if (!acceptsRemovals) summary.missing.push(...look.missing);
  const serverIds = await matchSourceServers(run, database, system.servers);
  return {
    tables: tables.map((table) => {
      const lacksLifts = summary.missing.some((missing) => lifts[missing] === table.name);
      return { ...table, parser: createParser(database, table, { serverIds, lacksLifts }) };
    }),
    lost: acceptsRemovals ? penalties.filter((name) => look.missing.includes(name)).map(storedNameOf) : [],
    remember: async () => {
      if (!isDryRun) await rememberTables(db, source, look, { forgetsMissing: acceptsRemovals });
    },
  };
}

/** Reads every row of the tables, and marks those that have vanished as gone. */
export async function importTables(
  run: ImportRun,
  database: SourceDatabase,
  { tables, lost }: OpenedTables,
  pageRows: number,
): Promise<void> {
  let total = 0;
  for (const { source } of tables) {
    const [row] = await database.select(
      `select count(*) as n from ${source.name} p where ${source.condition}`,
    );
    total += Number(row?.n);
  }
  const share = () => (total > 0 ? Math.min(run.summary.read / total, 1) : undefined);
  const names = [...tables.map(({ name }) => name), ...lost];
  await readWhole(run, names, async (reading) => {
    for (const { source, key, parser, groups } of tables) {
      const pages =
        groups?.readAll(pageRows) ?? inGroups(readSourcePages(database, source, { key, pageRows }));
      await importPages(reading, pages, parser, share);
    }
  });
}

/** Reads the rows with these ids that there are. */
export async function findRowsById(
  database: SourceDatabase,
  { source, key }: PenaltyTable,
  ids: readonly string[],
): Promise<SourceRow[]> {
  const marks = ids.map(() => '?').join(', ');
  return selectSourceRows(database, source, `and p.${key} in (${marks})`, ids);
}

/** Imports a page of rows, with those that belong to the same penalties. */
export async function importRows(
  run: ImportRun,
  table: OpenTable,
  rows: readonly SourceRow[],
): Promise<void> {
  await importPages(run, [await completeGroups(table, rows)], table.parser);
}

async function completeGroups({ groups }: PenaltyTable, rows: readonly SourceRow[]): Promise<SourceRow[][]> {
  return groups ? groups.complete(rows) : rows.map((row) => [row]);
}

async function* inGroups(pages: AsyncIterable<SourceRow[]>): AsyncGenerator<SourceRow[][]> {
  for await (const page of pages) yield page.map((row) => [row]);
}

function createParser(
  database: SourceDatabase,
  table: PenaltyTable,
  { serverIds, lacksLifts }: { serverIds: ServerIds; lacksLifts: boolean },
): ItemParser<readonly SourceRow[]> {
  const { name, consoleName, parseCreation, parseStatus, parseTerms } = table;
  const parseState = ([row = {}]: readonly SourceRow[]): PenaltyState => {
    const status = parseStatus(row);
    return {
      status,
      ...(status === 'UNBANNED' ? parseLift(row, table) : NOT_LIFTED),
    };
  };
  return {
    table: name,
    idsOf: (rows) => rows.map(({ id }) => id ?? ''),
    parseState,
    rows: {
      identify: (rows, index) => identifyRow(table, rows[index] ?? {}),
      findItems: async (ids) => completeGroups(table, await findRowsById(database, table, ids)),
    },
    parse(rows, report) {
      const [row = {}, ...others] = rows;
      const admin = toJoinedAdmin(row.admin_name, row.admin_steamid, row.admin_id === '0' && consoleName);
      const playerSteamId = parsePlayerSteamId(row.player_steamid);
      if (lacksLifts && !row.status) throw new InvalidInput(UNKNOWN_LIFT);
      // First what may throw: a row that is set aside causes no warning about its server.
      const terms = { ...parseState(rows), ...parseTerms([row, ...others], report) };
      if (row.ban_type === '1' && playerSteamId !== UNKNOWN_STEAM_ID) report.assume(BAN_BY_ADDRESS);
      return {
        sourceTable: name,
        sourceId: row.id ?? '',
        creation: parseCreation(row) ? 'known' : 'absent',
        playerName: cleanText(row.player_name, MAX_NAME_LENGTH),
        playerSteamId,
        adminName: admin.name ?? '',
        adminSteamId: admin.steamId,
        reason: cleanText(row.reason, MAX_REASON_LENGTH),
        serverId: findServerId(serverIds, row.server_id, report.warn),
        ...terms,
      };
    },
  };
}

/** What a row says about which penalty it is. Its type and length are unknown if they cannot both be read. */
function identifyRow(
  { parseCreation, parseTerms }: PenaltyTable,
  row: SourceRow,
): Omit<RowIdentity, keyof SourceKey> {
  const terms = tryParse(() => parseTerms([row], { warn: () => {}, assume: () => {} }));
  return {
    playerSteamId: tryParse(() => parsePlayerSteamId(row.player_steamid)) ?? UNKNOWN_STEAM_ID,
    playerName: cleanText(row.player_name, MAX_NAME_LENGTH),
    reason: cleanText(row.reason, MAX_REASON_LENGTH),
    ...(terms && { type: terms.type, durationMinutes: terms.durationMinutes }),
    ...(tryParse(() => toCreation(parseCreation(row))) ?? { creation: 'unreadable' }),
  };
}

/** @throws {InvalidInput} for a time that no penalty may have. */
function toCreation(createdAt: Date | undefined): Pick<RowIdentity, 'creation' | 'createdAt'> {
  return createdAt
    ? { creation: 'known', createdAt: checkTime('creation', createdAt) }
    : { creation: 'absent' };
}

const UNKNOWN_LIFT = 'its status is empty, and the table of lifts is missing: it may have been lifted';

const BAN_BY_ADDRESS =
  'with a ban of an IP address that also names a SteamID: bans of that SteamID here, while game servers enforce them by ' +
  'address only';

function parseLift(
  row: SourceRow,
  { consoleName, decodeReason = (text) => text }: Pick<PenaltyTable, 'consoleName' | 'decodeReason'>,
) {
  const lifter = toJoinedAdmin(row.lifter_name, row.lifter_steamid, row.lifter_id === '0' && consoleName);
  return {
    // A lift counts even if its time cannot be read.
    liftedAt: tryParse(() => parseUnixSeconds(row.lifted_at)) ?? null,
    liftedByName: lifter.name || null,
    liftedBySteamId: lifter.steamId,
    liftReason: cleanText(decodeReason(row.lift_reason ?? ''), MAX_REASON_LENGTH) || null,
  };
}

/** A system's table of admins, and the columns that are read of it. */
export type AdminTable = { table: string; key: string; name: string; steamId: string };

/** Joins the admin who gave or lifted a penalty. @param id the SQL of the admin's id. */
export function joinAdmin(
  source: SourceTable,
  role: 'admin' | 'lifter',
  id: string,
  { table, key, name, steamId }: AdminTable,
): SourceTable {
  return extendTable(
    source,
    [`${role}.${name} as ${role}_name`, `${role}.${steamId} as ${role}_steamid`],
    [`left join ${table} ${role} on ${role}.${key} = ${id}`],
  );
}

/** Finds the type that a source writes as a code. @throws {InvalidInput} that lists the codes. */
export function findType(
  column: string,
  code: string | null | undefined,
  types: Record<string, PenaltyType>,
): PenaltyType {
  const entries = Object.entries(types);
  const type = entries.find(([each]) => each === code)?.[1];
  if (type) return type;
  const quotedCode = JSON.stringify(code?.slice(0, 64) ?? null);
  const list = entries.map((entry) => entry.join(' ')).join(', ');
  throw new InvalidInput(`the ${column} ${quotedCode} is not known: ${list}`);
}
