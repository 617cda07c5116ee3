import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Db } from '../db/client.ts';
import { holdLease, type Lease } from '../db/lease.ts';
import { Conflict } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import type { PenaltySource } from '../queries/penalty-sources.ts';
import type { ImportSummary, RowReport } from './import-report.ts';
import { type ImportOptions, type ImportRun, runImport } from './import-run.ts';
import { type MirrorState, readMirrorState, saveMirrorState } from './mirror-state.ts';
import { SIMPLE_ADMIN_SERVERS, simpleAdminSource, sweepSimpleAdmin } from './simple-admin.ts';
import { importSimpleAdminChanges, readSourceClock, readStateAfterSweep } from './simple-admin-changes.ts';
import { openSourceDatabase, type SourceDatabase } from './source-database.ts';
import { OtherSource } from './source-identity.ts';

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
  /** Why nothing is mirrored until an operator says how to go on. */
  refusal: string | undefined;
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
  /** Names the source; part of the key of its penalties. */
  source: string;
  timezone: string;
  intervalSeconds: number;
};

/** Small pages: the process answers requests between two of them. */
const PAGE_ROWS = 1000;
const STAND_BY_MS = 1000;
const STOP_LIMIT_MS = 2500;
/** The hour of the plugin's day at which every row is read again. */
const SWEEP_HOUR_MS = 4 * 3_600_000;

const REFUSAL =
  'SIMPLEADMIN_URL names another database than the one its penalties came from: nothing is mirrored';
const WAYS_ON =
  'set SIMPLEADMIN_SOURCE to a new name to mirror it beside that one, or run ' +
  '`bun run cli penalties import simpleadmin --replace-source` if it is that one at a new address';

/**
 * Keeps our penalties in step with a CS2-SimpleAdmin database: a first full read, then what changed each interval, and
 * a full read each night, which finds what the rounds miss. One process mirrors; another takes over when it dies. A
 * source that does not answer is one log line and a metric: everything else goes on.
 */
export function createMirror(
  { db, databaseUrl, log, metrics, now = () => new Date() }: Deps,
  { url, source, timezone, intervalSeconds }: Settings,
): Mirror {
  const stopping = new AbortController();
  const complained = new Set<string>();
  const health: Omit<MirrorHealth, 'isMirroring'> = {
    isUp: undefined,
    failures: 0,
    refusal: undefined,
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
      health.refusal = undefined;
      health.lastRoundAt = now();
    } catch (error) {
      if (stopping.signal.aborted) return;
      if (error instanceof OtherSource) refuse(error);
      // Else an operator's import does the same work right now.
      else if (!(error instanceof Conflict)) fail(error);
    }
  }

  function fail(error: unknown): void {
    if (health.isUp !== false || health.refusal !== undefined)
      log.warn({ err: error }, 'the mirror of SimpleAdmin does not work: trying again');
    health.isUp = false;
    health.failures += 1;
    health.refusal = undefined;
  }

  function refuse({ known, given }: OtherSource): void {
    if (health.refusal === undefined) log.error({ source, known, given }, `${REFUSAL}: ${WAYS_ON}`);
    health.isUp = false;
    health.failures += 1;
    // Anybody may read it: the addresses are for the log alone.
    health.refusal = REFUSAL;
  }

  async function importRound(database: SourceDatabase): Promise<void> {
    const identity = simpleAdminSource(source, database);
    const sourceHash = hashOf(identity);
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
    const summary = await runImport({ db, databaseUrl, now }, identity, options, importAll);
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

function hashOf({ name, address }: PenaltySource): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify([name, address])).digest('hex');
}

/** The day in a zone, which begins at four in the morning. */
function dayOf(at: Date, timezone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: timezone }).format(at.getTime() - SWEEP_HOUR_MS);
}
