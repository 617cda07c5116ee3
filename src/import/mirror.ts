import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Db } from '../db/client.ts';
import type { Leaders, Leadership } from '../db/leader.ts';
import { Conflict } from '../domain/errors.ts';
import { type FlagMapping, mapPermissions } from '../domain/rights/user-flags.ts';
import type { PenaltySource } from '../queries/penalties/sources.ts';
import { saveFlagRound } from '../queries/users/user-flags.ts';
import type { Count, Metrics } from '../runtime/metrics.ts';
import type { AdminRights } from './admin-rights.ts';
import { importChanges, loadStateAfterSweep } from './changes.ts';
import type { ImportSummary, RowReport } from './import-report.ts';
import { type ImportOptions, type ImportRun, runImport } from './import-run.ts';
import { identifySource, importTables } from './import-source.ts';
import { loadMirrorState, type MirrorState, saveMirrorState } from './mirror-state.ts';
import { OtherSource, SYSTEM_NAMES } from './source/identity.ts';
import { openSourceDatabase } from './source/open-source.ts';
import type { SourceDatabase } from './source/source-database.ts';
import type { SourceSystem } from './source-system.ts';

export type Mirror = {
  /** The part that one process leads, and its name in the health report. */
  part: `mirror_${SourceSystem['kind']}`;
  start: () => void;
  /** Aborts the running round; settles within three seconds. */
  stop: () => Promise<void>;
  health: () => MirrorHealth;
};

export type MirrorHealth = {
  /** False while another process mirrors. */
  isMirroring: boolean;
  /** Whether the last round succeeded; undefined before the first. */
  isUp: boolean | undefined;
  /** Failed rounds in a row. */
  failures: number;
  /** Why nothing is mirrored until an operator decides how to continue. */
  refusal: string | undefined;
  lastRoundAt: Date | undefined;
  lastSweepAt: Date | undefined;
};

type Deps = {
  db: Db;
  /** For the connection that holds the source's lock. */
  databaseUrl: string;
  /** Only one process mirrors a source. */
  leaders: Leaders;
  log: Logger;
  metrics: MirrorMetrics;
  now?: () => Date;
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

/** The metrics of all mirrors of a process, labelled by the kind of their system. */
export type MirrorMetrics = {
  add: (system: SourceSystem['kind'], read: () => { isUp: boolean; ageSeconds: number }) => void;
  countRows: Count<'system' | 'change'>;
};

/** Registers the metrics of mirrors, once for a process. */
export function createMirrorMetrics(metrics: Metrics): MirrorMetrics {
  const mirrors = new Map<SourceSystem['kind'], () => { isUp: boolean; ageSeconds: number }>();
  const readAll = () => [...mirrors].map(([system, read]) => ({ labels: { system }, ...read() }));
  // A process that no longer mirrors must not report an old success: alerts take the maximum over all processes.
  metrics.addGauges(
    'mirror_up',
    '1 while this process mirrors the system and its last round succeeded, else 0.',
    ['system'],
    () => readAll().map(({ labels, isUp }) => ({ labels, value: isUp ? 1 : 0 })),
  );
  metrics.addGauges(
    'mirror_age_seconds',
    'Time since the last successful round of the mirror.',
    ['system'],
    () => readAll().map(({ labels, ageSeconds }) => ({ labels, value: ageSeconds })),
  );
  return {
    add: (system, read) => void mirrors.set(system, read),
    countRows: metrics.addCounter('mirror_rows_total', 'Rows the mirror wrote.', ['system', 'change']),
  };
}

/** Small pages, so that the process can handle requests between them. */
const PAGE_ROWS = 1000;
/** The hour, in the plugin's time zone, at which every row is read again. */
const SWEEP_TIME_OF_DAY_MS = 4 * 3_600_000;

const LOST_ERASURES =
  'erased people are not recognised, since the secret that identifies them is lost: the mirror may name them again';

/**
 * Mirrors the penalties of a system's database: a first full read, then the changes of each interval, and a full
 * read each night, which finds what the rounds miss. One process mirrors; another takes over when it dies. An outage of
 * the source causes one log line and a metric, and affects nothing else.
 */
export function createMirror(
  { db, databaseUrl, leaders, log, metrics, now = () => new Date() }: Deps,
  system: SourceSystem,
  { url, source, timezone = 'UTC', intervalSeconds, flags }: Settings,
): Mirror {
  const { kind } = system;
  const part: Mirror['part'] = `mirror_${kind}`;
  const name = SYSTEM_NAMES[kind];
  const setting = kind.toUpperCase();
  const refusal = `${setting}_URL names a different database from the one its penalties came from: nothing is mirrored`;
  const warned = new Set<string>();
  const health: Omit<MirrorHealth, 'isMirroring'> = {
    isUp: undefined,
    failures: 0,
    refusal: undefined,
    lastRoundAt: undefined,
    lastSweepAt: undefined,
  };
  /** When the last round succeeded, by a monotonic clock. */
  let lastRoundMs: number | undefined;
  /** Whether the last round could not read admins: logged once. */
  let isMissingAdmins = false;
  /** Whether lost erasures have been logged: once, until the loss is repaired. */
  let hasLoggedLoss = false;
  let leadership: Leadership | undefined;
  const isMirroring = () => leadership?.isLeader() ?? false;
  metrics.add(kind, () => ({
    isUp: health.isUp === true && isMirroring(),
    ageSeconds: lastRoundMs === undefined ? Number.NaN : (performance.now() - lastRoundMs) / 1000,
  }));

  async function lead(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const startedMs = performance.now();
      await runRound(signal);
      const restMs = intervalSeconds * 1000 - (performance.now() - startedMs);
      await sleep(Math.max(restMs, 0), undefined, { signal }).catch(() => {});
    }
  }

  async function runRound(signal: AbortSignal): Promise<void> {
    try {
      const database = await openSourceDatabase(url);
      try {
        await importRound(signal, database);
      } finally {
        await database.close();
      }
      if (health.isUp === false) log.info(`mirroring ${name} works again`);
      health.isUp = true;
      health.failures = 0;
      health.refusal = undefined;
      health.lastRoundAt = now();
      lastRoundMs = performance.now();
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof OtherSource) refuse(error);
      // On a Conflict, an operator's import of the same source is running.
      else if (!(error instanceof Conflict)) fail(error);
    }
  }

  function fail(error: unknown): void {
    if (health.isUp !== false || health.refusal !== undefined)
      log.warn({ err: error }, `mirroring ${name} failed: retrying`);
    health.isUp = false;
    health.failures += 1;
    health.refusal = undefined;
  }

  function refuse({ known, given }: OtherSource): void {
    if (health.refusal === undefined) {
      const waysOn =
        `set ${setting}_SOURCE to a new name to mirror it separately, or run \`bun run cli penalties import ${kind} ` +
        '--replace-source` if it is the same database at a new address';
      log.error({ source, known, given }, `${refusal}: ${waysOn}`);
    }
    health.isUp = false;
    health.failures += 1;
    // Without the addresses, which are only logged: anybody may read /readyz.
    health.refusal = refusal;
  }

  async function importRound(signal: AbortSignal, database: SourceDatabase): Promise<void> {
    const identity = identifySource(system, source, database);
    const sourceHash = hashOf(identity);
    const state = await loadMirrorState(db, { kind, sourceHash });
    health.lastSweepAt = state?.sweptAt;
    const isSweep = state === undefined || dayOf(now(), timezone) !== dayOf(state.sweptAt, timezone);
    let next: MirrorState | undefined;
    const importAll = async (importRun: ImportRun) => {
      const tables = await system.openTables(importRun, database);
      if (!isSweep) {
        next = await importChanges(importRun, database, tables, { state, pageRows: PAGE_ROWS });
        return;
      }
      // Loaded before the rows: what is added meanwhile counts as new in the next round.
      next = await loadStateAfterSweep(database, tables, { sourceHash, sweptAt: now() });
      await importTables(importRun, database, tables, { pageRows: PAGE_ROWS });
    };
    const options: ImportOptions = {
      waits: false,
      signal,
      onSetAside: (row, { isOutdated }) =>
        warnOnce(
          row,
          isOutdated
            ? `a row of ${name} can no longer be read: its penalty stays as it was`
            : `a row of ${name} was set aside`,
        ),
      // Warnings about penalties are too many to log; one about a server is something that an operator can correct.
      onWarning: (row) => {
        if (row.table === system.serverTable) warnOnce(row, `a server of ${name} could not be matched`);
      },
    };
    const summary = await runImport(
      { db, databaseUrl, now, actor: 'configuration' },
      identity,
      options,
      importAll,
    );
    if (next) await saveMirrorState(db, kind, next);
    health.lastSweepAt = next?.sweptAt;
    report(summary, isSweep);
    if (flags) await mirrorFlags(database, flags, signal);
  }

  /** Saves what rights in the game give here. Unless all of them were read, everybody keeps what they have. */
  async function mirrorFlags(
    database: SourceDatabase,
    mapping: FlagMapping,
    signal: AbortSignal,
  ): Promise<void> {
    let admins: AdminRights[];
    try {
      admins = await system.readAdmins(database);
    } catch (error) {
      if (!isMissingAdmins)
        log.warn({ err: error }, `admins of ${name} cannot be read: their flags stay as they are`);
      isMissingAdmins = true;
      return;
    }
    signal.throwIfAborted();
    isMissingAdmins = false;
    const grants = admins.flatMap((admin) => mapPermissions(mapping, admin.steamId64, admin));
    const changed = await db.transaction((tx) => saveFlagRound(tx, kind, { grants, now: now() }));
    if (changed.given + changed.taken > 0) log.info(changed, `flags of ${name} changed`);
  }

  /** Logs a row once, since it is read again in every round. */
  function warnOnce({ table, id, reason }: RowReport, message: string): void {
    const key = `${table} ${id} ${reason}`;
    if (warned.has(key) || warned.size >= 1000) return;
    warned.add(key);
    log.warn({ table, id, reason }, message);
  }

  function logAssumption(rows: number, assumption: string): void {
    if (warned.has(assumption)) return;
    warned.add(assumption);
    log.warn({ rows }, `rows of ${name} ${assumption}`);
  }

  function report(
    { read, added, changed, gone, setAside, serversAdded, lostErasures, assumptions }: ImportSummary,
    isSweep: boolean,
  ): void {
    // Between two sweeps, only some of the rows are counted.
    if (isSweep) for (const { rows, assumption } of assumptions) logAssumption(rows, assumption);
    if (lostErasures > 0 && !hasLoggedLoss) {
      log.error({ lostErasures }, LOST_ERASURES);
    }
    hasLoggedLoss = lostErasures > 0;
    for (const [change, rows] of Object.entries({ added, changed, gone })) {
      metrics.countRows({ system: kind, change }, rows);
    }
    if (!isSweep && added + changed + serversAdded.length === 0) return;
    log.info({ isSweep, read, added, changed, gone, setAside, serversAdded }, `mirrored ${name}`);
  }

  return {
    part,
    start() {
      leadership = leaders.run(part, lead);
    },
    async stop() {
      await leadership?.stop();
    },
    health: () => ({ ...health, isMirroring: isMirroring() }),
  };
}

function hashOf({ name, address, prefix }: PenaltySource): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify([name, address, prefix])).digest('hex');
}

/** The date in a zone, with days that begin at 04:00. */
function dayOf(at: Date, timezone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: timezone }).format(at.getTime() - SWEEP_TIME_OF_DAY_MS);
}
