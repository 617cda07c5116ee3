/** A source row that was set aside, or imported with a warning. */
export type RowReport = { table: string; id: string; reason: string };

/**
 * A row with a `warning` was imported. One that was `set aside` was not; if an earlier import could read it, its penalty
 * stays as it was and is `outdated`.
 */
export type ReportKind = 'warning' | 'set aside' | 'outdated';

export type ImportProgress = {
  /** Rows read so far. */
  read: number;
  /** The share of the source, 0 to 1; undefined when its size is unknown (standard input). */
  share: number | undefined;
};

/** Optional callbacks of a running import. */
export type ImportListener = {
  onProgress?: (progress: ImportProgress) => void;
  /** Called for every row that is reported. */
  onReport?: (kind: ReportKind, row: RowReport) => void;
  /** Called when this import waits for another one of the same source. */
  onWait?: () => void;
};

/** The summary of an import that has read nothing yet. */
export function startSummary(source: string, isDryRun: boolean) {
  return {
    source,
    /** Nothing was written: the numbers are what would have been. */
    isDryRun,
    read: 0,
    added: 0,
    changed: 0,
    unchanged: 0,
    /** Penalties that the source no longer has: marked and kept. */
    gone: 0,
    /** Penalties whose row is gone or is another penalty now. After the last row, they count as `gone` or `held`. */
    movedAside: 0,
    /** Penalties that would be removed, but are kept for now because they are suddenly so many. */
    held: 0,
    /** Tables that are missing or may not be read, although rows from them are stored here. */
    missing: [] as string[],
    /** Rows that were set aside, and how many of them are outdated. */
    setAside: 0,
    outdated: 0,
    warnings: 0,
    /** Tombstones of another erasure secret: these people are no longer recognised, and may be named again. */
    lostErasures: 0,
    /** Names of the servers that were added; they are hidden until an operator unhides them. */
    serversAdded: [] as string[],
    /** Server ids whose address at the source changed to that of another server here, to which they now refer. */
    serversMoved: [] as { id: string; address: string }[],
    /** The first {@link LISTED_REPORTS} of each kind; the numbers above count all of them. */
    rowsSetAside: [] as RowReport[],
    outdatedRows: [] as RowReport[],
    warnedRows: [] as RowReport[],
    /** What was assumed about rows of one kind, and how many there are: too many to report one by one. */
    assumptions: [] as { rows: number; assumption: string }[],
  };
}

export type ImportSummary = ReturnType<typeof startSummary>;

/** Bounds memory, since a broken source may have every row set aside. */
const LISTED_REPORTS = 1000;

/** Where the summary counts and lists the rows of each kind. */
const COUNTED = {
  warning: [['warnings', 'warnedRows']],
  'set aside': [['setAside', 'rowsSetAside']],
  outdated: [
    ['setAside', 'rowsSetAside'],
    ['outdated', 'outdatedRows'],
  ],
} as const;

/** Reports a row in the summary, and to the listener. */
export function report(
  { summary, listener }: { summary: ImportSummary; listener: ImportListener },
  kind: ReportKind,
  row: RowReport,
): void {
  for (const [count, list] of COUNTED[kind]) {
    summary[count] += 1;
    if (summary[list].length < LISTED_REPORTS) summary[list].push(row);
  }
  listener.onReport?.(kind, row);
}

/** Counts a row about which something was assumed. @param assumption what follows "12 rows". */
export function countAssumption({ assumptions }: ImportSummary, assumption: string): void {
  const entry = assumptions.find((other) => other.assumption === assumption);
  if (entry) entry.rows += 1;
  else assumptions.push({ rows: 1, assumption });
}
