import type { PenaltyType } from '../domain/penalty.ts';
import type { PenaltySource } from '../queries/penalties/sources.ts';
import type { AdminRights } from './admin-rights.ts';
import type { ImportRun, ItemParser } from './import-run.ts';
import type { SourceDatabase, SourceRow } from './source/source-database.ts';
import type { SourceTable } from './source/tables.ts';

/** A table of penalties, as it is in one database. */
export type PenaltyTable = {
  source: SourceTable;
  /** The column with its ids. */
  key: 'id' | 'bid';
  /** All types of its penalties. */
  types: readonly PenaltyType[];
  /** The SQL condition of rows that are in force, by the source's clock in Unix seconds. */
  isActiveAt: (seconds: number) => string;
  /** The SQL condition of rows that changed since then, if the source records the time of every change. */
  isChangedSince?: ((seconds: number) => string) | undefined;
  /** An item is one row, or several that are one penalty. */
  parser: ItemParser<readonly SourceRow[]>;
  /** Only if several rows may be one penalty. */
  groups?: {
    readAll: (pageRows: number) => AsyncIterable<SourceRow[][]>;
    /** The groups that these rows belong to, completed by rows that are not among them. */
    complete: (rows: readonly SourceRow[]) => Promise<SourceRow[][]>;
  };
};

/** A kind of system that penalties are imported from, with its options. */
export type SourceSystem = {
  kind: Exclude<PenaltySource['kind'], 'ndjson'>;
  /** The prefix of its table names. */
  prefix: string;
  /** The name of its table of game servers. */
  serverTable: string;
  /** Finds the tables in a database, and our servers for its servers. @throws {InvalidInput} for a database of another kind. */
  openTables: (run: ImportRun, database: SourceDatabase) => Promise<PenaltyTable[]>;
  /** Reads who may do what in its games. @throws {InvalidInput} when a table that this needs is missing. */
  readAdmins: (database: SourceDatabase) => Promise<AdminRights[]>;
};
