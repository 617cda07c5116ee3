import { setTimeout as pause } from 'node:timers/promises';
import { backoffMs } from '../../src/runtime/backoff.ts';
import { type GatewaySession, openSession, type SessionDeps } from './session.ts';

type ConnectionState =
  /** Logging in. */
  | 'connecting'
  | 'ready'
  /** The connection broke; the library tries to resume it. */
  | 'resuming'
  /** Between two logins. */
  | 'waiting'
  /** Discord rejected the bot for good: it does not log in again until a restart. */
  | 'refused'
  | 'stopped';

export type ConnectionHealth = {
  state: ConnectionState;
  /** Why it is not ready, or why requests wait. */
  reason: string | undefined;
  /** When this state began. */
  since: Date;
  /** Login attempts since the start. */
  logins: number;
};

type ConnectionDeps = Omit<SessionDeps, 'onReady' | 'onResuming'> & {
  /** Counts an attempt to log in. */
  countLogin: () => void;
};

/** The bot's connection to Discord's gateway, over all its sessions. */
type GatewayConnection = {
  /** Logs in and stays connected in the background; further calls do nothing. */
  start: () => void;
  /** Disconnects, and makes no further attempt; within half a second. */
  stop: () => Promise<void>;
  health: () => ConnectionHealth;
  /** Shows a text under the bot's name; false while the bot is not connected. */
  showStatus: (text: string) => boolean;
};

/** After a session that lasted this long, the pauses begin with the shortest again. */
const STABLE_AFTER_MS = 60_000;

/**
 * Keeps the bot connected to Discord's gateway. A client that failed to log in never recovers, so each attempt creates a
 * new one, with exponential backoff. A final refusal is logged once and ends the attempts.
 */
export function createConnection(deps: ConnectionDeps): GatewayConnection {
  const { log, timings } = deps;
  const stopping = new AbortController();
  let state: ConnectionState = 'connecting';
  let reason: string | undefined;
  let since = new Date();
  let logins = 0;
  /** Whether an outage was logged, so that its end is logged too. */
  let isDown = false;
  let session: GatewaySession | undefined;
  let running: Promise<void> | undefined;

  function enter(next: ConnectionState, why?: string): void {
    if (state === 'stopped') return;
    if (next !== state) since = new Date();
    state = next;
    reason = why;
    if (next === 'ready') {
      if (isDown) log.info('the bot is connected to Discord again');
      else if (logins === 1) log.info('the bot is connected to Discord');
      isDown = false;
    }
    if (next === 'waiting' && !isDown) {
      log.warn({ reason: why }, 'the bot is not connected to Discord: retrying with growing pauses');
      isDown = true;
    }
    if (next === 'refused') {
      log.error({ reason: why }, 'Discord rejected the bot: everything else keeps running without it');
    }
  }

  /** @throws {AbortError} when the connection is stopped during a pause. */
  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      enter('connecting', reason);
      logins += 1;
      deps.countLogin();
      const startedMs = performance.now();
      session = openSession({
        ...deps,
        onReady: () => enter('ready'),
        onResuming: () => enter('resuming', 'the connection broke'),
      });
      const end = await session.ended;
      await session.close();
      if (stopping.signal.aborted) return;
      if (end.isFinal) return enter('refused', end.reason);
      const wasStable = end.wasReady && performance.now() - startedMs > STABLE_AFTER_MS;
      failures = wasStable ? 1 : failures + 1;
      enter('waiting', end.reason);
      const pauseMs = backoffMs(failures, {
        firstMs: timings.firstBackoffMs,
        maxMs: timings.maxBackoffMs,
      });
      const jitter = 0.8 + Math.random() * 0.4;
      const waitMs = Math.max(pauseMs * jitter, end.retryAfterMs);
      await pause(waitMs, undefined, { signal: stopping.signal });
    }
  }

  return {
    start: () => {
      running ??= run().catch((error) => {
        if (stopping.signal.aborted) return;
        log.error({ err: error }, 'the bot stopped after an unexpected error');
        enter('refused', 'an unexpected error');
      });
    },
    stop: async () => {
      state = 'stopped';
      since = new Date();
      stopping.abort();
      await session?.close();
      await running;
    },
    health: () => ({
      state: state === 'ready' && !session?.isReady() ? 'resuming' : state,
      reason: deps.requests.limitedBecause() ?? reason,
      since,
      logins,
    }),
    showStatus: (text) => session?.showStatus(text) ?? false,
  };
}
