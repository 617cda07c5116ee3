import { once } from 'node:events';
import type { Logger } from 'pino';
import type { Db } from '../db/client.ts';
import type { Leaders, Leadership } from '../db/leader.ts';
import { type PolledServer, saveServerPolls } from '../queries/servers/polls.ts';
import { thinServerSamples } from '../queries/servers/samples.ts';
import type { ServerStatus } from '../queries/servers/servers.ts';
import { startLoop } from '../runtime/loop.ts';
import type { QueryFailureReason } from './a2s-protocol.ts';
import { type PollOutcome, queryGameServer } from './game-server.ts';
import { createPollSchedule, type PollSchedule } from './poll-schedule.ts';
import { createPollWriter } from './poll-writer.ts';

export type Poller = {
  /** Polls whenever this process leads. */
  start: () => void;
  /** Aborts running polls; settles within a second. */
  stop: () => Promise<void>;
  health: () => PollerHealth;
};

export type PollerHealth = {
  /** False while another process polls, or the database is unreachable. */
  isPolling: boolean;
  servers: number;
  /** Queries under way. */
  running: number;
  /** Servers that are due and wait for a free query. */
  waiting: number;
  lastSavedAt: Date | undefined;
};

type Options = {
  db: Db;
  /** Only one process polls. */
  leaders: Leaders;
  log: Logger;
  intervalSeconds: number;
  /** The servers to poll. */
  servers: {
    current: () => readonly ServerStatus[];
    /** @returns a function that unsubscribes. */
    onChange: (listener: () => void) => () => void;
  };
};

type PollTarget = {
  id: number;
  slug: string;
  address: string;
  /** The result of its last poll; null when there was none. */
  isOnline: boolean | null;
};

/** The longest wait for one server; less with a short interval, so that an offline server does not delay polls. */
const MAX_TIMEOUT_MS = 3000;
const MIN_TIMEOUT_MS = 1000;
const MAX_RUNNING = 256;
const THIN_MS = 3_600_000;
const LAST_WRITE_LIMIT_MS = 500;

/**
 * Polls every listed server once an interval and saves the results. One process polls; another takes over when it
 * dies. It also thins the old samples.
 */
export function createPoller({ db, leaders, log, intervalSeconds, servers }: Options): Poller {
  const intervalMs = intervalSeconds * 1000;
  const timeoutMs = Math.min(MAX_TIMEOUT_MS, Math.max(MIN_TIMEOUT_MS, intervalMs));
  const stopping = new AbortController();
  const changes = createChangeLog(log);
  const writer = createPollWriter({
    save: (polls) => saveServerPolls(db, polls, { missesApartMs: intervalMs / 2 }),
    log,
  });
  const schedule = createPollSchedule<PollTarget>({ intervalMs, maxRunning: MAX_RUNNING, poll });
  let leadership: Leadership | undefined;
  let stopListening = () => {};

  async function poll(target: PollTarget, isTarget: () => boolean): Promise<void> {
    try {
      const outcome = await queryGameServer(target.address, { timeoutMs, signal: stopping.signal });
      if (stopping.signal.aborted || !leadership?.isLeader() || !isTarget()) return;
      const state = outcome.hasResponded ? outcome.state : undefined;
      const saved = await writer.write({ serverId: target.id, state, polledAt: new Date() });
      if (saved) changes.report(target, outcome, saved);
    } catch (error) {
      log.error({ err: error, server: target.slug }, 'a poll failed');
    }
  }

  function setTargets(): void {
    if (!leadership?.isLeader() || stopping.signal.aborted) return;
    const targets = servers.current().map(({ server: { id, slug, address }, snapshot }) => {
      return { id, slug, address, isOnline: snapshot?.isOnline ?? null };
    });
    changes.initialise(targets);
    schedule.setTargets(targets);
  }

  async function lead(signal: AbortSignal): Promise<void> {
    log.info({ intervalSeconds }, 'polling game servers');
    changes.reset();
    setTargets();
    const thinning = startLoop({
      name: 'thinning old player counts',
      everyMs: THIN_MS,
      startsAtOnce: true,
      work: (ending) => thinServerSamples(db, AbortSignal.any([ending, stopping.signal])),
      log,
    });
    await once(signal, 'abort');
    thinning.stop();
    schedule.setTargets([]);
    await thinning.ended;
  }

  return {
    start: () => {
      leadership = leaders.run('poller', lead);
      stopListening = servers.onChange(setTargets);
    },
    stop: async () => {
      stopListening();
      stopping.abort();
      schedule.stop();
      await writer.stop(LAST_WRITE_LIMIT_MS);
      await leadership?.stop();
    },
    health: () => ({
      isPolling: leadership?.isLeader() ?? false,
      ...countsOf(schedule),
      lastSavedAt: writer.lastWrittenAt(),
    }),
  };
}

function countsOf(schedule: PollSchedule<PollTarget>) {
  const { targets, running, waiting } = schedule.counts();
  return { servers: targets, running, waiting };
}

/** Logs each change of a server once. */
function createChangeLog(log: Logger) {
  const isOnline = new Map<number, boolean | null>();
  const lastReason = new Map<number, QueryFailureReason>();
  return {
    /** Initialises servers that are new to this process from their last saved poll. */
    initialise: (targets: readonly PollTarget[]) => {
      for (const target of targets) if (!isOnline.has(target.id)) isOnline.set(target.id, target.isOnline);
      if (isOnline.size <= targets.length) return;
      const ids = new Set(targets.map(({ id }) => id));
      for (const id of [...isOnline.keys()]) if (!ids.has(id)) isOnline.delete(id);
      for (const id of [...lastReason.keys()]) if (!ids.has(id)) lastReason.delete(id);
    },
    report: ({ id, slug, address }: PollTarget, outcome: PollOutcome, saved: PolledServer) => {
      const server = { server: slug, address };
      const wasOnline = isOnline.get(id);
      isOnline.set(id, saved.isOnline);
      if (outcome.hasResponded) {
        lastReason.delete(id);
        if (wasOnline !== true) log.info(server, 'server is online');
        return;
      }
      const { reason } = outcome;
      if (reason === 'banned-by-server' && lastReason.get(id) !== reason) {
        log.warn(server, 'server banned our address: it responds "Banned by server" to every request');
      }
      lastReason.set(id, reason);
      if (!saved.isOnline && wasOnline !== false) log.warn({ ...server, reason }, 'server is offline');
    },
    reset: () => {
      isOnline.clear();
      lastReason.clear();
    },
  };
}
