import type { Logger } from 'pino';
import type { Db, RequestDb } from '../db/client.ts';
import { type LiftAudience, LiftRefused, type LiftResult } from '../domain/lift.ts';
import type { PenaltyOrigin } from '../domain/panel.ts';
import { SYSTEM_TITLES } from '../domain/systems.ts';
import {
  abandonLift,
  beginLift,
  findPendingLift,
  finishLift,
  isPenaltyOver,
} from '../queries/penalties/lifts.ts';
import { listNewestSourceIds } from '../queries/penalties/sources.ts';
import { findLiftProblem, type LiftableSource, type LiftProblem, liftAtSource } from './lift.ts';

export type Lifts = {
  audience: LiftAudience;
  /** The name of the system that a penalty comes from; undefined if the last check found that it cannot be lifted there. */
  findSystem: (penalty: PenaltyOrigin) => string | undefined;
  /**
   * Lifts a penalty at its source, and waits up to five seconds until the mirror has read it.
   * @throws {LiftRefused} · {NotFound} · {Forbidden} for one's own penalty, and for whoever may not lift.
   */
  lift: (order: { penaltyId: number; userId: number; reason: string }) => Promise<LiftResult>;
  /** Checks the sources that had a problem at the last check. */
  check: () => Promise<void>;
  /** Sources at which nothing can be lifted. */
  listProblems: () => { system: string; problem: LiftProblem }[];
};

type Deps = {
  requestDb: RequestDb;
  /** The handle for work that continues after the client has disconnected: a lift that was begun is finished. */
  db: Db;
  log: Pick<Logger, 'info' | 'warn'>;
  now: () => Date;
  audience: LiftAudience;
  /** The configured sources, by their names. */
  sources: readonly (LiftableSource & { source: string })[];
  /** How long a lift waits for the mirror; five seconds by default. */
  confirmLimitMs?: number;
};

/** How many penalties of each table must be in a database for it to count as the mirrored one. */
const NEWEST = 3;
const CONFIRM_LOOK_MS = 50;

/** Lifts penalties in the databases of other systems, in this process. */
export function createLifts({
  requestDb,
  db,
  log,
  now,
  audience,
  sources,
  confirmLimitMs = 5000,
}: Deps): Lifts {
  /** Undefined: the source has no problem; absent: it has not been checked yet. */
  const problems = new Map<string, LiftProblem | undefined>();
  const nameOf = ({ system }: LiftableSource) => SYSTEM_TITLES[system.kind];
  const isReady = (source: string) => problems.has(source) && problems.get(source) === undefined;
  const findSystem = ({ source }: PenaltyOrigin) => {
    const ready = sources.find((each) => each.source === source && isReady(each.source));
    return ready && nameOf(ready);
  };
  const isLiftable = (penalty: PenaltyOrigin) => findSystem(penalty) !== undefined;

  async function lift(order: Parameters<Lifts['lift']>[0]): Promise<LiftResult> {
    const { penaltyId, reason } = order;
    const begun = await beginLift(requestDb, order, { audience, isLiftable, now: now() });
    const { penalty, lifter, anonymise } = begun;
    const source = sources.find((each) => each.source === penalty.source);
    if (!source) throw new LiftRefused('not-liftable');
    const { sourceTable, sourceId, playerSteamId, createdAt } = penalty;
    const outcome = await liftAtSource(
      source,
      { sourceTable: sourceTable ?? '', sourceId: sourceId ?? '', playerSteamId, createdAt },
      { lifter, reason, now: now(), anonymise },
      (error) => log.warn({ err: error, penaltyId }, `a lift of ${nameOf(source)} failed`),
    );
    if (outcome === 'written' || outcome === 'unknown') {
      await finishLift(db, penaltyId, outcome);
      return waitForMirror(penaltyId);
    }
    await abandonLift(db, penaltyId);
    throw new LiftRefused(outcome);
  }

  async function waitForMirror(penaltyId: number): Promise<LiftResult> {
    const end = performance.now() + confirmLimitMs;
    while (await findPendingLift(db, penaltyId)) {
      if (performance.now() > end) return 'unconfirmed';
      await Bun.sleep(CONFIRM_LOOK_MS);
    }
    return (await isPenaltyOver(db, penaltyId, now())) ? 'confirmed' : 'still-in-force';
  }

  async function check(): Promise<void> {
    for (const source of sources.filter((each) => !isReady(each.source))) {
      const problem = await findLiftProblem(source, (table) =>
        listNewestSourceIds(db, { ...table, source: source.source }, { limit: NEWEST }),
      );
      const isNews = !problems.has(source.source) || problems.get(source.source)?.kind !== problem?.kind;
      problems.set(source.source, problem);
      if (!isNews) continue;
      if (problem)
        log.warn(problem, `nothing can be lifted in ${nameOf(source)}: ${describe(source, problem)}`);
      else log.info(`penalties can be lifted in ${nameOf(source)}`);
    }
  }

  return {
    audience,
    findSystem,
    lift,
    check,
    listProblems: () =>
      sources.flatMap((source) => {
        const problem = problems.get(source.source);
        return problem ? [{ system: nameOf(source), problem }] : [];
      }),
  };
}

function describe({ system }: LiftableSource, problem: LiftProblem): string {
  const setting = `${system.kind.toUpperCase()}_LIFT_URL`;
  switch (problem.kind) {
    case 'other-database':
      return `the database of ${setting} does not have the newest penalties of ${problem.table}`;
    case 'rights':
      return `the account of ${setting} lacks a right to ${problem.table}`;
    case 'unreachable':
      return `the database of ${setting}, or of its mirror, cannot be reached`;
  }
}
