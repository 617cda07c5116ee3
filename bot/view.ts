import type { ServerPlayer } from '../src/db/schema.ts';
import type { PenaltyStatus, PenaltyType } from '../src/penalty.ts';
import type { ServerStatus } from '../src/queries/servers.ts';
import type { SteamId64 } from '../src/steam-id.ts';

/** What the server card and the list show of one server. */
export type ServerView = {
  id: number;
  slug: string;
  name: string;
  hostname: string;
  address: string;
  mode: string;
  region: string;
  map: string;
  isOnline: boolean;
  playersCount: number;
  maxPlayers: number;
  pingMs: number;
  /** Highest score first, without the nameless. */
  players: ServerPlayer[];
  /** The last poll; undefined before the first. */
  updatedAt: Date | undefined;
  /** The last answered poll. */
  seenAt: Date | undefined;
};

/** One penalty as the record shows it, with the status it has now. */
export type PenaltyView = {
  id: number;
  type: PenaltyType;
  status: PenaltyStatus;
  reason: string;
  adminName: string;
  adminSteamId: SteamId64;
  /** Undefined: on all servers, or on one that no longer exists. */
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

export type RecordView = {
  playerName: string;
  steamId: SteamId64;
  /** Of the whole record, whatever the filter. */
  counts: Record<PenaltyType, number>;
  active: Record<PenaltyType, number>;
  filter: RecordFilter;
  /** Of the filter. */
  total: number;
  page: number;
  lastPage: number;
  penalties: PenaltyView[];
};

/** What the list of servers hands the renderers. Stale players of an offline server never get this far. */
export function toServerView({ server, snapshot }: ServerStatus): ServerView {
  const isOnline = snapshot?.isOnline ?? false;
  const { id, slug, name, address, mode, region } = server;
  return {
    id,
    slug,
    name,
    address,
    mode,
    region,
    hostname: snapshot?.hostname ?? '',
    map: isOnline ? (snapshot?.map ?? '') : '',
    isOnline,
    playersCount: isOnline ? (snapshot?.playersCount ?? 0) : 0,
    maxPlayers: snapshot?.maxPlayers ?? 0,
    pingMs: isOnline ? (snapshot?.pingMs ?? 0) : 0,
    players: isOnline
      ? (snapshot?.players ?? [])
          .filter((player) => player.name.trim() !== '')
          .toSorted((a, b) => b.score - a.score)
      : [],
    updatedAt: snapshot?.polledAt,
    seenAt: snapshot?.seenAt ?? undefined,
  };
}
