import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Db } from '../db/client.ts';
import { holdLease, type Lease } from '../db/lease.ts';
import { Conflict } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import type { ImportSummary, RowReport } from './import-report.ts';
import { type ImportOptions, type ImportRun, runImport } from './import-run.ts';
import { type MirrorState, readMirrorState, saveMirrorState } from './mirror-state.ts';
import { SIMPLE_ADMIN_SERVERS, SIMPLE_ADMIN_SOURCE, sweepSimpleAdmin } from './simple-admin.ts';
import { importSimpleAdminChanges, readSourceClock, readStateAfterSweep } from './simple-admin-changes.ts';
import { openSourceDatabase, type SourceDatabase } from './source-database.ts';

export type Mirror = {
  start: () => void;
  /** Ends the round under way; settles within three seconds. */
  stop: () => Promise<void>;
  health: () => MirrorHealth;
};

export type MirrorHealth = {
  /** False while another process mirrors. */
  isMirroring: boolean;
  /** Whether the last round came to its end; undefined before the first. */
  isUp: boolean | undefined;
  /** Rounds that failed since the last that did not. */
  failures: number;
  lastRoundAt: Date | undefined;
  lastSweepAt: Date | undefined;
};

type Deps = {
  db: Db;
  /** For the connections that hold the lease and the source's lock. */
  databaseUrl: string;
  log: Logger;
  metrics: Metrics;
  now?: () => Date;
};

type Settings = {
  /** `mysql://…` or `sqlite:PATH`. */
  url: string;
  timezone: string;
  intervalSeconds: number;
};

/** Small pages: the process answers requests between two of them. */
const PAGE_ROWS = 1000;
const STAND_BY_MS = 1000;
const STOP_LIMIT_MS = 2500;
/** The hour of the plugin's day at which every row is read again. */
const SWEEP_HOUR_MS = 4 * 3_600_000;

/**
 * Keeps our penalties in step with a CS2-SimpleAdmin database: a first full read, then what changed each interval, and
 * a full read each night, which finds what the rounds miss. One process mirrors; another takes over when it dies. A
 * source that does not answer is one log line and a metric: everything else goes on.
 */
export function createMirror(
  { db, databaseUrl, log, metrics, now = () => new Date() }: Deps,
  { url, timezone, intervalSeconds }: Settings,
): Mirror {
  const sourceHash = new Bun.CryptoHasher('sha256').update(url).digest('hex');
  const stopping = new AbortController();
  const complained = new Set<string>();
  const health: Omit<MirrorHealth, 'isMirroring'> = {
    isUp: undefined,
    failures: 0,
    lastRoundAt: undefined,
    lastSweepAt: undefined,
  };
  const countRows = metrics.addCounter('mirror_rows_total', 'Rows the mirror brought over.', ['change']);
  metrics.addGauge('mirror_up', 'Whether the last round of the mirror came to its end.', () =>
    health.isUp ? 1 : 0,
  );
  metrics.addGauge('mirror_age_seconds', 'Time since a round of the mirror came to its end.', () =>
    health.lastRoundAt ? (now().getTime() - health.lastRoundAt.getTime()) / 1000 : Number.NaN,
  );
  let lease: Lease | undefined;
  let loop: Promise<void> | undefined;

  async function run(held: Lease): Promise<void> {
    await held.tried;
    while (!stopping.signal.aborted) {
      const startedMs = performance.now();
      if (held.isHeld()) await playRound();
      const restMs = held.isHeld() ? intervalSeconds * 1000 - (performance.now() - startedMs) : STAND_BY_MS;
      await sleep(Math.max(restMs, 0), undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  async function playRound(): Promise<void> {
    try {
      const database = await openSourceDatabase(url);
      try {
        await importRound(database);
      } finally {
        await database.close();
      }
      if (health.isUp === false) log.info('the mirror of SimpleAdmin works again');
      health.isUp = true;
      health.failures = 0;
      health.lastRoundAt = now();
    } catch (error) {
      // An operator's import does the same work right now.
      if (stopping.signal.aborted || error instanceof Conflict) return;
      if (health.isUp !== false)
        log.warn({ err: error }, 'the mirror of SimpleAdmin does not work: trying again');
      health.isUp = false;
      health.failures += 1;
    }
  }

  async function importRound(database: SourceDatabase): Promise<void> {
    const state = await readMirrorState(db, sourceHash);
    health.lastSweepAt = state?.sweptAt;
    const isSweep = state === undefined || dayOf(now(), timezone) !== dayOf(state.sweptAt, timezone);
    let next: MirrorState | undefined;
    const importAll = async (importRun: ImportRun) => {
      if (!isSweep) {
        next = await importSimpleAdminChanges(importRun, database, { state, timezone, pageRows: PAGE_ROWS });
        return;
      }
      const [sweptAt, sourceSeconds] = [now(), await readSourceClock(database)];
      // Read before the rows are: what is added meanwhile is new in the next round.
      next = await readStateAfterSweep(database, { sourceHash, sweptAt, sourceSeconds });
      await sweepSimpleAdmin(importRun, database, { timezone, pageRows: PAGE_ROWS });
    };
    const options: ImportOptions = {
      waits: false,
      signal: stopping.signal,
      onQuarantine: (row) => complainOnce(row, 'a row of SimpleAdmin was not imported'),
      // Odd penalties are many and kept; a server that is missing is for an operator to mend.
      onRemark: (row) => {
        if (row.table === SIMPLE_ADMIN_SERVERS) complainOnce(row, 'a server of SimpleAdmin was not imported');
      },
    };
    const summary = await runImport({ db, databaseUrl, now }, SIMPLE_ADMIN_SOURCE, options, importAll);
    if (next) await saveMirrorState(db, next);
    health.lastSweepAt = next?.sweptAt;
    report(summary, isSweep);
  }

  /** A row that is wrong stays wrong in every round. */
  function complainOnce({ table, id, reason }: RowReport, message: string): void {
    const key = `${table} ${id} ${reason}`;
    if (complained.has(key) || complained.size >= 1000) return;
    complained.add(key);
    log.warn({ table, id, reason }, message);
  }

  function report(
    { read, added, changed, gone, quarantined, serversAdded }: ImportSummary,
    isSweep: boolean,
  ): void {
    countRows({ change: 'added' }, added);
    countRows({ change: 'changed' }, changed);
    countRows({ change: 'gone' }, gone);
    if (!isSweep && added + changed + serversAdded.length === 0) return;
    log.info({ isSweep, read, added, changed, gone, quarantined, serversAdded }, 'mirrored SimpleAdmin');
  }

  return {
    start() {
      lease = holdLease(databaseUrl, { name: 'mirror', log });
      loop = run(lease);
    },
    async stop() {
      stopping.abort();
      await Promise.race([loop, Bun.sleep(STOP_LIMIT_MS)]);
      await lease?.stop();
    },
    health: () => ({ ...health, isMirroring: lease?.isHeld() ?? false }),
  };
}

/** The day in a zone, which begins at four in the morning. */
function dayOf(at: Date, timezone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: timezone }).format(at.getTime() - SWEEP_HOUR_MS);
}
