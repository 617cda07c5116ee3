import type { Db } from '../db/client.ts';
import { Conflict, InvalidInput } from '../domain/errors.ts';
import { isPenaltyTime, SOURCE_NAME, SOURCE_NAME_RULE, statusAt } from '../domain/penalty.ts';
import type { Actor } from '../domain/rights/actor.ts';
import { loadExpiryMark } from '../queries/penalties/expiry.ts';
import {
  type ImportedPenalty,
  listImportedPenalties,
  type SourceKey,
} from '../queries/penalties/imported.ts';
import { completePenaltySource, type PenaltySource } from '../queries/penalties/sources.ts';
import { countLostTombstones } from '../queries/personal-data/tombstones.ts';
import { checkPenalty, type PenaltyState } from './checked-penalty.ts';
import {
  countAssumption,
  type ImportListener,
  type ImportSummary,
  setRowAside,
  startSummary,
  warn,
} from './import-report.ts';
import { looksLikeWindows1251 } from './source/clean-text.ts';
import { claimSource } from './source/identity.ts';
import { openPenaltyWriter, type PenaltyWriter } from './writer.ts';

export type ImportDeps = {
  db: Db;
  /** For the connection that holds the source's lock during the import. */
  databaseUrl: string;
  now: () => Date;
  /** Who imports; `configuration` for the mirror. */
  actor: Actor;
};

export type ImportOptions = ImportListener & {
  /** Reads and compares everything, writes nothing. */
  isDryRun?: boolean;
  /** Waits for another import of the same source to end (the default) instead of refusing. */
  waits?: boolean;
  /** The source is the known one, at a new address. */
  replacesSource?: boolean;
  /** Stops the import between two pages; written pages stay. */
  signal?: AbortSignal;
};

/** A running import. */
export type ImportRun = ImportDeps & {
  source: string;
  isDryRun: boolean;
  /** Active penalties that ended by this time are stored as EXPIRED; see {@link loadExpiryMark}. */
  expiryMark: () => Date;
  writer: PenaltyWriter;
  summary: ImportSummary;
  listener: ImportListener;
  signal: AbortSignal | undefined;
  /** The number of rows in the source, for progress; undefined when unknown. */
  total: number | undefined;
};

/**
 * Runs an import under its source's lock and returns what it did.
 * @param source the origin of the rows; its name is part of their key.
 * @throws {InvalidInput} for a name of more than 64 characters or none.
 * @throws {OtherSource} when the penalties under this name came from another database.
 * @throws {Conflict} when another import of this source is running and `waits` is false.
 */
export async function runImport(
  deps: ImportDeps,
  source: PenaltySource,
  { isDryRun = false, waits = true, replacesSource = false, signal, ...listener }: ImportOptions,
  importAll: (run: ImportRun) => Promise<void>,
): Promise<ImportSummary> {
  const { name } = source;
  if (!SOURCE_NAME.test(name)) {
    throw new InvalidInput(`source ${JSON.stringify(name)} isn't valid: use ${SOURCE_NAME_RULE}`);
  }
  const writer = await openPenaltyWriter(deps.databaseUrl, name, {
    isDryRun,
    numbersRows: source.kind !== 'ndjson',
    waits,
    onWait: listener.onWait,
    signal,
  });
  if (!writer) throw new Conflict(`another import of ${name} is running`);
  try {
    await claimSource(deps.db, source, { isDryRun, replaces: replacesSource });
    const summary = startSummary(name, isDryRun);
    summary.lostErasures = await countLostTombstones(deps.db);
    const expiryMark = await startExpiryMark(deps);
    const shared = { source: name, isDryRun, expiryMark, writer, summary, listener, signal };
    await importAll({ ...deps, ...shared, total: undefined });
    if (isDryRun) return summary;
    const { read, added, changed, gone, setAside, serversAdded } = summary;
    const details = { read, added, changed, gone, setAside, serversAdded };
    await completePenaltySource(deps.db, name, { actor: deps.actor, details });
    return summary;
  } finally {
    await writer.close();
  }
}

/** Advances with a monotonic clock; otherwise a long import would undo what the expiry sweep marks meanwhile. */
async function startExpiryMark({ db, now }: ImportDeps): Promise<() => Date> {
  const startedMs = performance.now();
  const mark = await loadExpiryMark(db, now());
  return () => new Date(mark.getTime() + performance.now() - startedMs);
}

/** Reports something odd about an item that is imported. */
export type Warn = (reason: string) => void;

/** How a parser reports on the item that it parses. */
export type ItemReport = {
  warn: Warn;
  /** Counts the item among those about which this was assumed; see {@link countAssumption}. */
  assume: (assumption: string) => void;
};

/** Converts the items (rows, or groups of rows) of one table into penalties. */
export type ItemParser<Item> = {
  table: string;
  /** The ids of the source rows in an item; the first one is the id of the penalty. */
  idsOf: (item: Item) => readonly string[];
  /**
   * Returns the penalty with the status that the source gives, whatever the clock says.
   * @throws {InvalidInput} for an item that cannot be imported: it is set aside with the message.
   */
  parse: (item: Item, report: ItemReport) => ImportedPenalty;
  /**
   * Reads only the state of an item, because {@link parse} cannot read the rest.
   * @throws {InvalidInput} if that cannot be read either.
   */
  parseState: (item: Item) => PenaltyState;
  /**
   * The key of an item's penalty, if it is not the table and the id; undefined for none.
   * @throws {InvalidInput} if it cannot be read.
   */
  keyOf?: (item: Item) => SourceKey | undefined;
};

/**
 * Imports page after page; a bad item is set aside, and the rest is written. The next page is read and parsed while the
 * previous one is being written.
 */
export async function importPages<Item>(
  run: ImportRun,
  pages: AsyncIterable<readonly Item[]>,
  parser: ItemParser<Item>,
): Promise<void> {
  let writing: Promise<void> = Promise.resolve();
  for await (const page of pages) {
    const parsed = parsePage(run, page, parser);
    await writing;
    writing = writePage(run, parsed);
    // Awaited above or below; this only prevents an unhandled rejection until then.
    writing.catch(() => {});
  }
  await writing;
}

/** The same as {@link importPages} for one page. */
export async function importPage<Item>(
  run: ImportRun,
  page: readonly Item[],
  parser: ItemParser<Item>,
): Promise<void> {
  await writePage(run, parsePage(run, page, parser));
}

type ParsedPage = {
  rows: ImportedPenalty[];
  unreadable: UnreadableRow[];
  /** The rows of items after their first: what an earlier import made of them alone is now part of the item. */
  merged: SourceKey[];
  /** Rows read up to and including this page. */
  read: number;
};

type UnreadableRow = {
  table: string;
  id: string;
  reason: string;
  key: SourceKey | undefined;
  /** Undefined if it is not over, or cannot be read either. */
  end: PenaltyState | undefined;
};

function parsePage<Item>(
  { summary, listener, signal, expiryMark }: ImportRun,
  page: readonly Item[],
  parser: ItemParser<Item>,
): ParsedPage {
  signal?.throwIfAborted();
  const { table, idsOf, parse, keyOf } = parser;
  const parsed: ParsedPage = { rows: [], unreadable: [], merged: [], read: 0 };
  const mark = expiryMark();
  for (const item of page) {
    const ids = idsOf(item);
    summary.read += ids.length;
    try {
      const penalty = checkPenalty(
        parse(item, {
          warn: (reason) => warn(summary, listener, { table, id: ids[0] ?? '', reason }),
          assume: (assumption) => countAssumption(summary, assumption),
        }),
      );
      const { playerName, adminName, reason } = penalty;
      if ([playerName, adminName, reason].some(looksLikeWindows1251)) {
        countAssumption(
          summary,
          'with text that looks like Windows-1251 in a latin1 table: it cannot be repaired',
        );
      }
      for (const id of ids.slice(1)) parsed.merged.push({ sourceTable: table, sourceId: id });
      parsed.rows.push({ ...penalty, status: statusAt(penalty.status, penalty.endsAt, mark) });
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      const end = tryParse(() => parseEnd(item, parser));
      for (const id of ids) {
        const key = keyOf ? tryParse(() => keyOf(item)) : { sourceTable: table, sourceId: id };
        parsed.unreadable.push({ table, id, reason: error.message, key, end });
      }
    }
  }
  parsed.read = summary.read;
  return parsed;
}

function parseEnd<Item>(item: Item, { parseState }: ItemParser<Item>): PenaltyState | undefined {
  const { liftedAt, ...state } = parseState(item);
  if (state.status === 'ACTIVE') return undefined;
  // It is over even if the time of that cannot be stored.
  return { ...state, liftedAt: liftedAt && isPenaltyTime(liftedAt) ? liftedAt : null };
}

function tryParse<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}

async function writePage(run: ImportRun, { rows, unreadable, merged, read }: ParsedPage): Promise<void> {
  const { writer, summary, listener, total } = run;
  const ended = await setRowsAside(run, unreadable);
  const counts = await writer.write([...rows, ...ended]);
  // They still exist at the source, so what an earlier import stored of them must not be marked as gone.
  await writer.markSeen(unreadable.flatMap(({ key }) => key ?? []));
  await writer.deleteMerged(merged);
  summary.added += counts.added;
  summary.changed += counts.changed;
  summary.unchanged += counts.unchanged;
  listener.onProgress?.({ read, share: total ? Math.min(read / total, 1) : undefined });
}

/**
 * Sets rows aside that cannot be read, except those that an earlier import could read and that are over now.
 * @returns the stored penalties of the latter, with how they ended.
 */
async function setRowsAside(
  { db, source, summary, listener }: ImportRun,
  unreadable: readonly UnreadableRow[],
): Promise<ImportedPenalty[]> {
  const keys = unreadable.flatMap(({ key }) => key ?? []);
  const stored = new Map(
    (await listImportedPenalties(db, source, keys)).map((penalty) => [textOf(penalty), penalty]),
  );
  const ended: ImportedPenalty[] = [];
  for (const { key, end, ...row } of unreadable) {
    const penalty = key && stored.get(textOf(key));
    if (penalty && end) {
      ended.push({ ...penalty, ...end });
      warn(summary, listener, { ...row, reason: `only that it is over was imported: ${row.reason}` });
    } else setRowAside(summary, listener, { ...row, isOutdated: penalty !== undefined });
  }
  return ended;
}

function textOf({ sourceTable, sourceId }: SourceKey): string {
  return `${sourceTable}\n${sourceId}`;
}
