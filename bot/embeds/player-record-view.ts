import {
  countsOnlineTime,
  PENALTY_SEVERITY,
  type PenaltyStatus,
  type PenaltyType,
} from '../../src/domain/penalty.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import type { SteamBansView } from './steam-bans.ts';

/** One penalty as a record shows it, with the status it has now. */
export type PenaltyView = {
  id: number;
  type: PenaltyType;
  status: PenaltyStatus;
  reason: string;
  adminName: string;
  adminSteamId: SteamId64;
  /** Undefined: all servers. */
  serverName: string | undefined;
  /** 0: permanent. */
  durationMinutes: number;
  createdAt: Date;
  endsAt: Date | null;
  liftedAt: Date | null;
  liftedByName: string | null;
  liftReason: string | null;
};

export type RecordFilter = { type?: PenaltyType | undefined; status?: PenaltyStatus | undefined };

/** One page of a player's penalties. */
export type RecordView = {
  playerName: string;
  steamId: SteamId64;
  /** Whether they have an account here. */
  isMember: boolean;
  /** Of all penalties, whatever the filter. */
  counts: Record<PenaltyType, number>;
  /** Of all active penalties, whatever the filter. */
  active: Record<PenaltyType, number>;
  /** The most severe active penalty, whatever the filter and the page. */
  lead: PenaltyView | undefined;
  /** Undefined: omitted. */
  steamBans: SteamBansView | undefined;
  filter: RecordFilter;
  /** How many match the filter. */
  total: number;
  page: number;
  lastPage: number;
  penalties: PenaltyView[];
};

/** The active penalty of the most severe type; among several, the one that lasts longest. */
export function findLead(active: readonly PenaltyView[]): PenaltyView | undefined {
  const endOf = (penalty: PenaltyView) =>
    penalty.endsAt?.getTime() ??
    (countsOnlineTime(penalty) ? Number.MAX_SAFE_INTEGER : Number.POSITIVE_INFINITY);
  const [lead] = active.toSorted(
    (a, b) => PENALTY_SEVERITY[a.type] - PENALTY_SEVERITY[b.type] || endOf(b) - endOf(a) || b.id - a.id,
  );
  return lead;
}
