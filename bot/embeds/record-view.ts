import type { PenaltyStatus, PenaltyType } from '../../src/penalty.ts';
import type { SteamId64 } from '../../src/steam-id.ts';

/** One penalty as a record shows it, with the status it has now. */
export type PenaltyView = {
  id: number;
  type: PenaltyType;
  status: PenaltyStatus;
  reason: string;
  adminName: string;
  adminSteamId: SteamId64;
  /** Undefined: it holds on all servers. */
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
  /** Of all penalties, whatever the filter. */
  counts: Record<PenaltyType, number>;
  /** Of all active penalties, whatever the filter. */
  active: Record<PenaltyType, number>;
  filter: RecordFilter;
  /** How many match the filter. */
  total: number;
  page: number;
  lastPage: number;
  penalties: PenaltyView[];
};
