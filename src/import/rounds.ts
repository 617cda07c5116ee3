import type { Logger } from 'pino';
import type { Db } from '../db/client.ts';
import { Conflict, DomainError } from '../domain/errors.ts';
import type { FlagSystem } from '../domain/systems.ts';
import { countHeldRemovals, type HeldRemovals, listHeldRemovals } from '../queries/held-removals.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Count, Metrics } from '../runtime/metrics.ts';
import { TOOL } from '../runtime/tool.ts';

export type Rounds = {
  /** Runs rounds until the signal aborts, which aborts the running round too; in one process at a time. */
  lead: (signal: AbortSignal) => Promise<void>;
  /** Begins the next round soon. */
  wake: () => void;
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
  /** Which other import of the same source keeps this mirror out. */
  waitsFor: string | undefined;
  lastRoundAt: Date | undefined;
  /** How many removals are held back, of `penalties` and of each flag; undefined when none are. */
  held: Record<string, number> | undefined;
  /** What `held` counts. */
  note: string | undefined;
  /** Tables that are missing or may not be read, so that `isUp` is false; undefined when there are none. */
  missing: string[] | undefined;
};

export type RoundsDeps = {
  db: Db;
  log: Logger;
  metrics: MirrorMetrics;
  now?: () => Date;
};

type Options = {
  system: FlagSystem;
  /** What the log calls it. */
  name: string;
  intervalSeconds: number;
  /** How long a wake-up waits for further ones; 0 by default. */
  debounceMs?: number;
  /** Rounds are skipped while this is true; a skipped round is not a failure. */
  isPaused?: () => boolean;
  /** One round. */
  run: (signal: AbortSignal) => Promise<void>;
  /** For errors that need an operator's decision: the public `reason`, and details that are only logged. */
  refusalOf?: (error: unknown) => { reason: string; details: object; waysOn: string } | undefined;
};

/** `isUp`: this process mirrors, and its last round succeeded. */
type MirrorReading = { isUp: boolean; lastRoundAt: Date | undefined; removals: number };

/** The metrics of all mirrors of a process, labelled by their system. */
export type MirrorMetrics = {
  add: (system: FlagSystem, read: () => MirrorReading) => void;
  countRows: Count<'system' | 'change'>;
};

/** Registers the metrics of mirrors, once for a process. */
export function createMirrorMetrics(metrics: Metrics): MirrorMetrics {
  const mirrors = new Map<FlagSystem, () => MirrorReading>();
  const readAll = () => [...mirrors].map(([system, read]) => ({ labels: { system }, ...read() }));
  // A process that no longer mirrors must not report an old success: alerts take the maximum over all processes.
  metrics.addGauges(
    'mirror_up',
    '1 while this process mirrors the system and its last round succeeded, else 0.',
    () => readAll().map(({ labels, isUp }) => ({ labels, value: isUp ? 1 : 0 })),
  );
  metrics.addGauges(
    'mirror_last_success_timestamp_seconds',
    'When this process last completed a round of the mirror, in Unix time; absent before the first.',
    () =>
      readAll().flatMap(({ labels, lastRoundAt }) =>
        lastRoundAt ? [{ labels, value: lastRoundAt.getTime() / 1000 }] : [],
      ),
  );
  metrics.addGauges(
    'mirror_held_removals',
    'Penalties and flags that the system suddenly no longer has, and that this process keeps for now.',
    () => readAll().map(({ labels, removals }) => ({ labels, value: removals })),
  );
  return {
    add: (system, read) => void mirrors.set(system, read),
    countRows: metrics.addCounter('mirror_rows_total', 'Rows the mirror wrote.', ['system', 'change']),
  };
}

const HELD_NOTE = 'missing at the source, and kept here for now; what is new there still arrives';

/** The log fields of a failed round, without a stack if an operator can correct it. */
export function describeFailure(error: unknown): object {
  return error instanceof DomainError ? { reason: error.message } : { err: error };
}

/**
 * Reads another system, with a pause after each round. An outage of it causes one log line and a metric, and affects
 * nothing else.
 */
export function createRounds(
  { db, log, metrics, now = () => new Date() }: RoundsDeps,
  {
    system,
    name,
    intervalSeconds,
    debounceMs = 0,
    isPaused = () => false,
    run,
    refusalOf = () => undefined,
  }: Options,
): Rounds {
  const health: Omit<RoundsHealth, 'isMirroring' | 'held' | 'note' | 'missing'> = {
    isUp: undefined,
    failures: 0,
    refusal: undefined,
    waitsFor: undefined,
    lastRoundAt: undefined,
  };
  let leading: AbortSignal | undefined;
  let loop: Loop | undefined;
  /** Removals that are held back, and missing tables; undefined before the first round. */
  let heldRemovals: HeldRemovals[] | undefined;
  const isMirroring = () => leading?.aborted === false;
  metrics.add(system, () => ({
    isUp: health.isUp === true && !listMissing() && isMirroring(),
    lastRoundAt: health.lastRoundAt,
    removals: Object.values(countHeld() ?? {}).reduce((sum, removals) => sum + removals, 0),
  }));

  function countHeld(): Record<string, number> | undefined {
    const removals = heldRemovals?.filter(({ kind }) => kind !== 'tables') ?? [];
    return removals.length > 0 && isMirroring() ? countHeldRemovals(removals) : undefined;
  }

  function listMissing(): string[] | undefined {
    const tables = listTables(heldRemovals ?? []);
    return tables.length > 0 && isMirroring() ? tables : undefined;
  }

  /** Logs what has been held back or missing since the last round, and what no longer is. */
  async function compareHeld(): Promise<void> {
    const previous = heldRemovals ?? [];
    heldRemovals = await listHeldRemovals(db, system);
    const begun = leaveOut(heldRemovals, previous);
    const ended = leaveOut(previous, heldRemovals);
    const missing = listTables(begun);
    if (missing.length > 0) {
      log.warn(
        { missing },
        `tables of ${name} are missing or may not be read: what came from them stays as it is, until they are back or \`${TOOL} mirrors accept ${system}\``,
      );
    }
    const tables = listTables(ended);
    if (tables.length > 0) log.info({ tables }, `tables of ${name} are no longer missing`);
    const held = begun.filter(({ kind }) => kind !== 'tables');
    if (held.length > 0) {
      log.warn(
        { held: Object.fromEntries(held.map(({ subject, removals }) => [subject, removals])) },
        `much is suddenly missing from ${name}: removals are held back for at least six hours, or until \`${TOOL} mirrors accept ${system}\`; what is new there still arrives`,
      );
    }
    const subjects = ended.flatMap(({ kind, subject }) => (kind === 'tables' ? [] : subject));
    if (subjects.length > 0) log.info({ subjects }, `removals of ${name} are no longer held back`);
  }

  async function lead(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    leading = signal;
    heldRemovals = undefined;
    loop = startLoop({
      name: `mirroring ${name}`,
      everyMs: intervalSeconds * 1000,
      debounceMs,
      work: () => runRound(signal),
      log,
    });
    signal.addEventListener('abort', loop.stop, { once: true });
    await loop.ended;
  }

  async function runRound(signal: AbortSignal): Promise<void> {
    if (isPaused()) return;
    try {
      // Removals that another process or an earlier start held are no news.
      heldRemovals ??= await listHeldRemovals(db, system);
      await run(signal);
      await compareHeld();
      if (health.isUp === false) log.info(`mirroring ${name} works again`);
      health.isUp = true;
      health.failures = 0;
      health.refusal = undefined;
      health.waitsFor = undefined;
      health.lastRoundAt = now();
    } catch (error) {
      if (!signal.aborted) fail(error);
    }
  }

  function fail(error: unknown): void {
    const refusal = refusalOf(error);
    const waitsFor = !refusal && error instanceof Conflict ? error.message : undefined;
    const isNews =
      health.isUp !== false || health.refusal !== refusal?.reason || health.waitsFor !== waitsFor;
    if (isNews && refusal) log.error(refusal.details, `${refusal.reason}: ${refusal.waysOn}`);
    else if (isNews && waitsFor !== undefined) log.warn(`mirroring ${name} waits: ${waitsFor}`);
    else if (isNews) log.warn(describeFailure(error), `mirroring ${name} failed: retrying`);
    health.isUp = false;
    if (waitsFor === undefined) health.failures += 1;
    health.refusal = refusal?.reason;
    health.waitsFor = waitsFor;
  }

  return {
    lead,
    wake: () => loop?.wake(),
    health: () => {
      const missing = listMissing();
      return {
        ...health,
        isUp: health.isUp && missing === undefined,
        isMirroring: isMirroring(),
        held: countHeld(),
        note: countHeld() && HELD_NOTE,
        missing,
      };
    },
  };
}

/** The missing tables among what is held back. */
function listTables(removals: readonly HeldRemovals[]): string[] {
  return removals.flatMap(({ kind, subject }) => (kind === 'tables' ? subject : []));
}

function leaveOut(removals: readonly HeldRemovals[], others: readonly HeldRemovals[]): HeldRemovals[] {
  return removals.filter(
    ({ kind, subject }) => !others.some((other) => other.kind === kind && other.subject === subject),
  );
}
