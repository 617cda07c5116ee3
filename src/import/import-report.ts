/** A source row that was set aside (quarantined) or kept with a warning. */
export type RowReport = { table: string; id: string; reason: string };

export type ImportProgress = {
  /** Rows read so far. */
  read: number;
  /** How much of the source that is, 0 to 1; undefined when that is unknown (standard input). */
  share: number | undefined;
};

/** What is called while an import runs; all of it is optional. */
export type ImportListener = {
  onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Every quarantined row, as it is met. */
  onQuarantine?: ((row: RowReport) => void) | undefined;
  /** Another import of the same source is running: this one waits for it. */
  onWait?: (() => void) | undefined;
  /** Every row that was kept although something about it is odd. */
  onWarning?: ((row: RowReport) => void) | undefined;
};

export type ImportSummary = {
  source: string;
  /** Nothing was written: the numbers say what would have been. */
  isDryRun: boolean;
  read: number;
  added: number;
  changed: number;
  unchanged: number;
  /** Penalties that the source no longer has: marked and kept. */
  gone: number;
  quarantined: number;
  warnings: number;
  /** People who were erased and are no longer recognised, since the erasure secret is another one: they may be named again. */
  lostErasures: number;
  /** Names of the servers that were added, hidden until an operator shows them. */
  serversAdded: string[];
  /** The first {@link LISTED_REPORTS} of each; `quarantined` and `warnings` count all of them. */
  quarantinedRows: RowReport[];
  warnedRows: RowReport[];
};

/** A broken source may quarantine every row; memory stays flat all the same. */
const LISTED_REPORTS = 1000;

/** The summary of an import that has read nothing yet. */
export function startSummary(source: string, isDryRun: boolean): ImportSummary {
  return {
    source,
    isDryRun,
    read: 0,
    added: 0,
    changed: 0,
    unchanged: 0,
    gone: 0,
    quarantined: 0,
    warnings: 0,
    lostErasures: 0,
    serversAdded: [],
    quarantinedRows: [],
    warnedRows: [],
  };
}

/** Sets a row aside: it is not imported, and the report names it. */
export function quarantine(summary: ImportSummary, listener: ImportListener, row: RowReport): void {
  summary.quarantined += 1;
  if (summary.quarantinedRows.length < LISTED_REPORTS) summary.quarantinedRows.push(row);
  listener.onQuarantine?.(row);
}

/** Warns of something odd about a row that is kept. */
export function warn(summary: ImportSummary, listener: ImportListener, row: RowReport): void {
  summary.warnings += 1;
  if (summary.warnedRows.length < LISTED_REPORTS) summary.warnedRows.push(row);
  listener.onWarning?.(row);
}
