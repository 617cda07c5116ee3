import { once } from 'node:events';
import DataLoader from 'dataloader';
import type { Logger } from 'pino';
import { type Db, isDatabaseOutage } from '../db/client.ts';
import type { Leaders, Leadership } from '../db/leader.ts';
import { type PolledServer, type ServerPoll, saveServerPolls } from '../queries/servers/polls.ts';
import { downsampleHistory } from '../queries/servers/samples.ts';
import type { ServerStatus } from '../queries/servers/servers.ts';
import { startLoop } from '../runtime/loop.ts';
import { withTimeLimit } from '../runtime/time-limit.ts';
import { type PollOutcome, queryGameServer } from './game-server.ts';
import { createPollSchedule, type PollTarget } from './poll-schedule.ts';

type Poller = {
  /** Polls whenever this process leads. */
  start: () => void;
  /** Aborts running polls; settles within a second. */
  stop: () => Promise<void>;
  health: () => PollerHealth;
};

type PollerHealth = {
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

/** The longest wait for one server; less with a short interval, so that an offline server does not delay polls. */
const MAX_TIMEOUT_MS = 3000;
const MIN_TIMEOUT_MS = 1000;
const MAX_RUNNING = 256;
const DOWNSAMPLE_MS = 3_600_000;
const LAST_WRITE_LIMIT_MS = 500;
/** How long polls are collected for one write, since each write notifies every process, which then reads the changes. */
const BATCH_WINDOW_MS = 250;
const MAX_BATCH = 500;

/**
 * Polls every listed server once an interval and saves the results. One process polls; another takes over when it
 * dies. It also downsamples old samples.
 */
export function createPoller({ db, leaders, log, intervalSeconds, servers }: Options): Poller {
  const intervalMs = intervalSeconds * 1000;
  const timeoutMs = Math.min(MAX_TIMEOUT_MS, Math.max(MIN_TIMEOUT_MS, intervalMs));
  const stopping = new AbortController();
  const schedule = createPollSchedule({ intervalMs, maxRunning: MAX_RUNNING, poll });
  let leadership: Leadership | undefined;
  let stopListening = () => {};
  let lastSavedAt: Date | undefined;
  let isSavingFailing = false;

  /** Saves what has arrived together; undefined for polls that were dropped, or whose servers were removed. */
  const saving = new DataLoader<ServerPoll, PolledServer | undefined>(
    async (polls) => {
      const servers = await save(polls);
      return polls.map(({ serverId }) => servers.find((server) => server.serverId === serverId));
    },
    { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: (write) => setTimeout(write, BATCH_WINDOW_MS) },
  );

  /**
   * During an outage of the database polls are dropped: the next poll has the newest state, and a poll that could not be
   * written does not count as missed.
   */
  async function save(polls: readonly ServerPoll[]): Promise<PolledServer[]> {
    try {
      const servers = await saveServerPolls(db, polls, { missesApartMs: intervalMs / 2 });
      if (isSavingFailing) log.info('polls are written again');
      isSavingFailing = false;
      lastSavedAt = new Date();
      return servers;
    } catch (error) {
      // One poll that cannot be written must not keep the others from being written.
      if (polls.length > 1 && !isDatabaseOutage(error)) {
        return (await Promise.all(polls.map((poll) => save([poll])))).flat();
      }
      if (!isSavingFailing)
        log.error({ err: error }, 'polls cannot be written: they are dropped until they can be');
      isSavingFailing = true;
      return [];
    }
  }

  async function poll(target: PollTarget, isTarget: () => boolean): Promise<void> {
    try {
      const outcome = await queryGameServer(target.address, { timeoutMs, signal: stopping.signal });
      if (stopping.signal.aborted || !leadership?.isLeader() || !isTarget()) return;
      const state = outcome.hasResponded ? outcome.state : undefined;
      const polledServer = await saving.load({ serverId: target.id, state, polledAt: new Date() });
      if (polledServer) logChange(target, outcome, polledServer);
    } catch (error) {
      log.error({ err: error, server: target.slug }, 'a poll failed');
    }
  }

  function logChange({ slug, address }: PollTarget, outcome: PollOutcome, polledServer: PolledServer): void {
    const server = { server: slug, address };
    const { wasOnline, isOnline, missedPolls } = polledServer;
    if (outcome.hasResponded) {
      if (wasOnline !== true) log.info(server, 'server is online');
      return;
    }
    const { reason } = outcome;
    if (reason === 'banned-by-server' && missedPolls === 1) {
      log.warn(server, 'server banned our address: it responds "Banned by server" to every request');
    }
    if (!isOnline && wasOnline !== false) log.warn({ ...server, reason }, 'server is offline');
  }

  function setTargets(): void {
    if (!leadership?.isLeader() || stopping.signal.aborted) return;
    schedule.setTargets(
      servers.current().map(({ server: { id, slug, address } }) => ({ id, slug, address })),
    );
  }

  async function lead(signal: AbortSignal): Promise<void> {
    log.info({ intervalSeconds }, 'polling game servers');
    setTargets();
    const downsampling = startLoop({
      name: 'downsampling old player counts',
      everyMs: DOWNSAMPLE_MS,
      work: (ending) => downsampleHistory(db, AbortSignal.any([ending, stopping.signal])),
      log,
    });
    await once(signal, 'abort');
    schedule.setTargets([]);
    await downsampling.stop();
  }

  return {
    start: () => {
      leadership = leaders.run('poller', lead);
      stopListening = servers.onChange(setTargets);
    },
    stop: async () => {
      stopListening();
      stopping.abort();
      await withTimeLimit(schedule.stop(), LAST_WRITE_LIMIT_MS).catch(() => undefined);
      await leadership?.stop();
    },
    health: () => {
      const { targets, running, waiting } = schedule.counts();
      return { isPolling: leadership?.isLeader() ?? false, servers: targets, running, waiting, lastSavedAt };
    },
  };
}
