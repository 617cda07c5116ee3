import type { Logger } from 'pino';
import { withTimeLimit } from '../runtime/time-limit.ts';
import { type Connection, connect, INSTANCE } from './client.ts';
import { LOCKS } from './locks.ts';
import { arrayLiteral } from './select.ts';

/** The parts that run in one process at a time. */
export const PARTS = [
  'poller',
  'bot',
  'mirror_simpleadmin',
  'mirror_sourcebans',
  'mirror_iks',
  'mirror_vipcore',
  'webhooks',
  'retention',
] as const;
export type Part = (typeof PARTS)[number];

/** The work of a part; it has to end soon after the signal aborts. */
type Lead = (signal: AbortSignal) => Promise<void>;

export type Leadership = {
  /** Settles once the lock of the part has been tried. */
  decided: Promise<void>;
  /** Whether the work runs in this process. */
  isLeader: () => boolean;
  /** Ends the work, waits at most 2.5 seconds for it, and lets another process lead. */
  stop: () => Promise<void>;
};

export type Leaders = {
  /**
   * Runs a part whenever this process has its lock. Another process takes over within two seconds when this one stops or
   * crashes, and within 15 seconds when it hangs or loses the database.
   * @param options.outageMs how long the work goes on without the database; 5 seconds by default.
   */
  run: (part: Part, lead: Lead, options?: { outageMs?: number }) => Leadership;
  /** The parts of this process, and whether it leads them. */
  states: () => { part: Part; isLeader: boolean }[];
};

type Options = {
  log: Logger;
  /** A monotonic clock. */
  clockMs?: () => number;
  /** How often to look at the clock, and to try the locks that another process has. */
  everyMs?: number;
};

const EVERY_MS = 1000;
/** PostgreSQL ends the session of a process that hangs, and its locks with it. */
const SESSION_TIMEOUT = '10s';
/** How often a session that has all its locks sends a heartbeat. */
const HEARTBEAT_MS = 3000;
/** How long a heartbeat may take, and how long most parts go on without knowing that they have their locks. */
const OUTAGE_MS = 5000;
const STOP_LIMIT_MS = 2500;
const UNLOCK_LIMIT_MS = 500;

/** Ends an earlier session of this process that the server still takes for alive: it may hold the locks. */
const BEGIN_SESSION = `set idle_session_timeout = '${SESSION_TIMEOUT}';
  select pg_terminate_backend(pid, 1000) from pg_stat_activity
  where application_name = current_setting('application_name') and usename = current_user and pid <> pg_backend_pid()`;
/** Without parts it is the heartbeat. A standby would grant the locks too. */
const TRY_LOCKS = `select part, case when pg_is_in_recovery() then null
    else pg_try_advisory_lock(${LOCKS.leader}, hashtext(part)) end as "isHeld"
  from unnest($1::text[]) as part`;
const UNLOCK = `select pg_advisory_unlock(${LOCKS.leader}, hashtext($1))`;

let lastNumber = 0;

type Candidate = ReturnType<typeof createCandidate>;

function createCandidate(part: Part, lead: Lead, outageMs: number) {
  return {
    part,
    lead,
    outageMs,
    /** Whether the session has the lock. */
    isHeld: false,
    isStopping: false,
    /** Whether the log says that another process runs the part. */
    isWaiting: false,
    /** Set while this process leads. */
    term: undefined as AbortController | undefined,
    work: Promise.resolve(),
    decided: Promise.withResolvers<void>(),
  };
}

/**
 * Decides which process runs each part: the one whose session has the part's advisory lock. All parts of a process share
 * one session, opened for the first of them and closed after the last.
 */
export function openLeaders(
  url: string,
  { log, clockMs = () => performance.now(), everyMs = EVERY_MS }: Options,
): Leaders {
  lastNumber += 1;
  const owner = `${INSTANCE}.${lastNumber}`;
  const candidates = new Set<Candidate>();
  let session: Connection | undefined;
  let timer: ReturnType<typeof setInterval> | undefined;
  let isNewSession = true;
  let isAsking = false;
  let isFailing = false;
  let askedAtMs = 0;
  /** Since when it is unknown whether parts that run still have their locks. */
  let doubtSinceMs: number | undefined;

  function open(): Connection {
    isNewSession = true;
    const opened = connect(url, {
      max: 1,
      applicationName: 'leader',
      owner,
      keepsSession: true,
      // The driver reconnects by itself: only this says that the locks are gone.
      onClose: () => session === opened && loseLocks(),
    });
    return opened;
  }

  function loseLocks(): void {
    isNewSession = true;
    doubtSinceMs ??= clockMs();
    for (const candidate of candidates) candidate.isHeld = false;
  }

  function tick(): void {
    const nowMs = clockMs();
    for (const candidate of candidates) {
      if (doubtSinceMs !== undefined && nowMs - doubtSinceMs >= candidate.outageMs) {
        end(candidate, 'the database does not respond');
      }
    }
    if (isAsking && nowMs - askedAtMs >= OUTAGE_MS) void closeSession();
    void ask();
  }

  /** Tries the locks that the session lacks; with all of them, it only sends a heartbeat now and then. */
  async function ask(): Promise<void> {
    const lacking = [...candidates].filter(({ isHeld, isStopping }) => !isHeld && !isStopping);
    if (isAsking || (lacking.length === 0 && clockMs() - askedAtMs < HEARTBEAT_MS)) return;
    isAsking = true;
    askedAtMs = clockMs();
    doubtSinceMs ??= askedAtMs;
    session ??= open();
    const asked = session;
    try {
      if (isNewSession) await asked.unsafe(BEGIN_SESSION).simple();
      isNewSession = false;
      const rows = await asked.unsafe(TRY_LOCKS, [arrayLiteral(lacking.map(({ part }) => part))]);
      if (session !== asked) return;
      const results = new Map(rows.map(({ part, isHeld }) => [part, isHeld]));
      for (const candidate of lacking) settle(candidate, results.get(candidate.part));
      if ([...candidates].every(({ term, isHeld }) => !term || isHeld)) doubtSinceMs = undefined;
      isFailing = false;
    } catch (error) {
      if (session === asked && !isFailing) log.warn({ err: error }, 'leadership cannot be checked: retrying');
      isFailing = true;
    } finally {
      for (const { decided } of lacking) decided.resolve();
    }
    if (session !== asked) return;
    isAsking = false;
    // Parts that were added meanwhile.
    if ([...candidates].some((candidate) => !candidate.isHeld && !lacking.includes(candidate))) void ask();
  }

  /** @param isHeld null on a standby, which does not know who has the lock. */
  function settle(candidate: Candidate, isHeld: boolean | null): void {
    candidate.isHeld = isHeld === true;
    if (candidate.isStopping) return;
    if (candidate.isHeld) begin(candidate);
    if (isHeld !== false) return;
    end(candidate, 'another process has it');
    if (!candidate.isWaiting) log.info({ part: candidate.part }, 'waiting: another process runs this part');
    candidate.isWaiting = true;
  }

  function begin(candidate: Candidate): void {
    if (candidate.term) return;
    const { part, lead } = candidate;
    log.info({ part }, 'leading');
    const term = new AbortController();
    candidate.term = term;
    candidate.isWaiting = false;
    candidate.work = candidate.work
      .then(() => (term.signal.aborted ? undefined : lead(term.signal)))
      .catch((error: unknown) => log.error({ err: error, part }, 'a part ended with an error'));
  }

  function end(candidate: Candidate, reason: string): void {
    if (!candidate.term) return;
    log.warn({ part: candidate.part }, `lost the lock of ${candidate.part}: ${reason}`);
    candidate.term.abort();
    candidate.term = undefined;
  }

  /** The next heartbeat must not wait for a session that hangs. */
  async function closeSession(): Promise<void> {
    const closing = session;
    session = undefined;
    isAsking = false;
    loseLocks();
    await closing?.end({ timeout: 0 }).catch(() => {});
  }

  async function stop(candidate: Candidate): Promise<void> {
    candidate.isStopping = true;
    candidate.term?.abort();
    candidate.term = undefined;
    await withTimeLimit(candidate.work, STOP_LIMIT_MS).catch(() => undefined);
    candidates.delete(candidate);
    if (candidates.size === 0) {
      clearInterval(timer);
      timer = undefined;
      await closeSession();
    } else if (session) {
      const unlock = session.unsafe(UNLOCK, [candidate.part]);
      await withTimeLimit(unlock, UNLOCK_LIMIT_MS).catch(() => {});
    }
  }

  return {
    run: (part, lead, { outageMs = OUTAGE_MS } = {}) => {
      const candidate = createCandidate(part, lead, outageMs);
      candidates.add(candidate);
      timer ??= setInterval(tick, everyMs);
      void ask();
      return {
        decided: candidate.decided.promise,
        isLeader: () => candidate.term !== undefined,
        stop: () => stop(candidate),
      };
    },
    states: () => [...candidates].map(({ part, term }) => ({ part, isLeader: term !== undefined })),
  };
}
