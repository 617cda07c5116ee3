import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Leaders, Leadership } from '../db/leader.ts';
import { Conflict } from '../domain/errors.ts';
import type { Count, Metrics } from '../runtime/metrics.ts';
import { openSourceDatabase } from './source/open-source.ts';
import type { SourceDatabase } from './source/source-database.ts';
import type { SourceSystem } from './source-system.ts';

/** A system whose database is read in rounds. */
export type FollowedSystem = SourceSystem['kind'] | 'vipcore';

export type Rounds = {
  /** The part that one process leads, and its name in the health report. */
  part: `mirror_${FollowedSystem}`;
  start: () => void;
  /** Aborts the running round; settles within three seconds. */
  stop: () => Promise<void>;
  health: () => RoundsHealth;
};

export type RoundsHealth = {
  /** False while another process mirrors. */
  isMirroring: boolean;
  /** Whether the last round succeeded; undefined before the first. */
  isUp: boolean | undefined;
  /** Failed rounds in a row. */
  failures: number;
  /** Why nothing is mirrored until an operator decides how to continue. */
  refusal: string | undefined;
  lastRoundAt: Date | undefined;
};

export type RoundsDeps = {
  /** Only one process mirrors a source. */
  leaders: Leaders;
  log: Logger;
  metrics: MirrorMetrics;
  now?: () => Date;
};

type Settings = {
  system: FollowedSystem;
  /** What the log calls it. */
  name: string;
  /** `mysql://…` or `sqlite:PATH`. */
  url: string;
  intervalSeconds: number;
};

type Work = {
  /** One round. */
  run: (signal: AbortSignal, database: SourceDatabase) => Promise<void>;
  /** For errors that an operator has to decide about: the reason, which anybody may read, and what is logged besides. */
  refusalOf?: (error: unknown) => { reason: string; details: object; waysOn: string } | undefined;
};

/** `isUp`: this process mirrors, and its last round succeeded. */
type MirrorReading = { isUp: boolean; lastRoundAt: Date | undefined };

/** The metrics of all mirrors of a process, labelled by their system. */
export type MirrorMetrics = {
  add: (system: FollowedSystem, read: () => MirrorReading) => void;
  countRows: Count<'system' | 'change'>;
};

/** Registers the metrics of mirrors, once for a process. */
export function createMirrorMetrics(metrics: Metrics): MirrorMetrics {
  const mirrors = new Map<FollowedSystem, () => MirrorReading>();
  const readAll = () => [...mirrors].map(([system, read]) => ({ labels: { system }, ...read() }));
  // A process that no longer mirrors must not report an old success: alerts take the maximum over all processes.
  metrics.addGauges(
    'mirror_up',
    '1 while this process mirrors the system and its last round succeeded, else 0.',
    ['system'],
    () => readAll().map(({ labels, isUp }) => ({ labels, value: isUp ? 1 : 0 })),
  );
  metrics.addGauges(
    'mirror_last_success_timestamp_seconds',
    'When this process last completed a round of the mirror, in Unix time; absent before the first.',
    ['system'],
    () =>
      readAll().flatMap(({ labels, lastRoundAt }) =>
        lastRoundAt ? [{ labels, value: lastRoundAt.getTime() / 1000 }] : [],
      ),
  );
  return {
    add: (system, read) => void mirrors.set(system, read),
    countRows: metrics.addCounter('mirror_rows_total', 'Rows the mirror wrote.', ['system', 'change']),
  };
}

/**
 * Reads another system's database at an interval. One process does so; another takes over when it dies. An outage of the
 * source causes one log line and a metric, and affects nothing else.
 */
export function createRounds(
  { leaders, log, metrics, now = () => new Date() }: RoundsDeps,
  { system, name, url, intervalSeconds }: Settings,
  { run, refusalOf = () => undefined }: Work,
): Rounds {
  const part: Rounds['part'] = `mirror_${system}`;
  const health: Omit<RoundsHealth, 'isMirroring'> = {
    isUp: undefined,
    failures: 0,
    refusal: undefined,
    lastRoundAt: undefined,
  };
  let leadership: Leadership | undefined;
  const isMirroring = () => leadership?.isLeader() ?? false;
  metrics.add(system, () => ({
    isUp: health.isUp === true && isMirroring(),
    lastRoundAt: health.lastRoundAt,
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
        await run(signal, database);
      } finally {
        await database.close();
      }
      if (health.isUp === false) log.info(`mirroring ${name} works again`);
      health.isUp = true;
      health.failures = 0;
      health.refusal = undefined;
      health.lastRoundAt = now();
    } catch (error) {
      if (!signal.aborted) fail(error);
    }
  }

  function fail(error: unknown): void {
    const refusal = refusalOf(error);
    // On another Conflict, an operator's import of the same source is running.
    if (!refusal && error instanceof Conflict) return;
    if (refusal && health.refusal === undefined) {
      log.error(refusal.details, `${refusal.reason}: ${refusal.waysOn}`);
    } else if (!refusal && (health.isUp !== false || health.refusal !== undefined)) {
      log.warn({ err: error }, `mirroring ${name} failed: retrying`);
    }
    health.isUp = false;
    health.failures += 1;
    health.refusal = refusal?.reason;
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
