import { desc, eq, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Db } from '../../db/client.ts';
import { apiTokens, sessions, users } from '../../db/schema/accounts.ts';
import { auditLog } from '../../db/schema/audit-log.ts';
import { discordFeeds } from '../../db/schema/discord.ts';
import { penalties, penaltyTallies } from '../../db/schema/penalties.ts';
import { penaltyEvents } from '../../db/schema/penalty-events.ts';
import { playerNames } from '../../db/schema/player-names.ts';
import { roundSounds } from '../../db/schema/round-sounds.ts';
import { steamBans } from '../../db/schema/steam.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { type SteamId64, tryParseSteamId } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';
import { requireActor } from '../users/users.ts';
import { tallyCondition } from './anonymous-penalties.ts';
import { discordEntriesCondition, findDiscordIds } from './discord-ids.ts';
import { findErasure, holdOffErasures } from './tombstones.ts';

/** A person's data, part by part, in rows as the tables have them. */
export type PersonExport = NonNullable<Awaited<ReturnType<typeof findPerson>>> & {
  exportedAt: Date;
  steamId64: SteamId64;
};

/**
 * Everything that is stored about a player, as in the tables, except secrets (hashes of tokens and sessions) and data
 * about others. From one snapshot; written to the audit log.
 * @returns undefined when nothing is stored.
 * @throws {NotFound} when the acting user's account was deleted meanwhile.
 */
export async function exportPerson(
  db: Db,
  steamId64: SteamId64,
  { actor, now }: { actor: Actor; now: Date },
): Promise<PersonExport | undefined> {
  for (;;) {
    const data = await findPerson(db, steamId64);
    if (!data) return undefined;
    const isRecorded = await db.transaction(async (tx) => {
      await holdOffErasures(tx);
      // Erased since the snapshot: read again, and write no entry about them.
      const erasure = await findErasure(tx, steamId64);
      if (erasure?.erasedAt.getTime() !== data.erasure?.erasedAt.getTime()) return false;
      await requireActor(tx, actor);
      await recordAudit(tx, { actor, action: 'user.exported', subject: steamId64 });
      return true;
    });
    if (isRecorded) return { exportedAt: now, steamId64, ...data };
  }
}

function findPerson(db: Db, steamId64: SteamId64) {
  return db.transaction((tx) => readPerson(tx, steamId64), {
    isolationLevel: 'repeatable read',
    accessMode: 'read only',
  });
}

async function readPerson(db: Db, steamId64: SteamId64) {
  const [user] = await db.select().from(users).where(eq(users.steamId64, steamId64));
  const discordIds = await findDiscordIds(db, steamId64);
  const rows = {
    ...(await readAccount(db, user)),
    discordFeeds: await db.select().from(discordFeeds).where(inArray(discordFeeds.startedBy, discordIds)),
    sounds: await db.select().from(roundSounds).where(eq(roundSounds.steamId64, steamId64)),
    ...(await readPenalties(db, steamId64)),
    names: await db
      .select({
        steamId64: playerNames.steamId64,
        name: playerNames.name,
        isNickname: playerNames.isNickname,
        folded: playerNames.folded,
      })
      .from(playerNames)
      .where(eq(playerNames.steamId64, steamId64)),
    steamBans: await db.select().from(steamBans).where(eq(steamBans.steamId64, steamId64)),
    auditLog: (
      await db
        .select()
        .from(auditLog)
        .where(
          or(
            eq(auditLog.subject, steamId64),
            user && eq(auditLog.actorUserId, user.id),
            discordEntriesCondition(discordIds),
          ),
        )
        .orderBy(auditLog.id)
    ).map((entry) => withoutOthers(entry, { steamId64, userId: user?.id })),
  };
  const isKnown = user !== undefined || Object.values(rows).some((of) => of.length > 0);
  const erasure = (await findErasure(db, steamId64)) ?? null;
  return isKnown ? { account: user ?? null, ...rows, erasure } : undefined;
}

/**
 * What the person did to somebody else is their own data, but whom it concerned and how is not. Neither is who did
 * something to the person.
 */
function withoutOthers(
  entry: typeof auditLog.$inferSelect,
  { steamId64, userId }: { steamId64: SteamId64; userId: number | undefined },
) {
  const isOfAnother = entry.subject !== steamId64 && tryParseSteamId(entry.subject) !== undefined;
  const actorUserId = entry.actorUserId === userId ? entry.actorUserId : null;
  return { ...entry, actorUserId, ...(isOfAnother && { subject: '', details: {} }) };
}

async function readAccount(db: Db, user: typeof users.$inferSelect | undefined) {
  if (!user) return { tokens: [], sessions: [] };
  const tokens = await db.select().from(apiTokens).where(eq(apiTokens.userId, user.id));
  const signIns = await db.select().from(sessions).where(eq(sessions.userId, user.id));
  return {
    tokens: tokens.map(({ tokenHash: _, ...token }) => token),
    sessions: signIns.map(({ idHash: _, ...session }) => session),
  };
}

/** Their own penalties in full; of those they gave or lifted only what is not about others. */
async function readPenalties(db: Db, steamId64: SteamId64) {
  const given = (table: typeof penalties | typeof penaltyEvents) =>
    or(eq(table.adminSteamId, steamId64), eq(table.liftedBySteamId, steamId64));
  /** A column that is exported only where the player has that role. */
  const own = (column: PgColumn, role: PgColumn): SQL<string | null> =>
    sql`case when ${role} = ${steamId64} then ${column} end`;
  const roles = (table: typeof penalties | typeof penaltyEvents) => ({
    adminName: own(table.adminName, table.adminSteamId),
    adminSteamId: own(table.adminSteamId, table.adminSteamId),
    createdAt: table.createdAt,
    liftedByName: own(table.liftedByName, table.liftedBySteamId),
    liftedBySteamId: own(table.liftedBySteamId, table.liftedBySteamId),
    liftedAt: table.liftedAt,
  });
  const ofPlayer = await db
    .select()
    .from(penalties)
    .where(eq(penalties.playerSteamId, steamId64))
    .orderBy(desc(penalties.createdAt), desc(penalties.id));
  const events = await db
    .select()
    .from(penaltyEvents)
    .where(eq(penaltyEvents.playerSteamId, steamId64))
    .orderBy(penaltyEvents.id);
  /** Without the SteamID of who lifted it, which only operators may see; the name stays. */
  const withoutLifter = <P extends { liftedBySteamId: SteamId64 | null }>({
    liftedBySteamId,
    ...row
  }: P) => ({
    ...row,
    ...(liftedBySteamId === steamId64 && { liftedBySteamId }),
  });
  return {
    penalties: ofPlayer.map(withoutLifter),
    penaltiesGiven: await db
      .select({ id: penalties.id, type: penalties.type, ...roles(penalties) })
      .from(penalties)
      .where(given(penalties)),
    penaltyEvents: events.map(withoutLifter),
    penaltyEventsGiven: await db
      .select({
        id: penaltyEvents.id,
        type: penaltyEvents.type,
        occurredAt: penaltyEvents.occurredAt,
        penaltyId: penaltyEvents.penaltyId,
        penaltyType: penaltyEvents.penaltyType,
        ...roles(penaltyEvents),
      })
      .from(penaltyEvents)
      .where(given(penaltyEvents))
      .orderBy(penaltyEvents.id),
    penaltyTallies: await db.select().from(penaltyTallies).where(tallyCondition(steamId64)),
  };
}

/** Whether anything is stored about a player that an export would contain. */
export async function isPersonKnown(db: Db, steamId64: SteamId64): Promise<boolean> {
  const columns = [
    users.steamId64,
    roundSounds.steamId64,
    penalties.playerSteamId,
    penalties.adminSteamId,
    penalties.liftedBySteamId,
    penaltyEvents.playerSteamId,
    penaltyEvents.adminSteamId,
    penaltyEvents.liftedBySteamId,
    playerNames.steamId64,
    steamBans.steamId64,
    auditLog.subject,
  ];
  for (const column of columns) {
    const [row] = await db.select({ one: sql`1` }).from(column.table).where(eq(column, steamId64)).limit(1);
    if (row) return true;
  }
  const [tally] = await db
    .select({ one: sql`1` })
    .from(penaltyTallies)
    .where(tallyCondition(steamId64))
    .limit(1);
  return tally !== undefined;
}
