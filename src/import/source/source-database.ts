/** A row of a source, every value as the text the source keeps: nothing is rounded, no clock is guessed. */
export type SourceRow = Record<string, string | null>;

/** Another system's database, open for reading alone. */
export type SourceDatabase = {
  kind: 'mysql' | 'sqlite';
  /** Identifies the database, without credentials: `host:port/database`, or the path of the file. */
  address: string;
  /** Names of the columns of a table, in lower case; empty when there is no such table. */
  listColumns: (table: string) => Promise<Set<string>>;
  /** Runs one SELECT. Results are kept small by the caller, who reads page by page. */
  select: (statement: string, parameters?: readonly (string | number)[]) => Promise<SourceRow[]>;
  close: () => Promise<void>;
};
