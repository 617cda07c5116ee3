import type { Db } from '../../../src/db/client.ts';
import type { Interruption } from './history.ts';

/** A value that no program gets past: any use of it gives itself, and awaiting it never ends. */
const NEVER: never = new Proxy(() => undefined, {
  get: (_, name) => (name === 'then' ? () => undefined : NEVER),
  apply: () => NEVER,
}) as never;

const QUERIES = ['select', 'insert', 'update', 'delete', 'execute'];

/** Counts what a process does to the world outside, and strikes before the action that it was told. */
export class Interrupter {
  /** Settles once it has struck. */
  readonly struck: Promise<void>;
  private hasStruck = false;
  private isResumed = false;
  private readonly done = { query: 0, call: 0, chunk: 0, move: 0 };
  private readonly resumed = Promise.withResolvers<void>();
  private readonly tellStruck: () => void;

  /** @param kill ends the process, where it is one of its own. */
  constructor(
    private readonly interruption: Interruption | undefined,
    private readonly kill: () => void = () => undefined,
  ) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.struck = promise;
    this.tellStruck = resolve;
  }

  /** A worker that hung goes on. */
  resume(): void {
    this.isResumed = true;
    this.resumed.resolve();
  }

  /** The client whose file is being received goes away, so the receiver closes the file. False if none is received. */
  hangUp(): boolean {
    const isAwaited = this.interruption?.before === 'chunk';
    if (isAwaited) this.resumed.reject(new Error('the client is gone'));
    return isAwaited;
  }

  /** Called before an action; does not return to a process that was killed. */
  async pass(what: 'call' | 'chunk' | 'move'): Promise<void> {
    if (!this.strikes(what)) return;
    await this.resumed.promise;
  }

  /** A handle that counts queries. Once the process has been killed, none is sent, and none returns. */
  watch<T extends Db>(db: T): T {
    return new Proxy(db, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name === 'transaction')
          return (work: (tx: Db) => Promise<unknown>) => this.transact(target, work);
        if (!QUERIES.includes(String(name))) return value.bind(target);
        return (...values: unknown[]) => (this.strikes('query') ? NEVER : value.apply(target, values));
      },
    });
  }

  private transact(db: Db, work: (tx: Db) => Promise<unknown>): Promise<unknown> {
    if (this.strikes('query')) return NEVER;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    // The connection is closed after the strike, which a killed process must not notice.
    db.transaction((tx) => work(this.watch(tx as Db))).then(
      (result) => this.isDead || resolve(result),
      (error: unknown) => this.isDead || reject(error),
    );
    return promise;
  }

  /** Struck, and not resumed. */
  get isDead(): boolean {
    return this.hasStruck && !this.isResumed;
  }

  private strikes(what: Interruption['before']): boolean {
    if (this.isDead) return true;
    const isDue = this.interruption?.before === what && this.done[what] === this.interruption.nth;
    this.done[what] += 1;
    if (!isDue || this.hasStruck) return false;
    this.hasStruck = true;
    this.kill();
    this.tellStruck();
    return true;
  }
}
