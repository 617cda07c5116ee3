import { errorCode } from '../../domain/errors.ts';
import { BACKGROUND, ClientLeft, type RequestContext } from '../../runtime/request.ts';
import {
  BUSY_CODE,
  type Connection,
  type ConnectOptions,
  connect,
  DatabaseBusy,
  LOCKED_CODE,
  openDrizzle,
  type Row,
} from '../client.ts';
import type { Traffic } from './socket.ts';

/** A statement, or a whole transaction. */
export type Work<T> = {
  name: string;
  kind: 'prepared' | 'transaction' | 'other';
  /** Whether it may write: once sent, it is waited for. False by default. */
  mayWrite?: () => boolean;
  run: (connection: Connection) => PromiseLike<T>;
};

export type PoolLoad = {
  /** Connections that run a statement or a transaction. */
  inUse: number;
  /** Statements and transactions that wait for a connection. */
  waiting: number;
  max: number;
};

export type Pool = {
  /** @throws {DatabaseBusy} or an outage after the deadline · {ClientLeft} · what the work throws. */
  submit: <T>(work: Work<T>, request: RequestContext) => Promise<T>;
  load: () => PoolLoad;
  close: (timeoutSeconds: number) => Promise<unknown>;
};

type Slot = {
  connection: Connection;
  isOpen: boolean;
  /** The traffic of its latest socket. */
  traffic: Traffic;
  running: Set<Task>;
};
const isBusy = ({ running }: Slot) => running.size > 0;

type Task = Pick<Work<unknown>, 'name' | 'kind'> & {
  owner: string;
  start: (slot: Slot) => PromiseLike<unknown>;
  startedMs: number;
  /** Ends the wait at the deadline. */
  timer?: ReturnType<typeof setTimeout>;
};

type PoolOptions = ConnectOptions & {
  /** The number of connections. */
  max: number;
  /** Statements in flight on one connection, 1 by default; more only for statements that take milliseconds. */
  sentAhead?: number;
  /** Statements of one owner that run at once; no limit by default. */
  perOwner?: number;
  /** Transactions that run at once, since they may wait for locks; no limit by default. */
  transactions?: number;
  /**
   * Begins with the newest work of an owner. In an overload, the oldest work would begin just before its deadline, and be
   * refused while it runs.
   */
  newestFirst?: boolean;
};

/** Some iterations of the event loop. */
const READ_AGAIN_MS = 10;
/** The server has ended a statement. */
const LATE_CODES = new Set([BUSY_CODE, LOCKED_CODE]);
/** Beyond this, an owner is refused at once. */
const MAX_WAITING = 1000;
/** Longer than the time limit on a request's statements, within which a live server responds. */
const SILENT_MS = 3700;

/**
 * Assigns work to `max` connections, each with a separate driver, so that the only queue is here: the owner with the least
 * running work is next, and work leaves the queue at its deadline and when its client disconnects. Running statements are
 * never canceled, since a driver never responds again if its first statement is canceled while it connects; a connection is
 * free when the server has ended its statement.
 */
export function createPool(
  url: string,
  {
    max,
    sentAhead = 1,
    perOwner = Number.POSITIVE_INFINITY,
    transactions = Number.POSITIVE_INFINITY,
    newestFirst = false,
    ...options
  }: PoolOptions,
): Pool {
  const slots = Array.from({ length: max }, () => {
    const onClose = () => {
      slot.isOpen = false;
    };
    const onSocket = (traffic: Traffic) => {
      slot.traffic = traffic;
    };
    const connection = connect(url, { ...options, max: 1, onClose, onSocket });
    // Sets the parsers, so that dates come as text.
    openDrizzle(connection);
    const slot: Slot = { connection, isOpen: false, traffic: {}, running: new Set() };
    return slot;
  });
  /** Waiting work by owner. Of owners with equally much running work, the first one is next. */
  const queues = new Map<string, Set<Task>>();
  const countWaiting = () => queues.values().reduce((sum, { size }) => sum + size, 0);
  const listRunning = () => slots.flatMap(({ running }) => [...running]);

  /** Removes a task from the queue; its owner becomes the last one. */
  function dequeue(task: Task): void {
    const queue = queues.get(task.owner);
    if (!queue?.delete(task)) return;
    queues.delete(task.owner);
    if (queue.size > 0) queues.set(task.owner, queue);
  }

  function findNext(): Task | undefined {
    const running = listRunning();
    const mayBegin = running.filter(({ kind }) => kind === 'transaction').length < transactions;
    let next: Task | undefined;
    let fewest = perOwner;
    for (const [owner, queue] of queues) {
      const ofOwner = running.filter((task) => task.owner === owner).length;
      if (ofOwner >= fewest) continue;
      const isNext = ({ kind }: Task) => mayBegin || kind !== 'transaction';
      const task = newestFirst ? [...queue].findLast(isNext) : queue.values().find(isNext);
      if (!task) continue;
      next = task;
      fewest = ofOwner;
      if (ofOwner === 0) break;
    }
    return next;
  }

  function startNext(): void {
    for (;;) {
      const slot = slots.reduce((best, one) => (one.running.size < best.running.size ? one : best));
      if (queues.size === 0 || slot.running.size >= sentAhead) return;
      const task = findNext();
      if (!task) return;
      dequeue(task);
      slot.running.add(task);
      task.startedMs = performance.now();
      const end = () => {
        slot.running.delete(task);
        clearTimeout(task.timer);
        startNext();
      };
      task.start(slot).then(end, end);
    }
  }

  /** Opens a connection before work is sent to it, which would begin once it is open, however late. */
  async function open(slot: Slot, deadlineMs: number): Promise<void> {
    await slot.connection.unsafe('select 1');
    slot.isOpen = true;
    if (performance.now() >= deadlineMs) throw lateError();
  }

  /** The error that says why work is late. A server without a pending query is not unreachable. */
  function lateError(): Error {
    const nowMs = performance.now();
    const isSilent = ({ isOpen, traffic: { unansweredSinceMs = nowMs } }: Slot) =>
      !isOpen || nowMs - unansweredSinceMs >= SILENT_MS;
    const busySlots = slots.filter(isBusy);
    if (busySlots.length > 0 && busySlots.every(isSilent))
      return Object.assign(new Error('the database does not respond'), { code: 'ETIMEDOUT' });
    const running = listRunning().sort((a, b) => a.startedMs - b.startedMs);
    const describe = ({ name, startedMs }: Task) => `${name} (${Math.round(nowMs - startedMs)} ms)`;
    return new DatabaseBusy({ slow: running.slice(0, 3).map(describe), waiting: countWaiting() });
  }

  function submit<T>({ name, kind, mayWrite, run }: Work<T>, request: RequestContext): Promise<T> {
    const { owner, deadlineMs, client } = request;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let isSent = false;
    const refuse = (error: Error) => {
      clearTimeout(task.timer);
      dequeue(task);
      reject(error);
    };
    const leave = () => refuse(new ClientLeft('the client has left'));
    const expire = () => {
      if (!(isSent && mayWrite?.())) refuse(lateError());
    };
    // A response that has arrived is in time, even if this process was too busy to read it.
    const readAgain = () => {
      task.timer = setTimeout(expire, READ_AGAIN_MS);
    };
    const start = (slot: Slot) => {
      client?.signal.removeEventListener('abort', leave);
      const runNow = () => {
        isSent = true;
        return run(slot.connection);
      };
      const result = slot.isOpen ? runNow() : open(slot, deadlineMs).then(runNow);
      result.then(resolve, (error) => reject(LATE_CODES.has(errorCode(error)) ? lateError() : error));
      return result;
    };
    const task: Task = { name, kind, owner, start, startedMs: 0 };
    const queue = queues.getOrInsertComputed(owner, () => new Set());
    queue.add(task);
    const leftMs = deadlineMs - performance.now();
    if (queue.size > MAX_WAITING || leftMs <= 0) refuse(lateError());
    else if (leftMs < Number.POSITIVE_INFINITY) task.timer = setTimeout(readAgain, leftMs);
    if (client?.signal.aborted) leave();
    else client?.signal.addEventListener('abort', leave, { once: true });
    startNext();
    return promise;
  }

  return {
    submit,
    load: () => ({ inUse: slots.filter(isBusy).length, waiting: countWaiting(), max }),
    close: (timeoutSeconds) =>
      Promise.all(slots.map(({ connection }) => connection.end({ timeout: timeoutSeconds }))),
  };
}

/**
 * Opens the connections for requests to one server: two for prepared statements, three for other statements and transactions,
 * two for expensive statements, of which an owner runs one at a time. At most two transactions run: if both wait for a lock,
 * one connection is still free.
 */
export function openRequestPool(url: string, statementTimeoutMs: number): Pool {
  // A parallel plan for one owner would take the processors from everybody.
  const settings = 'set max_parallel_workers_per_gather = 0';
  const options = { statementTimeoutMs, settings };
  // One at a time would cost a fifth more processor time under load.
  const prepared = createPool(url, { ...options, max: 2, sentAhead: 4 });
  const others = createPool(url, {
    ...options,
    max: 3,
    settings: `${settings}; set lock_timeout = '1s'`,
    transactions: 2,
  });
  const expensive = createPool(url, { ...options, max: 2, perOwner: 1, newestFirst: true });
  const pools = [prepared, others, expensive];
  const poolOf = ({ kind }: Work<unknown>, { isExpensive }: RequestContext) => {
    if (isExpensive && kind !== 'transaction') return expensive;
    return kind === 'prepared' ? prepared : others;
  };
  return {
    submit: (work, request) => poolOf(work, request).submit(work, request),
    load: () => sumLoads(pools),
    close: (timeoutSeconds) => Promise.all(pools.map((pool) => pool.close(timeoutSeconds))),
  };
}

export function sumLoads(pools: readonly Pool[]): PoolLoad {
  const sum = (key: keyof PoolLoad) => pools.reduce((total, pool) => total + pool.load()[key], 0);
  return { inUse: sum('inUse'), waiting: sum('waiting'), max: sum('max') };
}

/** How long a server may take to respond to a probe. */
const PROBE_MS = 1000;

/** Opens a connection for {@link ask}. */
export function openProbe(url: string, applicationName: string): Pool {
  return createPool(url, { max: 1, applicationName, statementTimeoutMs: PROBE_MS });
}

/** Asks over a connection that nothing else uses. Rejects after a second. */
export function ask(probe: Pool, statement: string): Promise<Row[]> {
  const run = (connection: Connection) => connection.unsafe(statement);
  const deadlineMs = performance.now() + PROBE_MS;
  return probe.submit({ name: 'probe', kind: 'other', run }, { ...BACKGROUND, deadlineMs });
}
