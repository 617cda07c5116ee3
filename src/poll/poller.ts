import type { Logger } from 'pino';
import type { Db } from '../db/client.ts';
import { holdLease, type Lease } from '../db/lease.ts';
import { thinServerSamples } from '../queries/server-samples.ts';
import { listPolledServers, type PolledServer, saveServerPolls } from '../queries/servers.ts';
import { type PollOutcome, queryGameServer } from './game-server.ts';
import type { MissReason } from './missed.ts';
import { createPollSchedule } from './poll-schedule.ts';
import { createPollWriter } from './poll-writer.ts';

export type Poller = {
  /** Settles when it is known whether this process polls or stands by. */
  start: () => Promise<void>;
  /** Ends the polls under way; settles within a second. */
  stop: () => Promise<void>;
  health: () => PollerHealth;
};

export type PollerHealth = {
  /** False while another process polls, or the database is out of reach. */
  isPolling: boolean;
  servers: number;
  /** Queries under way. */
  running: number;
  /** Servers whose turn has come and that wait for a place. */
  waiting: number;
  lastSavedAt: Date | undefined;
};

type Options = {
  db: Db;
  /** For the connection that holds the lease: one process polls, whatever number runs. */
  databaseUrl: string;
  log: Logger;
  intervalSeconds: number;
  /** Calls back when servers were added, changed or removed. */
  onServersChanged?: (listener: () => void) => void;
};

/** Longest wait for one server; shorter where the interval is, so that a server that is gone does not stretch it. */
const MAX_TIMEOUT_MS = 3000;
const MIN_TIMEOUT_MS = 1000;
const MAX_RUNNING = 256;
/** Servers are looked up this often even when no change was told. */
const RELOAD_MS = 1000;
const THIN_MS = 3_600_000;
const LAST_WRITE_LIMIT_MS = 500;

type Target = Awaited<ReturnType<typeof listPolledServers>>[number];

/**
 * Polls every listed server once an interval and writes what it learns. One process polls; another takes over when it
 * dies. Sample thinning, which must run once as well, goes with it.
 */
export function createPoller({ db, databaseUrl, log, intervalSeconds, onServersChanged }: Options): Poller {
  const intervalMs = intervalSeconds * 1000;
  const timeoutMs = Math.min(MAX_TIMEOUT_MS, Math.max(MIN_TIMEOUT_MS, intervalMs));
  const stopping = new AbortController();
  const changes = createChangeLog(log);
  const writer = createPollWriter({ save: (polls) => saveServerPolls(db, polls), log });
  const schedule = createPollSchedule<Target>({ intervalMs, maxRunning: MAX_RUNNING, poll });
  const timers: ReturnType<typeof setInterval>[] = [];
  let lease: Lease | undefined;
  let isReloading = false;
  let isReloadWanted = false;
  let isReloadFailing = false;

  async function poll(target: Target): Promise<void> {
    try {
      const outcome = await queryGameServer(target.address, { timeoutMs, signal: stopping.signal });
      if (stopping.signal.aborted || !lease?.isHeld()) return;
      const answer = outcome.isAnswered ? outcome.answer : undefined;
      const saved = await writer.write({ serverId: target.id, answer, polledAt: new Date() });
      if (saved) changes.report(target, outcome, saved);
    } catch (error) {
      log.error({ err: error, server: target.slug }, 'a poll failed');
    }
  }

  /** Reads which servers there are; a call during a read makes it read once more. */
  async function reload(): Promise<void> {
    isReloadWanted = true;
    if (isReloading) return;
    isReloading = true;
    try {
      while (isReloadWanted && lease?.isHeld()) {
        isReloadWanted = false;
        const targets = await listPolledServers(db);
        isReloadFailing = false;
        if (!lease?.isHeld() || stopping.signal.aborted) break;
        changes.expect(targets);
        schedule.setTargets(targets);
      }
    } catch (error) {
      if (!isReloadFailing) log.error({ err: error }, 'the list of servers cannot be read: trying again');
      isReloadFailing = true;
    } finally {
      isReloading = false;
    }
  }

  async function thin(): Promise<void> {
    if (!lease?.isHeld()) return;
    try {
      await thinServerSamples(db, new Date());
    } catch (error) {
      log.error({ err: error }, 'old player counts could not be thinned: trying again in an hour');
    }
  }

  return {
    start: async () => {
      lease = holdLease(databaseUrl, {
        name: 'poller',
        log,
        onGained: () => {
          log.info({ intervalSeconds }, 'polling game servers');
          changes.forget();
          void reload();
          void thin();
        },
        onLost: () => {
          log.warn(
            'no longer polling game servers: the database is out of reach or another process took over',
          );
          schedule.setTargets([]);
        },
      });
      onServersChanged?.(() => void reload());
      timers.push(setInterval(reload, RELOAD_MS), setInterval(thin, THIN_MS));
      await lease.tried;
      if (!lease.isHeld()) log.info('another process polls the game servers: standing by');
    },
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
      stopping.abort();
      schedule.stop();
      await writer.stop(LAST_WRITE_LIMIT_MS);
      await lease?.stop();
    },
    health: () => ({
      isPolling: lease?.isHeld() ?? false,
      ...countsOf(schedule),
      lastSavedAt: writer.lastWrittenAt(),
    }),
  };
}

function countsOf(schedule: ReturnType<typeof createPollSchedule<Target>>) {
  const { targets, running, waiting } = schedule.counts();
  return { servers: targets, running, waiting };
}

/** Logs what changes with a server, once each time. */
function createChangeLog(log: Logger) {
  const isOnline = new Map<number, boolean | null>();
  const lastReason = new Map<number, MissReason>();
  return {
    /** Takes the state of servers not heard of before from their last poll, whoever made it. */
    expect: (targets: readonly Target[]) => {
      for (const target of targets) if (!isOnline.has(target.id)) isOnline.set(target.id, target.isOnline);
      if (isOnline.size <= targets.length) return;
      const ids = new Set(targets.map(({ id }) => id));
      for (const id of [...isOnline.keys()]) if (!ids.has(id)) isOnline.delete(id);
      for (const id of [...lastReason.keys()]) if (!ids.has(id)) lastReason.delete(id);
    },
    report: ({ id, slug, address }: Target, outcome: PollOutcome, saved: PolledServer) => {
      const server = { server: slug, address };
      const wasOnline = isOnline.get(id);
      isOnline.set(id, saved.isOnline);
      if (outcome.isAnswered) {
        lastReason.delete(id);
        if (wasOnline !== true) log.info(server, 'server is online');
        return;
      }
      const { reason } = outcome;
      if (reason === 'banned-by-server' && lastReason.get(id) !== reason) {
        log.warn(server, 'server banned our address: it answers "Banned by server" to every question');
      }
      lastReason.set(id, reason);
      if (!saved.isOnline && wasOnline !== false) log.warn({ ...server, reason }, 'server is offline');
    },
    forget: () => {
      isOnline.clear();
      lastReason.clear();
    },
  };
}
