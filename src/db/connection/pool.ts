import { errorCode } from '../../domain/errors.ts';
import type { Request } from '../../runtime/request.ts';
import {
  BUSY_CODE,
  type Connection,
  type ConnectOptions,
  connect,
  DatabaseBusy,
  openDrizzle,
  type Row,
} from '../client.ts';

/** A statement, or a whole transaction. */
export type Work<T> = {
  name: string;
  isPrepared: boolean;
  /** @param begin for a transaction: throws when it is too late to begin. What has begun is waited for. */
  run: (connection: Connection, begin: () => void) => PromiseLike<T>;
};

export type PoolLoad = {
  /** Connections that run a statement or a transaction. */
  inUse: number;
  /** Statements and transactions that wait for a connection. */
  waiting: number;
  max: number;
};

export type Pool = {
  /** @throws {DatabaseBusy} or an outage after the deadline · what the work throws. */
  submit: <T>(work: Work<T>, request: Request) => Promise<T>;
  load: () => PoolLoad;
  close: (timeoutSeconds: number) => Promise<unknown>;
};

type Lane = { connection: Connection; isOpen: boolean; running: Set<Task> };
const isBusy = ({ running }: Lane) => running.size > 0;

type Task = {
  name: string;
  owner: string;
  start: (lane: Lane) => PromiseLike<unknown>;
  startedMs: number;
  /** Refuses it at its deadline. */
  timer?: ReturnType<typeof setTimeout>;
};

/** Beyond this, an owner is refused at once. */
const MAX_WAITING = 1000;
/** Longer than the time limit on a request's statements, within which a live server responds. */
const SILENT_MS = 3700;

/**
 * Assigns work to `max` connections, each with a separate driver, so that the only queue is here: owners take turns, and
 * work leaves the queue at its deadline. Running statements are never canceled, since a driver never responds again if its
 * first statement is canceled while it connects; a connection is free when the server has ended its statement.
 * @param sentAhead how much work a connection may have at once; more than 1 only for statements that take milliseconds.
 */
export function createPool(
  url: string,
  { max, sentAhead = 1, ...options }: ConnectOptions & { max: number; sentAhead?: number },
): Pool {
  let respondedAtMs = Number.NEGATIVE_INFINITY;
  const onResponse = () => {
    respondedAtMs = performance.now();
  };
  const lanes = Array.from({ length: max }, () => {
    const onClose = () => {
      lane.isOpen = false;
    };
    const connection = connect(url, { ...options, max: 1, onResponse, onClose });
    // Sets the parsers, so that dates come as text.
    openDrizzle(connection);
    const lane: Lane = { connection, isOpen: false, running: new Set() };
    return lane;
  });
  /** By owner; the first one is the next. */
  const queues = new Map<string, Set<Task>>();
  const countWaiting = () => queues.values().reduce((sum, { size }) => sum + size, 0);

  function dequeue(task: Task): void {
    const queue = queues.get(task.owner);
    if (!queue?.delete(task)) return;
    queues.delete(task.owner);
    if (queue.size > 0) queues.set(task.owner, queue);
  }

  function startNext(): void {
    for (;;) {
      const lane = lanes.reduce((best, one) => (one.running.size < best.running.size ? one : best));
      const [task] = queues.values().next().value ?? [];
      if (!task || lane.running.size >= sentAhead) return;
      dequeue(task);
      lane.running.add(task);
      task.startedMs = performance.now();
      const end = () => {
        lane.running.delete(task);
        clearTimeout(task.timer);
        startNext();
      };
      task.start(lane).then(end, end);
    }
  }

  /** Work that is sent to a connection that is still opening begins once it is open, however late. */
  async function open(lane: Lane): Promise<void> {
    await lane.connection.unsafe('select 1');
    lane.isOpen = true;
  }

  /** The error that says why work is late. */
  function lateness(): Error {
    const nowMs = performance.now();
    const running = lanes.flatMap((lane) => [...lane.running]).sort((a, b) => a.startedMs - b.startedMs);
    const silentSinceMs = Math.max(respondedAtMs, running[0]?.startedMs ?? 0);
    if (nowMs - silentSinceMs >= SILENT_MS || !lanes.some(({ isOpen }) => isOpen))
      return Object.assign(new Error('the database does not respond'), { code: 'ETIMEDOUT' });
    const describe = ({ name, startedMs }: Task) => `${name} (${Math.round(nowMs - startedMs)} ms)`;
    return new DatabaseBusy({ slow: running.slice(0, 3).map(describe), waiting: countWaiting() });
  }

  function submit<T>({ name, run }: Work<T>, { owner, deadlineMs }: Request): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let isRefused = false;
    const refuse = () => {
      isRefused = true;
      dequeue(task);
      reject(lateness());
    };
    const checkDeadline = () => {
      if (isRefused || performance.now() >= deadlineMs) throw lateness();
    };
    const begin = () => {
      checkDeadline();
      clearTimeout(task.timer);
    };
    const start = (lane: Lane) => {
      const runNow = () => run(lane.connection, begin);
      const result = lane.isOpen ? runNow() : open(lane).then(checkDeadline).then(runNow);
      result.then(resolve, (error) => reject(errorCode(error) === BUSY_CODE ? lateness() : error));
      return result;
    };
    const task: Task = { name, owner, start, startedMs: 0 };
    const queue = queues.getOrInsertComputed(owner, () => new Set());
    queue.add(task);
    const leftMs = deadlineMs - performance.now();
    if (queue.size > MAX_WAITING || leftMs <= 0) refuse();
    else if (leftMs < Number.POSITIVE_INFINITY) task.timer = setTimeout(refuse, leftMs);
    startNext();
    return promise;
  }

  return {
    submit,
    load: () => ({ inUse: lanes.filter(isBusy).length, waiting: countWaiting(), max }),
    close: (timeoutSeconds) =>
      Promise.all(lanes.map(({ connection }) => connection.end({ timeout: timeoutSeconds }))),
  };
}

/** Opens the four connections for requests to one server. Two of them are for prepared statements only. */
export function openRequestPool(url: string, statementTimeoutMs: number): Pool {
  // A parallel plan for one owner would take the processors from everybody.
  const options = { max: 2, statementTimeoutMs, settings: 'set max_parallel_workers_per_gather = 0' };
  // One at a time would cost a fifth more processor time under load.
  const prepared = createPool(url, { ...options, sentAhead: 4 });
  const others = createPool(url, options);
  return {
    submit: (work, request) => (work.isPrepared ? prepared : others).submit(work, request),
    load: () => sumLoads([prepared, others]),
    close: (timeoutSeconds) => Promise.all([prepared.close(timeoutSeconds), others.close(timeoutSeconds)]),
  };
}

export function sumLoads(pools: readonly Pool[]): PoolLoad {
  const sum = (key: keyof PoolLoad) => pools.reduce((total, pool) => total + pool.load()[key], 0);
  return { inUse: sum('inUse'), waiting: sum('waiting'), max: sum('max') };
}

/** Asks over a pool that nothing else uses. Rejects after a second. */
export function ask(pool: Pool, statement: string): Promise<Row[]> {
  const run = (connection: Connection) => connection.unsafe(statement);
  const deadlineMs = performance.now() + 1000;
  return pool.submit({ name: 'probe', isPrepared: false, run }, { owner: '', deadlineMs });
}
