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
  close: (timeoutSeconds: number) => Promise<void>;
};

type Task = {
  name: string;
  owner: string;
  start: (connection: Connection) => PromiseLike<unknown>;
  startedMs: number;
  /** Refuses it at its deadline. */
  timer?: ReturnType<typeof setTimeout>;
};

/** Beyond this, callers are refused at once. */
const MAX_WAITING = 1000;
/** Longer than the time limit on a request's statements, within which a live server responds. */
const SILENT_MS = 3700;

/**
 * Hands work to `max` connections, each a driver of its own, so that all that waits, waits here: until its deadline, and
 * each owner in turn. What runs is never canceled, since a driver whose first statement is canceled while it connects never
 * responds again; its connection is free when the server has ended it.
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
    const connection = connect(url, { ...options, max: 1, onResponse });
    // Sets the parsers, so that dates come as text.
    openDrizzle(connection);
    return { connection, sent: 0 };
  });
  /** By owner; the first one is the next. */
  const queues = new Map<string, Set<Task>>();
  let waiting = 0;
  /** The longest first. */
  const running = new Set<Task>();

  function dequeue(task: Task): void {
    const queue = queues.get(task.owner);
    if (!queue?.delete(task)) return;
    waiting -= 1;
    queues.delete(task.owner);
    if (queue.size > 0) queues.set(task.owner, queue);
  }

  function startNext(): void {
    while (waiting > 0) {
      const lane = lanes.reduce((best, one) => (one.sent < best.sent ? one : best));
      const [task] = queues.values().next().value ?? [];
      if (!task || lane.sent >= sentAhead) return;
      dequeue(task);
      running.add(task);
      lane.sent += 1;
      task.startedMs = performance.now();
      const end = () => {
        lane.sent -= 1;
        running.delete(task);
        clearTimeout(task.timer);
        startNext();
      };
      task.start(lane.connection).then(end, end);
    }
  }

  /** The error that says why work is late. */
  function lateness(): Error {
    const nowMs = performance.now();
    if (nowMs - respondedAtMs >= SILENT_MS)
      return Object.assign(new Error('the database does not respond'), { code: 'ETIMEDOUT' });
    const slowest = [...running].slice(0, 3);
    const slow = slowest.map(({ name, startedMs }) => `${name} (${Math.round(nowMs - startedMs)} ms)`);
    return new DatabaseBusy({ slow, waiting });
  }

  function submit<T>({ name, run }: Work<T>, { owner, deadlineMs }: Request): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let isRefused = false;
    const refuse = () => {
      isRefused = true;
      dequeue(task);
      reject(lateness());
    };
    const begin = () => {
      if (isRefused || performance.now() >= deadlineMs) throw lateness();
      clearTimeout(task.timer);
    };
    const start = (connection: Connection) => {
      const result = run(connection, begin);
      result.then(resolve, (error) => reject(errorCode(error) === BUSY_CODE ? lateness() : error));
      return result;
    };
    const task: Task = { name, owner, start, startedMs: 0 };
    queues.getOrInsertComputed(owner, () => new Set()).add(task);
    waiting += 1;
    const leftMs = deadlineMs - performance.now();
    if (waiting > MAX_WAITING || leftMs <= 0) refuse();
    else if (leftMs < Number.POSITIVE_INFINITY) task.timer = setTimeout(refuse, leftMs);
    startNext();
    return promise;
  }

  return {
    submit,
    load: () => ({ inUse: lanes.filter(({ sent }) => sent > 0).length, waiting, max }),
    close: async (timeoutSeconds) => {
      await Promise.all(lanes.map(({ connection }) => connection.end({ timeout: timeoutSeconds })));
    },
  };
}

export type RequestPools = { prepared: Pool; others: Pool };

/** Opens the four connections for requests to one server. Prepared statements have two of them, and wait for no others. */
export function openRequestPools(url: string, statementTimeoutMs: number): RequestPools {
  // A parallel plan for one owner would take the processors from everybody.
  const options = { max: 2, statementTimeoutMs, settings: 'set max_parallel_workers_per_gather = 0' };
  // One at a time would cost a fifth more processor time under load.
  return { prepared: createPool(url, { ...options, sentAhead: 4 }), others: createPool(url, options) };
}

/** A connection for questions that wait for nothing else, and at most a second. */
export type Probe = Pick<Pool, 'close'> & { ask: (statement: string) => Promise<Row[]> };

export function openProbe(url: string, applicationName: string): Probe {
  const { submit, close } = createPool(url, { max: 1, applicationName });
  const ask: Probe['ask'] = (statement) => {
    const run = (connection: Connection) => connection.unsafe(statement);
    const deadlineMs = performance.now() + 1000;
    return submit({ name: applicationName, isPrepared: false, run }, { owner: '', deadlineMs });
  };
  return { ask, close };
}
