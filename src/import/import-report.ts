/** A source row that was set aside, or imported with a warning. */
export type RowReport = { table: string; id: string; reason: string };

/** What is assumed about rows of one kind, and how many the source has: too many to report one by one. */
export type Assumption = { rows: number; assumption: string };

export type ImportProgress = {
  /** Rows read so far. */
  read: number;
  /** The share of the source, 0 to 1; undefined when its size is unknown (standard input). */
  share: number | undefined;
};

/** Optional callbacks of a running import. */
export type ImportListener = {
  onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Called for every row that was set aside. */
  onSetAside?: ((row: RowReport, options: { isOutdated: boolean }) => void) | undefined;
  /** Called when this import waits for another one of the same source. */
  onWait?: (() => void) | undefined;
  /** Called for every row that was imported with a warning. */
  onWarning?: ((row: RowReport) => void) | undefined;
};

export type ImportSummary = {
  source: string;
  /** Nothing was written: the numbers are what would have been. */
  isDryRun: boolean;
  read: number;
  added: number;
  changed: number;
  unchanged: number;
  /** Penalties that the source no longer has: marked and kept. */
  gone: number;
  setAside: number;
  /** Rows of `setAside` that an earlier import could read: they stay as they were, and may be out of date. */
  outdated: number;
  warnings: number;
  /** Tombstones of another erasure secret: these people are no longer recognised, and may be named again. */
  lostErasures: number;
  /** Names of the servers that were added; they are hidden until an operator unhides them. */
  serversAdded: string[];
  /** The first {@link LISTED_REPORTS} of each kind; the numbers above count all of them. */
  rowsSetAside: RowReport[];
  outdatedRows: RowReport[];
  warnedRows: RowReport[];
  assumptions: Assumption[];
};

/** Bounds memory, since a broken source may have every row set aside. */
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
    setAside: 0,
    outdated: 0,
    warnings: 0,
    lostErasures: 0,
    serversAdded: [],
    rowsSetAside: [],
    outdatedRows: [],
    warnedRows: [],
    assumptions: [],
  };
}

/** Reports a row that is set aside: it is not imported. @param isOutdated whether an earlier import could read it. */
export function setRowAside(
  summary: ImportSummary,
  listener: ImportListener,
  { isOutdated, ...row }: RowReport & { isOutdated: boolean },
): void {
  summary.setAside += 1;
  if (summary.rowsSetAside.length < LISTED_REPORTS) summary.rowsSetAside.push(row);
  if (isOutdated) {
    summary.outdated += 1;
    if (summary.outdatedRows.length < LISTED_REPORTS) summary.outdatedRows.push(row);
  }
  listener.onSetAside?.(row, { isOutdated });
}

/** Reports something odd about a row that is imported. */
export function warn(summary: ImportSummary, listener: ImportListener, row: RowReport): void {
  summary.warnings += 1;
  if (summary.warnedRows.length < LISTED_REPORTS) summary.warnedRows.push(row);
  listener.onWarning?.(row);
}

/** Of bans by IP address that have a SteamID, in every source that has such bans. */
export const BAN_BY_ADDRESS =
  'with a ban of an IP address that also names a SteamID: bans of that SteamID here, while game servers enforce them by ' +
  'address only';

/** Counts a row about which something was assumed. @param assumption what follows "12 rows". */
export function countAssumption({ assumptions }: ImportSummary, assumption: string): void {
  const counted = assumptions.find((other) => other.assumption === assumption);
  if (counted) counted.rows += 1;
  else assumptions.push({ rows: 1, assumption });
}
