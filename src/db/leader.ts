import type { Logger } from 'pino';
import type { SystemName } from '../domain/systems.ts';
import { type Connection, connect, INSTANCE } from './client.ts';
import { LOCKS } from './locks.ts';
import { arrayLiteral } from './select.ts';

/** A part that runs in one process at a time. */
export type Part = 'poller' | 'bot' | `mirror_${SystemName}` | 'webhooks' | 'retention' | 'settings';

/** The work of a part; it has to end soon after the signal aborts. */
type Lead = (signal: AbortSignal) => Promise<void>;

export type Leadership = {
  /** Whether the work runs in this process. */
  isLeader: () => boolean;
  /** Resolves once a first leader is known. */
  isDecided: Promise<void>;
  /** Waits for the end of the work, and lets another process lead. */
  stop: () => Promise<void>;
};

export type Leaders = {
  /**
   * Runs a part whenever this process has its lock. Another process takes over within two seconds when this one stops or
   * crashes, and within 15 seconds when it hangs or loses the database.
   * @param options.outlastsDatabase continues without the database until another process leads, instead of 5 seconds.
   */
  run: (part: Part, lead: Lead, options?: { outlastsDatabase?: boolean }) => Leadership;
  /** The parts of this process, and whether it leads them. */
  states: () => { part: Part; isLeader: boolean }[];
};

type Candidate = {
  part: Part;
  lead: Lead;
  outlastsDatabase: boolean;
  decide: () => void;
  isStopping: boolean;
  /** Whether the log says that another process runs the part. */
  isWaiting: boolean;
  /** Set while this process leads. */
  term: AbortController | undefined;
  work: Promise<void>;
};

/** How often a session that has all its locks sends a heartbeat. */
const HEARTBEAT_MS = 3000;
/** How long a heartbeat may take, and how long most parts continue without knowing that they have their locks. */
const OUTAGE_MS = 5000;

/**
 * PostgreSQL ends the session of a process that hangs, and its locks with it. An earlier session of this process that it
 * still takes for alive is ended here: it may hold the locks.
 */
const BEGIN_SESSION = `set idle_session_timeout = '10s';
  select pg_terminate_backend(pid, 3000) from pg_stat_activity
  where application_name = current_setting('application_name') and usename = current_user and pid <> pg_backend_pid()`;
/** Without parts it is the heartbeat. A standby would grant the locks too. */
const TRY_LOCKS = `select part, case when pg_is_in_recovery() then null
    else pg_try_advisory_lock(${LOCKS.leader}, hashtext(part)) end as "isHeld"
  from unnest($1::text[]) as part`;
const UNLOCK = `select pg_advisory_unlock(${LOCKS.leader}, hashtext($1))`;

let lastNumber = 0;

/**
 * Decides which process runs each part: the one whose session has the part's advisory lock. All parts of a process share
 * one session, opened for the first of them and closed after the last.
 * @param options.clockMs a monotonic clock.
 * @param options.everyMs how often to look at the clock, and to try the locks that another process has.
 */
export function openLeaders(
  url: string,
  {
    log,
    clockMs = () => performance.now(),
    everyMs = 1000,
  }: { log: Logger; clockMs?: () => number; everyMs?: number },
): Leaders {
  lastNumber += 1;
  const owner = `${INSTANCE}.${lastNumber}`;
  const candidates = new Set<Candidate>();
  let session: Connection | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  let isAsking = false;
  let isFailing = false;
  let askedAtMs = 0;
  /** Since when it is unknown whether parts that run still have their locks. */
  let doubtSinceMs: number | undefined;

  async function openSession(): Promise<Connection> {
    const connection = connect(url, {
      max: 1,
      applicationName: 'leader',
      owner,
      keepsSession: true,
      // The driver reconnects silently: only this tells that the locks are gone.
      onClose: () => session === connection && void closeSession(),
    });
    session = connection;
    await connection.unsafe(BEGIN_SESSION).simple();
    return connection;
  }

  async function closeSession(): Promise<void> {
    doubtSinceMs ??= clockMs();
    const closing = session;
    session = undefined;
    await closing?.end({ timeout: 0 }).catch(() => {});
  }

  function tick(): void {
    const nowMs = clockMs();
    for (const candidate of candidates) {
      if (!candidate.outlastsDatabase && nowMs - (doubtSinceMs ?? nowMs) >= OUTAGE_MS) {
        lose(candidate, 'the database does not respond');
      }
    }
    if (isAsking && nowMs - askedAtMs >= OUTAGE_MS) void closeSession();
    void ask();
  }

  /** Tries the locks that the session lacks; with all of them, it only sends a heartbeat now and then. */
  async function ask(): Promise<void> {
    const isSettled = doubtSinceMs === undefined && [...candidates].every(({ term }) => term);
    if (isAsking || (isSettled && clockMs() - askedAtMs < HEARTBEAT_MS)) return;
    isAsking = true;
    askedAtMs = clockMs();
    doubtSinceMs ??= askedAtMs;
    try {
      const isNew = session === undefined;
      const current = session ?? (await openSession());
      const lacking = [...candidates].filter(({ term, isStopping }) => (isNew || !term) && !isStopping);
      const rows = await current.unsafe(TRY_LOCKS, [arrayLiteral(lacking.map(({ part }) => part))]);
      if (session !== current) throw new Error('the session was lost');
      if (rows.some(({ isHeld }) => isHeld === null)) throw new Error('the server is a standby');
      const heldParts = new Set(rows.filter(({ isHeld }) => isHeld).map(({ part }) => part));
      for (const candidate of lacking) settle(candidate, heldParts.has(candidate.part));
      doubtSinceMs = undefined;
      isFailing = false;
    } catch (error) {
      if (!isFailing && candidates.size > 0)
        log.warn({ err: error }, 'leadership cannot be checked: retrying');
      isFailing = true;
      await closeSession();
    }
    isAsking = false;
  }

  function settle(candidate: Candidate, isHeld: boolean): void {
    const { part, lead, decide, isStopping, isWaiting } = candidate;
    if (isStopping || (isHeld && candidate.term)) return;
    candidate.isWaiting = !isHeld;
    decide();
    if (!isHeld) {
      lose(candidate, 'another process has it');
      if (!isWaiting) log.info({ part }, 'waiting: another process runs this part');
      return;
    }
    log.info({ part }, 'leading');
    const term = new AbortController();
    candidate.term = term;
    candidate.work = candidate.work
      .then(() => (term.signal.aborted ? undefined : lead(term.signal)))
      .catch((error: unknown) => log.error({ err: error, part }, 'a part ended with an error'));
  }

  function lose(candidate: Candidate, reason: string): void {
    if (!candidate.term) return;
    log.warn({ part: candidate.part }, `lost the lock of ${candidate.part}: ${reason}`);
    candidate.term.abort();
    candidate.term = undefined;
  }

  async function stop(candidate: Candidate): Promise<void> {
    candidate.isStopping = true;
    candidate.term?.abort();
    candidate.term = undefined;
    await candidate.work;
    candidates.delete(candidate);
    if (candidates.size > 0) await session?.unsafe(UNLOCK, [candidate.part]).catch(() => {});
    else {
      clearInterval(timer);
      timer = undefined;
      await closeSession();
    }
  }

  return {
    run: (part, lead, { outlastsDatabase = false } = {}) => {
      const work = Promise.resolve();
      const state = { isStopping: false, isWaiting: false, term: undefined };
      const { promise: isDecided, resolve: decide } = Promise.withResolvers<void>();
      const candidate: Candidate = { part, lead, outlastsDatabase, decide, work, ...state };
      candidates.add(candidate);
      timer ??= setInterval(tick, everyMs);
      void ask();
      return { isLeader: () => candidate.term !== undefined, isDecided, stop: () => stop(candidate) };
    },
    states: () => [...candidates].map(({ part, term }) => ({ part, isLeader: term !== undefined })),
  };
}
