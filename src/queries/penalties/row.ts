import { sql } from 'drizzle-orm';
import { penalties } from '../../db/schema/penalties.ts';
import { selectionOf, type Values } from '../../db/select.ts';
import { type PenaltyStatus, type PenaltyType, statusAt } from '../../domain/penalty.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';

/** The columns of a penalty that lists show. */
const SHOWN = {
  id: penalties.id,
  type: penalties.type,
  status: penalties.status,
  playerName: penalties.playerName,
  playerSteamId: penalties.playerSteamId,
  adminName: penalties.adminName,
  adminSteamId: penalties.adminSteamId,
  reason: penalties.reason,
  durationMinutes: penalties.durationMinutes,
  serverId: penalties.serverId,
  createdAt: penalties.createdAt,
  endsAt: penalties.endsAt,
  liftedAt: penalties.liftedAt,
  liftedByName: penalties.liftedByName,
  liftedBySteamId: penalties.liftedBySteamId,
  liftReason: penalties.liftReason,
};

export const LISTED = selectionOf(SHOWN);

export type Penalty = Pick<typeof penalties.$inferSelect, keyof typeof SHOWN>;

export const NEWEST_FIRST = sql`${penalties.createdAt} desc, ${penalties.id} desc`;
export const OLDEST_FIRST = sql`${penalties.createdAt}, ${penalties.id}`;

/** {@link NEWEST_FIRST}, for rows that the database gave in no order. */
export function compareNewestFirst(a: Penalty, b: Penalty): number {
  return b.createdAt.getTime() - a.createdAt.getTime() || b.id - a.id;
}

/** Reads a listed row, with its status at `now`. @param at the positions of its columns. */
export function readPenalty(row: Values, at: Readonly<Record<keyof Penalty, number>>, now: Date): Penalty {
  const endsAt = readDate(row[at.endsAt]);
  return {
    id: Number(row[at.id]),
    type: row[at.type] as PenaltyType,
    status: statusAt(row[at.status] as PenaltyStatus, endsAt, now),
    playerName: String(row[at.playerName]),
    playerSteamId: String(row[at.playerSteamId]) as SteamId64,
    adminName: String(row[at.adminName]),
    adminSteamId: String(row[at.adminSteamId]) as SteamId64,
    reason: String(row[at.reason]),
    durationMinutes: Number(row[at.durationMinutes]),
    serverId: Number(row[at.serverId]),
    createdAt: new Date(String(row[at.createdAt])),
    endsAt,
    liftedAt: readDate(row[at.liftedAt]),
    liftedByName: row[at.liftedByName] as string | null,
    liftedBySteamId: row[at.liftedBySteamId] === null ? null : (String(row[at.liftedBySteamId]) as SteamId64),
    liftReason: row[at.liftReason] as string | null,
  };
}

function readDate(value: unknown): Date | null {
  return value === null ? null : new Date(String(value));
}
