/** A row of a source, with every value as the source's text, so that nothing is rounded or converted. */
export type SourceRow = Record<string, string | null>;

/** Another system's database, opened read-only. */
export type SourceDatabase = {
  kind: 'mysql' | 'sqlite';
  /** Identifies the database, without credentials: `host:port/database`, or the path of the file. */
  address: string;
  /** Names of the columns of a table, in lower case; empty when there is no such table. */
  listColumns: (table: string) => Promise<Set<string>>;
  /** Runs one SELECT. Callers read page by page, so that results stay small. */
  select: (statement: string, parameters?: readonly (string | number)[]) => Promise<SourceRow[]>;
  close: () => Promise<void>;
};
