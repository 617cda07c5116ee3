import { and, desc, eq, max, ne, sql } from 'drizzle-orm';
import { type Db, prepareOnce } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { servers } from '../../db/schema/servers.ts';
import type { PenaltyOrigin } from '../../domain/panel.ts';
import { byPenaltyType, type PenaltyStatus, type PenaltyType } from '../../domain/penalty.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { shownNameOf } from '../servers/servers.ts';
import { type PenaltyCounts, statusSql } from './filter.ts';
import type { Penalty } from './row.ts';

/** A penalty with the name of its server; null: it applies to all servers, or the server is unknown. */
export type RecordedPenalty = Penalty &
  PenaltyOrigin &
  Pick<typeof penalties.$inferSelect, 'goneAt'> & { serverName: string | null };

export type PlayerRecord = {
  /** One page: active penalties first, then the others, each newest first. With their status at `now`. */
  rows: RecordedPenalty[];
  /** The page: the requested one, or the last one if there are fewer. From 1. */
  page: number;
  lastPage: number;
  /** Of the filter. */
  total: number;
  /** Of the whole record, whatever the filter. */
  counts: PenaltyCounts;
  active: PenaltyCounts;
  /** Active penalties of the whole record, the newest first, at most {@link MAX_ACTIVE}. */
  activeRows: RecordedPenalty[];
  /** The name on the newest penalty. */
  playerName: string | undefined;
};

type Options = {
  type?: PenaltyType | undefined;
  status?: PenaltyStatus | undefined;
  page: number;
  perPage: number;
  now: Date;
};

/** More than any player has, permanent warnings of many years included; callers choose from them in memory. */
const MAX_ACTIVE = 1000;

/** A player's whole record for moderators; every status is computed at `now`. */
export async function loadPlayerRecord(
  db: Db,
  playerSteamId: SteamId64,
  { type, status, page, perPage, now }: Options,
): Promise<PlayerRecord> {
  const subject = { player: playerSteamId, now: now.toISOString() };
  const groups = await countGroups(db).execute(subject);
  const sumOf = (belongs: (group: (typeof groups)[number]) => boolean) =>
    groups.filter(belongs).reduce((sum, group) => sum + group.amount, 0);
  const byType = (belongs: (group: (typeof groups)[number]) => boolean) =>
    byPenaltyType((type) => sumOf((group) => group.type === type && belongs(group)));
  const total = sumOf(
    (group) =>
      (type === undefined || group.type === type) && (status === undefined || group.status === status),
  );
  const lastPage = Math.max(1, Math.ceil(total / perPage));
  const shownPage = Math.min(Math.max(1, page), lastPage);
  const offset = (shownPage - 1) * perPage;
  const select = async (part: {
    type: PenaltyType | null;
    status: PenaltyStatus | null;
    limit: number;
    offset: number;
  }) =>
    (await pageRows(db).execute({ ...subject, ...part })).map(({ penalty, server, effective }) => ({
      ...penalty,
      status: effective,
      serverName: server && shownNameOf(server),
    }));
  const active = byType((group) => group.status === 'ACTIVE');
  const hasActive = Object.values(active).some((amount) => amount > 0);
  const [rows, activeRows] = await Promise.all([
    total === 0 ? [] : select({ type: type ?? null, status: status ?? null, limit: perPage, offset }),
    hasActive ? select({ type: null, status: 'ACTIVE', limit: MAX_ACTIVE, offset: 0 }) : [],
  ]);
  const newestGroup = groups.toSorted((a, b) => b.newestAt.getTime() - a.newestAt.getTime())[0];
  return {
    rows,
    activeRows,
    page: shownPage,
    lastPage,
    total,
    counts: byType(() => true),
    active,
    playerName: newestGroup?.name || undefined,
  };
}

const EFFECTIVE_STATUS = statusSql(sql`${sql.placeholder('now')}::timestamptz`);

const countGroups = prepareOnce('record_counts', (db) =>
  db
    .select({
      type: penalties.type,
      status: EFFECTIVE_STATUS.as('effective'),
      amount: sql<number>`count(*)`.mapWith(Number),
      newestAt: sql<Date>`max(${penalties.createdAt})`.mapWith((value: string) => new Date(value)),
      name: sql<string>`(array_agg(${penalties.playerName} order by ${penalties.createdAt} desc, ${penalties.id} desc))[1]`,
    })
    .from(penalties)
    .where(eq(penalties.playerSteamId, sql.placeholder('player')))
    .groupBy(sql`1`, sql`2`),
);

const pageRows = prepareOnce('record_page', (db) =>
  db
    .select({
      penalty: penalties,
      server: { name: servers.name, slug: servers.slug },
      effective: EFFECTIVE_STATUS,
    })
    .from(penalties)
    .leftJoin(servers, eq(servers.id, penalties.serverId))
    .where(
      and(
        eq(penalties.playerSteamId, sql.placeholder('player')),
        sql`(${sql.placeholder('type')}::text is null or ${penalties.type} = ${sql.placeholder('type')}::penalty_type)`,
        sql`(${sql.placeholder('status')}::text is null or ${EFFECTIVE_STATUS} = ${sql.placeholder('status')}::penalty_status)`,
      ),
    )
    .orderBy(sql`${EFFECTIVE_STATUS} <> 'ACTIVE'`, desc(penalties.createdAt), desc(penalties.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
);

/** The different names in a player's penalties, the most recent one first. */
export async function listNamesInPenalties(
  db: Db,
  playerSteamId: SteamId64,
  { limit }: { limit: number },
): Promise<string[]> {
  const { playerName, createdAt } = penalties;
  const rows = await db
    .select({ name: playerName })
    .from(penalties)
    .where(and(eq(penalties.playerSteamId, playerSteamId), ne(playerName, '')))
    .groupBy(playerName)
    .orderBy(desc(max(createdAt)), playerName)
    .limit(limit);
  return rows.map(({ name }) => name);
}
