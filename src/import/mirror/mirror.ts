import { inTransaction } from '../../db/client.ts';
import { type FlagMapping, mapPermissions } from '../../domain/rights/user-flags.ts';
import { SYSTEM_TITLES } from '../../domain/systems.ts';
import { HOUR_MS } from '../../domain/time.ts';
import {
  holdRemovals,
  keepHeldRemovals,
  listHeldRemovals,
  saveMissingTables,
} from '../../queries/held-removals.ts';
import { listLiftsToRead, settleLifts } from '../../queries/penalties/lifts.ts';
import { saveGuardedFlagRound } from '../../queries/users/user-flags.ts';
import { TOOL } from '../../runtime/tool.ts';
import type { AdminRights } from '../admin-rights.ts';
import type { ImportSummary, ReportKind, RowReport } from '../import-report.ts';
import { runImport } from '../import-run.ts';
import { createRounds, describeFailure, type Rounds, type RoundsDeps } from '../rounds.ts';
import { OtherSource } from '../source/identity.ts';
import { readSource } from '../source/open-source.ts';
import type { SourceDatabase } from '../source/tables.ts';
import { findRowsById, importRows, importTables, openTables, type SourceSystem } from '../source-system.ts';
import {
  importChanges,
  loadMirrorState,
  loadStateAfterSweep,
  type MirrorState,
  saveMirrorState,
} from './changes.ts';

type Deps = RoundsDeps & {
  /** For the connection that holds the source's lock. */
  databaseUrl: string;
};

type Settings = {
  /** `mysql://…` or `sqlite:PATH`. */
  url: string;
  /** Names the source; part of the key of its penalties. */
  source: string;
  /** The zone of the nightly full read; UTC by default. */
  timezone?: string | undefined;
  intervalSeconds: number;
  /** Which rights in the game give which flags here; none by default. */
  flags?: FlagMapping | undefined;
};

/** Small pages, so that the process can handle requests between them. */
const PAGE_ROWS = 1000;
/** The hour, in the plugin's time zone, at which every row is read again. */
const SWEEP_TIME_OF_DAY_MS = 4 * HOUR_MS;
/** How long a changed state stays unsaved while rounds write no rows. */
const SAVE_MS = 600_000;

/** Bounds memory, since a broken source may have every row set aside. */
const MAX_ROWS_LOGGED = 1000;
const NO_ADMINS = 'admins';
const LOST_ERASURES =
  'erased people are not recognised, since the secret that identifies them is lost: the mirror may name them again';

/**
 * Mirrors the penalties of a system's database: a first full read, then the changes of each interval, and a full
 * read each night, which finds what the rounds miss; see {@link createRounds}.
 */
export function createMirror(
  { databaseUrl, ...deps }: Deps,
  system: SourceSystem,
  { url, source: sourceName, timezone = 'UTC', intervalSeconds, flags }: Settings,
): Rounds {
  const { db, log, metrics, now = () => new Date() } = deps;
  const { kind } = system;
  const name = SYSTEM_TITLES[kind];
  const setting = kind.toUpperCase();
  const reason = `${setting}_URL names a different database from the one its penalties came from: nothing is mirrored`;
  const messages: Record<ReportKind, string> = {
    warning: `a server of ${name} could not be matched`,
    'set aside': `a row of ${name} was set aside`,
    outdated: `a row of ${name} can no longer be read: its penalty stays as it was`,
  };
  /** The state after the last round of this process. Not every state is saved: after an older one, a round only reads more. */
  let latest: MirrorState | undefined;
  /** What has been logged already: each round meets it again. */
  const loggedKeys = new Set<string>();

  function isNew(key: string): boolean {
    if (loggedKeys.has(key)) return false;
    loggedKeys.add(key);
    return true;
  }

  function refusalOf(error: unknown) {
    if (!(error instanceof OtherSource)) return undefined;
    const { previous, current } = error;
    const waysOn =
      `set ${setting}_SOURCE to a new name to mirror it separately, or run \`${TOOL} penalties import ${kind} ` +
      '--replace-source` if it is the same database at a new address';
    return { reason, details: { source: sourceName, previous, current }, waysOn };
  }

  async function importRound(signal: AbortSignal, database: SourceDatabase): Promise<void> {
    const identity = { name: sourceName, kind, address: database.address, prefix: system.prefix };
    const source = JSON.stringify(identity);
    const heldRemovals = await listHeldRemovals(db, kind);
    // An accepted loss of flags waits until they can be read; until then, it must not lift the guard of penalties.
    const isAccepted = heldRemovals.some((removal) => removal.kind !== 'flags' && removal.isAccepted);
    const areFlagsAccepted = heldRemovals.some((removal) => removal.kind === 'flags' && removal.isAccepted);
    const isHolding = heldRemovals.some((removal) => removal.kind === 'penalties');
    const saved = await loadMirrorState(db, kind, source, () =>
      log.warn(`the saved state of the mirror of ${name} cannot be read: all rows are read again`),
    );
    // Another process may have saved a newer one.
    const state = latest && saved?.savedAt === latest.savedAt ? latest : saved;
    const isHourSinceSweep = !!state && now().getTime() - Date.parse(state.sweptAt) >= HOUR_MS;
    let isSweep =
      isAccepted ||
      !state ||
      dayOf(now(), timezone) !== dayOf(new Date(state.sweptAt), timezone) ||
      (isHolding && isHourSinceSweep);
    const pendingLifts = await listLiftsToRead(db, sourceName, now());
    let held: readonly string[] = [];
    let next: MirrorState | undefined;
    const summary = await runImport(
      { db, databaseUrl, now, actor: 'configuration' },
      identity,
      {
        waits: false,
        acceptsRemovals: isAccepted,
        timezone: system.timezoneOf?.(database),
        signal,
        onReport: logReport,
        holdLosses: async (losses) => {
          held = await inTransaction(db, (tx) =>
            holdRemovals(tx, { system: kind, kind: 'penalties' }, losses, { isAccepted, now: now() }),
          );
          return held;
        },
      },
      async (importRun) => {
        const opened = await openTables(importRun, database, system, { withAdmins: flags !== undefined });
        const { tables } = opened;
        const readLifts = pendingLifts.filter((lift) => tables.some(({ name }) => name === lift.sourceTable));
        isSweep ||= importRun.isRezoned;
        if (!isSweep && state) {
          const changes = await importChanges(importRun, database, tables, { state, pageRows: PAGE_ROWS });
          next = changes.next;
          for (const table of tables) {
            const lifts = readLifts.filter(({ sourceTable }) => sourceTable === table.name);
            const ids = lifts.map(({ sourceId }) => sourceId);
            if (ids.length > 0) await importRows(importRun, table, await findRowsById(database, table, ids));
          }
          // Only a full read removes penalties. While it holds some back, it runs hourly anyway.
          isSweep =
            !isHolding && (importRun.summary.movedAside > 0 || (changes.isMissing && isHourSinceSweep));
        }
        if (isSweep) {
          // Loaded before the rows: rows added meanwhile count as new in the next round.
          const sweptAt = now().toISOString();
          next = await loadStateAfterSweep(database, tables, { source, sweptAt });
          await importTables(importRun, database, opened, PAGE_ROWS);
        }
        await opened.remember();
        await settleLifts(db, readLifts, now());
      },
    );
    const { missing } = summary;
    if (next) {
      const savedMs = next.savedAt === undefined ? 0 : Date.parse(next.savedAt);
      const isDue = summary.added + summary.changed > 0 || now().getTime() - savedMs >= SAVE_MS;
      latest = isDue ? { ...next, savedAt: now().toISOString() } : next;
      if (isDue) await saveMirrorState(db, kind, latest);
    }
    if (isSweep) await keepHeldRemovals(db, { system: kind, kind: 'penalties' }, held);
    await saveMissingTables(db, kind, missing, { before: heldRemovals, now: now() });
    report(summary, isSweep);
    // Unless all tables of admins were read, everybody keeps their flags.
    if (flags && !system.tables.admins.some((table) => missing.includes(table)))
      await mirrorFlags(database, flags, { isAccepted: areFlagsAccepted, signal });
  }

  /** Saves what rights in the game give here. Unless all of them were read, everybody keeps what they have. */
  async function mirrorFlags(
    database: SourceDatabase,
    mapping: FlagMapping,
    { isAccepted, signal }: { isAccepted: boolean; signal: AbortSignal },
  ): Promise<void> {
    let admins: AdminRights[];
    try {
      admins = await system.readAdmins(database);
    } catch (error) {
      if (isNew(NO_ADMINS)) {
        log.warn(describeFailure(error), `admins of ${name} cannot be read: their flags stay as they are`);
      }
      return;
    }
    signal.throwIfAborted();
    loggedKeys.delete(NO_ADMINS);
    const grants = admins.flatMap((admin) => mapPermissions(mapping, admin.steamId64, admin));
    const changes = await inTransaction(db, (tx) =>
      saveGuardedFlagRound(tx, kind, { grants, now: now() }, { mapping, isAccepted }),
    );
    if (changes.given + changes.taken > 0) log.info(changes, `flags of ${name} changed`);
  }

  function logReport(kind: ReportKind, row: RowReport): void {
    // Warnings about penalties are too many to log; one about a server is something that an operator can correct.
    if (kind === 'warning' && row.table !== system.servers.name) return;
    if (loggedKeys.size < MAX_ROWS_LOGGED && isNew(Object.values(row).join(' ')))
      log.warn(row, messages[kind]);
  }

  function report(
    {
      read,
      added,
      changed,
      gone,
      setAside,
      serversAdded,
      serversMoved,
      lostErasures,
      assumptions,
    }: ImportSummary,
    isSweep: boolean,
  ): void {
    for (const { rows, assumption } of assumptions) {
      // Between two sweeps, only some of the rows are counted.
      if (isSweep && isNew(assumption)) log.warn({ rows }, `rows of ${name} ${assumption}`);
    }
    for (const server of serversMoved) {
      log.warn(
        server,
        `a server of ${name} has the address of another server now: its penalties are that one's`,
      );
    }
    if (lostErasures === 0) loggedKeys.delete(LOST_ERASURES);
    else if (isNew(LOST_ERASURES)) log.error({ lostErasures }, LOST_ERASURES);
    for (const [change, rows] of Object.entries({ added, changed, gone })) {
      metrics.countRows({ system: kind, change }, rows);
    }
    if (!isSweep && added + changed + serversAdded.length === 0) return;
    log.info({ isSweep, read, added, changed, gone, setAside, serversAdded }, `mirrored ${name}`);
    if (serversAdded.length === 0) return;
    const found = serversAdded.length === 1 ? '1 server was' : `${serversAdded.length} servers were`;
    log.info(`${found} found in ${name}, hidden for now; list all with: ${TOOL} servers unhide --all`);
  }

  const run = (signal: AbortSignal) => readSource(url, (database) => importRound(signal, database));
  return createRounds(deps, { system: kind, name, intervalSeconds, run, refusalOf });
}

/** The date in a zone, with days that begin at 04:00. */
function dayOf(at: Date, timezone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: timezone }).format(at.getTime() - SWEEP_TIME_OF_DAY_MS);
}
