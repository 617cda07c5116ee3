import { type Connection, type Db, openDrizzle, openSession } from '../db/client.ts';
import { LOCKS } from '../db/locks.ts';
import { Conflict, InvalidInput } from '../domain/errors.ts';
import { isPenaltyTime, PENALTY_YEARS, SOURCE_NAME, SOURCE_NAME_RULE, statusAt } from '../domain/penalty.ts';
import type { Actor } from '../domain/rights/actor.ts';
import { UNKNOWN_STEAM_ID } from '../domain/steam-id.ts';
import { isSudden, type Loss } from '../queries/held-removals.ts';
import { loadExpiryMark } from '../queries/penalties/expiry.ts';
import {
  analyzePenalties,
  findLostPenalties,
  type ImportedPage,
  type ImportedPenalty,
  importSettings,
  listSamePenalties,
  markGonePenalties,
  type RowIdentity,
  type SourceKey,
  startFullRead,
  startImportSession,
  type Twin,
  writeImportedPage,
} from '../queries/penalties/imported.ts';
import {
  completePenaltySource,
  type PenaltySource,
  saveSourceTimezone,
} from '../queries/penalties/sources.ts';
import { countLostTombstones } from '../queries/personal-data/tombstones.ts';
import {
  countAssumption,
  type ImportListener,
  type ImportSummary,
  report,
  startSummary,
} from './import-report.ts';
import { listDamages } from './source/clean-text.ts';
import { claimSource } from './source/identity.ts';
import { tryParse } from './source/values.ts';

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
  /** The source is the same one as before, at a new address. */
  replacesSource?: boolean;
  /** Whether penalties that the source no longer has are removed, however many they are, and whole tables, too. */
  acceptsRemovals?: boolean;
  /** Chooses the tables of which nothing is removed; by default all, if the losses of any are sudden and not accepted. */
  holdLosses?: HoldLosses;
  /** The zone of the source's times, for sources that write them without one. */
  timezone?: string | undefined;
  /** Ends the import; written pages stay. */
  signal?: AbortSignal;
};

/** @param losses one of each table that has penalties here. @returns the subjects of those that are held. */
type HoldLosses = (losses: readonly Loss[]) => readonly string[] | Promise<readonly string[]>;

/** A running import. */
export type ImportRun = ImportDeps & {
  source: PenaltySource;
  holdLosses: HoldLosses;
  acceptsRemovals: boolean;
  isDryRun: boolean;
  /** The largest id of a penalty before the import. */
  newestId: string;
  timezone: string | undefined;
  /** The source's time zone has changed since the last full read, so changes of times alone cause silent events. */
  isRezoned: boolean;
  /** Whether every row is read: only then is it known what the source no longer has. */
  isFullRead: boolean;
  /** The connection that holds the source's lock, and writes. */
  session: Db;
  summary: ImportSummary;
  listener: ImportListener;
  signal: AbortSignal | undefined;
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
  {
    isDryRun = false,
    waits = true,
    replacesSource = false,
    acceptsRemovals = false,
    holdLosses = (losses) => {
      const isHeld = !acceptsRemovals && losses.some(({ counts }) => isSudden(counts));
      return isHeld ? losses.map(({ subject }) => subject) : [];
    },
    timezone,
    signal,
    ...listener
  }: ImportOptions,
  importAll: (run: ImportRun) => Promise<void>,
): Promise<ImportSummary> {
  const { name } = source;
  if (!SOURCE_NAME.test(name)) {
    throw new InvalidInput(`source ${JSON.stringify(name)} isn't valid: use ${SOURCE_NAME_RULE}`);
  }
  const connection = openSession(deps.databaseUrl, `import ${name}`, {
    statementTimeoutMs: waits ? 0 : STATEMENT_TIMEOUT_MS,
    settings: importSettings(waits ? 0 : IDLE_SECONDS),
  });
  const session = openDrizzle(connection);
  const end = () => void connection.end({ timeout: 0 }).catch(() => {});
  signal?.addEventListener('abort', end);
  try {
    await lockSource(connection, name, { waits, onWait: listener.onWait });
    const saved = await claimSource(deps.db, source, { isDryRun, replaces: replacesSource });
    const summary = startSummary(name, isDryRun);
    summary.lostErasures = await countLostTombstones(deps.db);
    const isRezoned = timezone !== undefined && saved.timezone !== null && saved.timezone !== timezone;
    const newestId = await startImportSession(session, { isDryRun, isRezoned });
    const settings = { source, holdLosses, acceptsRemovals, isDryRun, newestId, timezone, isRezoned };
    await importAll({ ...deps, ...settings, isFullRead: false, session, summary, listener, signal });
    if (isDryRun) return summary;
    const { read, added, changed, gone, held, setAside, serversAdded } = summary;
    await analyzePenalties(session, added + changed + gone);
    // A later round of a mirror has nothing to complete.
    if (deps.actor === 'configuration' && saved.completedAt) return summary;
    const details = { read, added, changed, gone, ...(held > 0 && { held }), setAside, serversAdded };
    await completePenaltySource(deps.db, name, { actor: deps.actor, details });
    return summary;
  } finally {
    signal?.removeEventListener('abort', end);
    await connection.end({ timeout: 5 });
  }
}

/**
 * Each statement takes seconds; the slowest builds an index of millions of rows. An import that waits for another one
 * has no limit.
 */
const STATEMENT_TIMEOUT_MS = 60_000;
/** A mirror that hangs loses the source's lock, so that another process can continue. */
const IDLE_SECONDS = 30;

async function lockSource(
  connection: Connection,
  name: string,
  { waits, onWait }: { waits: boolean; onWait: (() => void) | undefined },
): Promise<void> {
  const [lock] =
    await connection`select pg_try_advisory_lock(${LOCKS.importSource}, hashtext(${name})) as "isHeld"`;
  if (lock?.isHeld) return;
  if (!waits)
    throw new Conflict(`another import of ${name} is running${await describeHolder(connection, name)}`);
  onWait?.();
  await connection`select pg_advisory_lock(${LOCKS.importSource}, hashtext(${name}))`;
}

/** Which session of PostgreSQL holds the lock of a source, and since when; '' if it has just been released. */
async function describeHolder(connection: Connection, name: string): Promise<string> {
  const [holder] = await connection`
    select pid, backend_start from pg_locks join pg_stat_activity using (pid)
    where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())
      and classid = ${LOCKS.importSource} and objid = hashtext(${name})::bit(32)::bigint::oid`;
  return holder
    ? `, since ${new Date(holder.backend_start).toISOString()} (PostgreSQL process ${holder.pid})`
    : '';
}

/**
 * Reads some tables whole, and marks as gone the penalties that the read has not seen, except those of tables whose losses
 * are held.
 */
export async function readWhole(
  run: ImportRun,
  sourceTables: readonly string[],
  importAll: (run: ImportRun) => Promise<void>,
): Promise<void> {
  const { session, source, summary, isDryRun, newestId } = run;
  const now = run.now();
  const read = { source: source.name, sourceTables, newestId };
  const totals = await startFullRead(session, read, now);
  await importAll({ ...run, isFullRead: true });
  const losses = await findLostPenalties(session, read, now);
  const lossOf = (table: string) => losses.find(({ sourceTable }) => sourceTable === table);
  const held = await run.holdLosses(
    totals.map(({ sourceTable, all, inForce }) => ({
      subject: sourceTable,
      counts: [
        { removals: lossOf(sourceTable)?.all ?? 0, total: all },
        { removals: lossOf(sourceTable)?.inForce ?? 0, total: inForce },
      ],
    })),
  );
  for (const table of held) summary.held += lossOf(table)?.all ?? 0;
  const others = losses.filter(({ sourceTable }) => !held.includes(sourceTable));
  // Not since the beginning of the read, which may take minutes.
  summary.gone = await markGonePenalties(session, others, { now: run.now(), isDryRun });
  if (run.timezone && !isDryRun) await saveSourceTimezone(run.db, source.name, run.timezone);
}

/** Reports something odd about an item that is imported. */
export type Warn = (reason: string) => void;

/** How a parser reports on the item that it parses. */
export type ItemReport = {
  warn: Warn;
  /** Counts the item among those about which this was assumed; see {@link countAssumption}. */
  assume: (assumption: string) => void;
};

/** Who lifted a penalty, when and why. */
type Lift = Pick<ImportedPenalty, 'liftedAt' | 'liftedByName' | 'liftedBySteamId' | 'liftReason'>;
/** Whether a penalty is in force, over, or lifted and by whom. */
export type PenaltyState = Pick<ImportedPenalty, 'status'> & Lift;
/** Nobody lifted it. */
export const NOT_LIFTED: Lift = {
  liftedAt: null,
  liftedByName: null,
  liftedBySteamId: null,
  liftReason: null,
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
  parseState?: (item: Item) => PenaltyState;
  /** Only where a source may give the id of a row to another penalty. */
  rows?: {
    /** Reads which penalty a row of an item is, as far as it can be read. */
    identify: (item: Item, index: number) => Omit<RowIdentity, keyof SourceKey>;
    /** Reads the items of the rows with these ids that the source still has. */
    findItems: (ids: readonly string[]) => Promise<Item[]>;
  };
};

/**
 * Imports page after page; a bad item is set aside, and the rest is written. The next page is read and parsed while the
 * previous one is being written.
 * @param share the share of the source that has been read, 0 to 1; undefined when its size is unknown.
 */
export async function importPages<Item>(
  run: ImportRun,
  pages: AsyncIterable<readonly Item[]> | readonly (readonly Item[])[],
  parser: ItemParser<Item>,
  share: () => number | undefined = () => undefined,
): Promise<void> {
  const { listener, summary } = run;
  let writing: Promise<void> = Promise.resolve();
  for await (const page of pages) {
    const parsedPage = await parsePage(run, page, parser);
    await writing;
    listener.onProgress?.({ read: summary.read, share: share() });
    writing = writePage(run, parsedPage, parser);
    // Awaited above or below; this only prevents an unhandled rejection until then.
    writing.catch(() => {});
  }
  await writing;
}

type ParsedPage = Pick<ImportedPage, 'rows' | 'merged'> & { unreadable: UnreadableRow[] };

type UnreadableRow = RowIdentity & {
  why: string;
  /** Undefined if it is not over, or cannot be read either. */
  end: PenaltyState | undefined;
};

async function parsePage<Item>(
  run: ImportRun,
  page: readonly Item[],
  parser: ItemParser<Item>,
): Promise<ParsedPage> {
  const { table, idsOf, parse, parseState } = parser;
  const { summary, signal } = run;
  signal?.throwIfAborted();
  const parsedPage: ParsedPage = { rows: [], unreadable: [], merged: [] };
  const mark = await loadExpiryMark(run.db, run.now());
  for (const item of page) {
    const ids = idsOf(item);
    summary.read += ids.length;
    try {
      const penalty = checkPenalty(
        parse(item, {
          warn: (reason) => report(run, 'warning', { table, id: ids[0] ?? '', reason }),
          assume: (assumption) => countAssumption(summary, assumption),
        }),
      );
      const { playerName, adminName, reason } = penalty;
      for (const damage of listDamages([playerName, adminName, reason])) countAssumption(summary, damage);
      if (ids.length > 1) parsedPage.merged.push(...identifyRows(parser, item).slice(1));
      parsedPage.rows.push({ ...penalty, status: statusAt(penalty.status, penalty.endsAt, mark) });
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      const end = parseState && tryParse(() => toEnd(parseState(item)));
      const rows = identifyRows(parser, item);
      parsedPage.unreadable.push(...rows.map((row) => ({ ...row, why: error.message, end })));
    }
  }
  return parsedPage;
}

/** Undefined for a penalty that is not over. */
function toEnd(state: PenaltyState): PenaltyState | undefined {
  return state.status === 'ACTIVE' ? undefined : { ...state, liftedAt: toLiftTime(state) };
}

/** Null for a time that cannot be stored: it was lifted all the same. */
function toLiftTime({ liftedAt }: Lift): Date | null {
  return liftedAt && isPenaltyTime(liftedAt) ? checkTime('lifting', liftedAt) : null;
}

/**
 * Checks what holds for penalties of every source: their times lie in the allowed years, and are truncated to whole
 * seconds. The table enforces the same for other writers.
 * @throws {InvalidInput} that names the time.
 */
function checkPenalty(penalty: ImportedPenalty): ImportedPenalty {
  const { createdAt, endsAt } = penalty;
  return {
    ...penalty,
    createdAt: checkTime('creation', createdAt),
    endsAt: endsAt && checkTime('end', endsAt),
    liftedAt: toLiftTime(penalty),
  };
}

/** Truncates a time to whole seconds. @throws {InvalidInput} that names it, if it lies outside of the allowed years. */
export function checkTime(name: string, time: Date): Date {
  if (isPenaltyTime(time)) return new Date(Math.floor(time.getTime() / 1000) * 1000);
  const description = Number.isNaN(time.getTime()) ? 'is not a valid time, or' : time.toISOString();
  throw new InvalidInput(
    `its ${name} ${description} lies outside the years ${PENALTY_YEARS.first} to ${PENALTY_YEARS.last}`,
  );
}

/** What each row of an item says about which penalty it is; without {@link ItemParser.rows} only its key. */
function identifyRows<Item>({ table, idsOf, rows }: ItemParser<Item>, item: Item): RowIdentity[] {
  const unknown = { playerName: '', playerSteamId: UNKNOWN_STEAM_ID, reason: '' };
  return idsOf(item).map((id, index) => ({
    ...(rows?.identify(item, index) ?? unknown),
    ...{ sourceTable: table, sourceId: id },
  }));
}

async function writePage<Item>(
  run: ImportRun,
  { rows, merged, unreadable }: ParsedPage,
  parser: ItemParser<Item>,
): Promise<void> {
  const { session, source, isDryRun, isFullRead, summary } = run;
  const ended = await setRowsAside(run, unreadable);
  const page = { rows: [...rows, ...ended], merged, unreadable };
  const listRowless = (twins: readonly Twin[]) => findRowless(run, parser, twins);
  const counts = await writeImportedPage(session, source.name, page, { isDryRun, isFullRead, listRowless });
  for (const key of ['added', 'changed', 'unchanged', 'movedAside'] as const) summary[key] += counts[key];
}

/**
 * Sets rows aside that cannot be read, except those that an earlier import could read and that are over now.
 * @returns the stored penalties of the latter, with how they ended.
 */
async function setRowsAside(
  run: ImportRun,
  unreadable: readonly UnreadableRow[],
): Promise<ImportedPenalty[]> {
  const penalties = await listSamePenalties(run.session, run.source.name, unreadable);
  const penaltyById = new Map(penalties.map((penalty) => [penalty.sourceId, penalty]));
  const ended: ImportedPenalty[] = [];
  for (const row of unreadable) {
    const { sourceTable: table, sourceId: id, why, end } = row;
    const penalty = penaltyById.get(id);
    if (penalty && end) {
      ended.push({ ...penalty, ...end, creation: row.creation && 'known' });
      report(run, 'warning', { table, id, reason: `only that it is over was imported: ${why}` });
    } else report(run, penalty ? 'outdated' : 'set aside', { table, id, reason: why });
  }
  return ended;
}

/** How many rows are looked up per query. */
const LOOKUP_ROWS = 500;

/** The ids of those of these penalties that are no longer in the row with their key. */
async function findRowless<Item>(
  { session, source }: ImportRun,
  parser: ItemParser<Item>,
  twins: readonly Twin[],
): Promise<ReadonlySet<string>> {
  const rowless = new Set(twins.map(({ id }) => id));
  for (let start = 0; start < twins.length; start += LOOKUP_ROWS) {
    const ids = twins.slice(start, start + LOOKUP_ROWS).map(({ sourceId }) => sourceId);
    const items = (await parser.rows?.findItems(ids)) ?? [];
    const rows = items.flatMap((item) => identifyRows(parser, item));
    for (const { id } of await listSamePenalties(session, source.name, rows)) rowless.delete(String(id));
  }
  return rowless;
}
