import { afterAll, expect, test } from 'bun:test';
import type { Transaction } from '../../../../src/db/client.ts';
import { penaltyEventState } from '../../../../src/db/schema/penalty-events.ts';
import { MUTE_TYPES } from '../../../../src/domain/penalty.ts';
import { recordExpiredPenalties } from '../../../../src/queries/penalties/events.ts';
import type { PenaltySort } from '../../../../src/queries/penalties/row.ts';
import { createExpirySweep } from '../../../../src/service/parts/expiry.ts';
import { RUNS, tryHistories } from '../../../support/model.ts';
import {
  ADMINS,
  type GivenPenalty,
  type PenaltyImport,
  type PenaltyStep,
  type PenaltyTransaction,
  PLAYERS,
  penaltyHistory,
  WRITERS,
} from '../../../support/penalties/history.ts';
import { importRows, toTime } from '../../../support/penalties/import.ts';
import {
  HOUR_MS,
  type ModelFilter,
  type ModelPenalty,
  PenaltyModel,
} from '../../../support/penalties/model.ts';
import { openStage, type Stage } from '../../../support/penalties/stage.ts';
import { bearer } from '../../../support/service/service.ts';

const STAGES = 4;

const stages = await Promise.all(Array.from({ length: STAGES }, openStage));
afterAll(() =>
  Promise.all(stages.flatMap(({ writers }) => writers.map((writer) => writer.end({ timeout: 0 })))),
);

type Draft = Omit<ModelPenalty, 'id' | 'status'>;

/** One history: the database, a model beside it, and a program that follows the changes. */
class Play {
  private readonly beganMs = Math.floor(Date.now() / 1000) * 1000;
  private readonly model = new PenaltyModel(this.beganMs, this.beganMs - 12 * HOUR_MS);
  private readonly sweep: () => Promise<unknown>;
  private readonly followed = new Map<number, unknown[]>();
  private cursor = '';

  constructor(private readonly stage: Stage) {
    this.sweep = createExpirySweep(stage.database.db, () => stage.service.clock.now);
  }

  async start(): Promise<void> {
    const { connection, db } = this.stage.database;
    await connection`delete from penalties`;
    await db.update(penaltyEventState).set({ expiredUpTo: new Date(this.beganMs - 12 * HOUR_MS) });
    this.setClock(0);
    this.cursor = (await this.ask('/penalties/changes')).meta.cursor;
  }

  async take(step: PenaltyStep): Promise<void> {
    if (step.kind === 'at once') {
      await Promise.all(step.transactions.map((one) => this.write(one)));
    } else if (step.kind === 'clock') this.setClock(step.hours);
    else if (step.kind === 'sweep') {
      await this.sweep();
      this.model.sweep(this.nowMs);
    } else if (step.kind === 'expire') {
      await recordExpiredPenalties(this.stage.database.db, this.now);
      this.model.tellExpiries(this.nowMs);
    } else if (step.kind === 'follow') await this.follow(2);
    else if (step.kind === 'look') await this.look(step.filter, step);
    else if (step.kind === 'import' || step.kind === 'killed import') await this.import(step);
  }

  async end(): Promise<void> {
    const [player, other] = PLAYERS;
    const [admin] = ADMINS;
    await Promise.all([
      this.look({}),
      this.look({ server: 1, status: 'EXPIRED' }),
      this.look({ admin }),
      this.look({ admin, server: 2, status: 'ACTIVE' }),
      this.look({ player, status: 'EXPIRED' }),
      this.lookAtBans(this.model.rows.size % 2 === 0 ? player : other),
      this.follow(),
    ]);
    expect([...this.followed.values()].sort(([a], [b]) => Number(a) - Number(b))).toEqual(this.model.told());
  }

  private get now(): Date {
    return this.stage.service.clock.now;
  }

  private get nowMs(): number {
    return this.now.getTime();
  }

  private setClock(hours: number): void {
    this.stage.service.clock.now = new Date(this.beganMs + hours * HOUR_MS);
  }

  /** Offset by half an hour, so that no comparison depends on seconds. */
  private draft({ created, ends, ...facts }: GivenPenalty): Draft {
    const at = (hours: number) => this.model.timeOf(hours + 0.5);
    return { ...facts, createdMs: at(created), endsMs: ends === null ? null : at(ends) };
  }

  /** One transaction of a writer, and its effect on the model if it is committed. */
  private async write({ kind, writer, operations }: PenaltyTransaction) {
    const { database, writers, openWriter } = this.stage;
    const own = [...this.model.rows.keys()].filter((id) => id % WRITERS.length === writer);
    const kept: (() => void)[] = [];
    const end = { rollback: new Error('rolled back'), kill: undefined, commit: undefined }[kind];
    const done = writers[writer]?.begin(async (tx) => {
      for (const one of operations) {
        if (one.kind === 'insert') kept.push(await this.insert(tx, this.draft(one)));
        else {
          const id = own[one.place % own.length];
          if (id === undefined) continue;
          if (one.kind === 'change') kept.push(await this.change(tx, id, this.draft(one)));
          else kept.push(one.kind === 'lift' ? await this.lift(tx, id) : await this.remove(tx, id));
        }
      }
      if (kind === 'kill') {
        const [session] = await tx`select pg_backend_pid() as pid`;
        await database.connection`select pg_terminate_backend(${session?.pid}::int)`;
        await tx`select 1`;
      }
      if (end) throw end;
    });
    if (kind === 'commit') {
      await done;
      for (const keep of kept) keep();
    } else await expect(done).rejects.toThrow();
    if (kind !== 'kill') return;
    // The driver would wait before it connects again.
    void writers[writer]?.end({ timeout: 0 });
    writers[writer] = openWriter();
  }

  private async insert(tx: Transaction, row: Draft): Promise<() => void> {
    const [stored] = await tx`
      insert into penalties (type, status, player_steamid, admin_steamid, server_id, reason, duration_minutes, created_at, ends_at)
      values (${row.type}, 'ACTIVE', ${row.player}, ${row.admin}, ${row.server}, ${row.reason}, 5, ${toTime(row.createdMs)},
        ${toTime(row.endsMs)}) returning id`;
    const id = Number(stored?.id);
    return () => this.model.rows.set(id, { ...row, id, status: 'ACTIVE' });
  }

  private async change(tx: Transaction, id: number, row: Draft): Promise<() => void> {
    await tx`update penalties set type = ${row.type}, player_steamid = ${row.player}, admin_steamid = ${row.admin},
      server_id = ${row.server}, reason = ${row.reason}, created_at = ${toTime(row.createdMs)}, ends_at = ${toTime(row.endsMs)} where id = ${id}`;
    return () => this.update(id, row);
  }

  private async lift(tx: Transaction, id: number): Promise<() => void> {
    await tx`update penalties set status = 'UNBANNED', lifted_at = now() where id = ${id}`;
    return () => this.update(id, { status: 'UNBANNED' });
  }

  private async remove(tx: Transaction, id: number): Promise<() => void> {
    await tx`delete from penalties where id = ${id}`;
    return () => this.model.rows.delete(id);
  }

  private update(id: number, change: Partial<ModelPenalty>): void {
    const row = this.model.rows.get(id);
    // Deleted before in the same transaction.
    if (row) this.model.rows.set(id, { ...row, ...change });
  }

  private async import({ kind, lines }: PenaltyImport): Promise<void> {
    const rows = lines.map((line) => ({
      ...this.draft(line),
      key: `${line.type} ${line.sourceId}`,
      status: line.status,
    }));
    const isKilled = kind === 'killed import';
    const mark = this.model.expiryMark(this.nowMs);
    const ids = await importRows(this.stage.database, rows, { now: this.now, isKilled });
    for (const row of isKilled ? [] : rows) {
      const id = ids.get(row.key) ?? 0;
      const isOver = row.status === 'ACTIVE' && row.endsMs !== null && row.endsMs <= mark;
      this.model.rows.set(id, { ...row, id, status: isOver ? 'EXPIRED' : row.status });
    }
  }

  private async ask(path: string) {
    const { service, token } = this.stage;
    const { status, body } = await service.ask(`/api/v1${path}`, bearer(token));
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`);
    return body as {
      data: Record<string, unknown>[];
      meta: Record<string, never> & { cursor: string };
      user: { is_banned: boolean };
    };
  }

  private async look(
    filter: ModelFilter,
    { page = 1, perPage = 100, sort }: { page?: number; perPage?: number; sort?: PenaltySort } = {},
  ): Promise<void> {
    const { types, status, player, admin, server, from, to, reason } = filter;
    const query = Object.entries({
      type: types,
      status,
      steamid: player,
      admin_steamid: admin,
      server_id: server,
      created_from: from && toTime(this.model.timeOf(from)),
      created_to: to && toTime(this.model.timeOf(to)),
      reason,
      sort,
      page,
      per_page: perPage,
    }).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)] as const]));
    const path = `/penalties?${new URLSearchParams(Object.fromEntries(query))}`;
    const { data, meta } = await this.ask(path);
    const { rows, counts } = this.model.list(filter, this.nowMs, sort);
    expect({
      path,
      rows: data.map(toShown),
      total: meta.total,
      counts: meta.counts,
      last: meta.last_page,
    }).toEqual({
      path,
      rows: rows.slice((page - 1) * perPage, page * perPage).map(present),
      total: rows.length,
      counts,
      last: Math.max(Math.ceil(rows.length / perPage), 1),
    } as never);
  }

  private async lookAtBans(player: string): Promise<void> {
    const [bans, mutes, active, { user }] = await Promise.all([
      this.ask(`/bans?steamid=${player}&status=ACTIVE`),
      this.ask(`/mutes?steamid=${player}`),
      this.ask(`/penalties/active?steamids=${player}`),
      this.ask(`/users/lookup?steamid64=${player}`),
    ]);
    const ids = (filter: ModelFilter) =>
      this.model.list({ ...filter, player }, this.nowMs).rows.map(({ id }) => id);
    const isBanned = this.model.isBanned(player, this.nowMs);
    expect([bans.data.map(toId), mutes.data.map(toId), active.data, user.is_banned]).toMatchObject([
      ids({ types: ['ban'], status: 'ACTIVE' }),
      ids({ types: MUTE_TYPES }),
      [{ is_banned: isBanned, penalties: ids({ status: 'ACTIVE' }).map((id) => ({ id })) }],
      isBanned,
    ]);
  }

  private async follow(limit = 100): Promise<void> {
    for (let hasMore = true; hasMore; ) {
      const { data, meta } = await this.ask(`/penalties/changes?cursor=${this.cursor}&limit=${limit}`);
      for (const { penalty, is_deleted: isDeleted } of data as {
        penalty: Record<string, never>;
        is_deleted?: true;
      }[]) {
        if (isDeleted) this.followed.delete(Number(penalty.id));
        else this.followed.set(Number(penalty.id), [penalty.id, penalty.penalty_type, penalty.status]);
      }
      this.cursor = meta.cursor ?? '';
      hasMore = meta.has_more === true;
    }
  }
}

function toId({ id }: Record<string, unknown>): unknown {
  return id;
}

function toShown(row: Record<string, unknown>): unknown[] {
  const {
    id,
    penalty_type: type,
    status,
    player_steamid: player,
    admin_steamid: admin,
    server_id: server,
  } = row;
  return [
    id,
    type,
    status,
    player,
    admin,
    server,
    Date.parse(String(row.created)),
    row.ends && Date.parse(String(row.ends)),
  ];
}

function present({ id, type, status, player, admin, server, createdMs, endsMs }: ModelPenalty): unknown[] {
  return [id, type, status, player, admin, server, createdMs, endsMs];
}

test.concurrent.each(stages)(
  'lists, totals, counts, bans and changes are what a model of them says, whatever happens on several connections',
  (stage) =>
    tryHistories(
      'penalties',
      penaltyHistory,
      async (steps) => {
        const play = new Play(stage);
        await play.start();
        for (const one of steps) await play.take(one);
        await play.end();
      },
      { runs: Math.ceil((5 * RUNS) / STAGES) },
    ),
);
