import { eq, getTableColumns, sql } from 'drizzle-orm';
import type { Reads } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { servers } from '../../db/schema/servers.ts';
import { selectionOf, type Values } from '../../db/select.ts';
import type { PenaltyOrigin } from '../../domain/panel.ts';
import { type PenaltyStatus, type PenaltyType, statusAt } from '../../domain/penalty.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import type { Server } from '../servers/servers.ts';

/** The columns of a penalty that lists show. */
const { source, sourceTable, sourceId, ...SHOWN } = getTableColumns(penalties);

export const LISTED = selectionOf(SHOWN);

export type ListedPenalty = Pick<typeof penalties.$inferSelect, keyof typeof SHOWN>;
/** Fields that the record of an event has, too. */
export type Penalty = Omit<ListedPenalty, 'goneAt'>;

/** How lists are sorted: by `created` or `ends`, with `-` descending; then by id in the same direction. */
export const PENALTY_SORTS = ['-created', 'created', 'ends', '-ends'] as const;
export type PenaltySort = (typeof PENALTY_SORTS)[number];

export const NEWEST_FIRST = sql`${penalties.createdAt} desc, ${penalties.id} desc`;
export const OLDEST_FIRST = sql`${penalties.createdAt}, ${penalties.id}`;

/** The order of a sort, for rows that the database gave in no order. Permanent penalties are last by `ends` either way. */
export function comparePenalties(sort: PenaltySort): (a: Penalty, b: Penalty) => number {
  const sign = sort.startsWith('-') ? -1 : 1;
  const timeOf = ({ createdAt, endsAt }: Penalty) =>
    sort.endsWith('created') ? createdAt.getTime() : (endsAt?.getTime() ?? sign * Number.MAX_VALUE);
  return (a, b) => sign * (timeOf(a) - timeOf(b) || a.id - b.id);
}

/** Reads a listed row, with its status at `now`. @param at the positions of its columns. */
export function readPenalty(
  row: Values,
  at: Readonly<Record<keyof ListedPenalty, number>>,
  now: Date,
): ListedPenalty {
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
    goneAt: readDate(row[at.goneAt]),
  };
}

function readDate(value: unknown): Date | null {
  return value === null ? null : new Date(String(value));
}

/** One penalty with its status at the time of the query, and what lists do not show. */
export type PenaltyDetails = {
  penalty: ListedPenalty & PenaltyOrigin;
  /** Null for none, and for one that is not known here. */
  server: Server | null;
};

/** A penalty by its id. */
export async function findPenalty(db: Reads, id: number, now: Date): Promise<PenaltyDetails | undefined> {
  const [row] = await db
    .select({ penalty: penalties, server: servers })
    .from(penalties)
    .leftJoin(servers, eq(servers.id, penalties.serverId))
    .where(eq(penalties.id, id));
  if (!row) return undefined;
  const { penalty, server } = row;
  return { penalty: { ...penalty, status: statusAt(penalty.status, penalty.endsAt, now) }, server };
}
