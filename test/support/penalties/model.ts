import { PENALTY_TYPES, type PenaltyStatus, type PenaltyType } from '../../../src/domain/penalty.ts';
import type { PenaltySort } from '../../../src/queries/penalties/row.ts';

export const HOUR_MS = 3_600_000;

/** What the model knows of a penalty; times in milliseconds. */
export type ModelPenalty = {
  id: number;
  type: PenaltyType;
  status: PenaltyStatus;
  player: string;
  admin: string;
  server: number;
  reason: string;
  createdMs: number;
  endsMs: number | null;
  /** Of an imported one: what it is at its source. */
  key?: string;
};

export type ModelFilter = {
  types?: readonly PenaltyType[];
  status?: PenaltyStatus;
  player?: string;
  admin?: string;
  server?: number;
  /** In hours from the database's present, as `to`. */
  from?: number;
  to?: number;
  reason?: string;
};

/** The expected lists, totals, counts, bans and changes of penalties, computed in the simplest way. */
export class PenaltyModel {
  readonly rows = new Map<number, ModelPenalty>();
  private lastSweepMs: number | undefined;

  /** @param databaseMs the clock of the database. @param toldUpToMs up to when clients were told of expiries. */
  constructor(
    private readonly databaseMs: number,
    private toldUpToMs: number,
  ) {}

  list(filter: ModelFilter, nowMs: number, sort: PenaltySort = '-created') {
    const rows = [...this.rows.values()]
      .map((row) => ({ ...row, status: statusOf(row, nowMs) }))
      .filter((row) => filter.status === undefined || row.status === filter.status)
      .filter((row) => filter.player === undefined || row.player === filter.player)
      .filter((row) => filter.admin === undefined || row.admin === filter.admin)
      .filter((row) => filter.server === undefined || row.server === filter.server)
      .filter((row) => row.createdMs >= this.timeOf(filter.from ?? Number.NEGATIVE_INFINITY))
      .filter((row) => row.createdMs < this.timeOf(filter.to ?? Number.POSITIVE_INFINITY))
      .filter((row) => row.reason.toLowerCase().includes(filter.reason?.toLowerCase() ?? ''))
      .sort(compareBy(sort));
    const counts = Object.fromEntries(
      PENALTY_TYPES.map((type) => [type, rows.filter((row) => row.type === type).length]),
    );
    return { rows: rows.filter(({ type }) => filter.types?.includes(type) ?? true), counts };
  }

  /** @param hours from the database's present. */
  timeOf(hours: number): number {
    return this.databaseMs + hours * HOUR_MS;
  }

  isBanned(player: string, nowMs: number): boolean {
    return this.list({ types: ['ban'], status: 'ACTIVE', player }, nowMs).rows.length > 0;
  }

  /** What a program that follows the changes knows. */
  told(): [number, PenaltyType, PenaltyStatus][] {
    const rows = [...this.rows.values()].sort((a, b) => a.id - b.id);
    return rows.map((row) => [row.id, row.type, statusOf(row, this.toldUpToMs)]);
  }

  /** The clients are told of expiries, unless there are none. */
  tellExpiries(nowMs: number): void {
    const upToMs = Math.min(nowMs, this.databaseMs);
    const isDue = (row: ModelPenalty) =>
      statusOf(row, this.toldUpToMs) !== statusOf(row, Math.max(upToMs, this.toldUpToMs));
    if ([...this.rows.values()].some(isDue)) this.toldUpToMs = upToMs;
  }

  /** The time by which EXPIRED is stored: the earlier of the process's clock and an hour before the database's. */
  expiryMark(nowMs: number): number {
    return Math.min(nowMs, this.databaseMs - HOUR_MS);
  }

  /** Marks what has ended by the {@link expiryMark} of this sweep and of the last one. */
  sweep(nowMs: number): void {
    const beforeMs = this.lastSweepMs;
    this.lastSweepMs = nowMs;
    if (beforeMs === undefined) return;
    const upToMs = this.expiryMark(Math.min(nowMs, beforeMs));
    for (const row of this.rows.values()) row.status = statusOf(row, upToMs);
  }
}

function compareBy(sort: PenaltySort): (a: ModelPenalty, b: ModelPenalty) => number {
  const sign = sort.startsWith('-') ? -1 : 1;
  const timeOf = ({ createdMs, endsMs }: ModelPenalty) =>
    sort.endsWith('created') ? createdMs : (endsMs ?? sign * Number.MAX_VALUE);
  return (a, b) => sign * (timeOf(a) - timeOf(b) || a.id - b.id);
}

function statusOf({ status, endsMs }: ModelPenalty, atMs: number): PenaltyStatus {
  return status === 'ACTIVE' && endsMs !== null && endsMs <= atMs ? 'EXPIRED' : status;
}
