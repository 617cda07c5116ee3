import { desc, eq, inArray, or } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { apiTokens, sessions, users } from '../../db/schema/accounts.ts';
import { auditLog } from '../../db/schema/audit-log.ts';
import { discordFeeds } from '../../db/schema/discord.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { penaltyEvents } from '../../db/schema/penalty-events.ts';
import { playerNames } from '../../db/schema/player-names.ts';
import { roundSounds } from '../../db/schema/round-sounds.ts';
import { steamBans } from '../../db/schema/steam.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';

/**
 * Everything that is kept about a player, as it is in the tables, but for secrets (hashes of tokens and sessions) and for
 * what concerns others. From one snapshot; written to the audit log.
 * @returns undefined when nothing is kept.
 */
export async function exportPerson(
  db: Db,
  steamId64: SteamId64,
  { actor, now }: { actor: Actor; now: Date },
) {
  const data = await findPerson(db, steamId64);
  if (!data) return undefined;
  await recordAudit(db, { actor, action: 'user.exported', subject: steamId64 });
  return { exportedAt: now, steamId64, ...data };
}

/** The same, without an entry in the audit log. */
export function findPerson(db: Db, steamId64: SteamId64) {
  return db.transaction((tx) => readPerson(tx, steamId64), {
    isolationLevel: 'repeatable read',
    accessMode: 'read only',
  });
}

async function readPerson(db: Db, steamId64: SteamId64) {
  const [user] = await db.select().from(users).where(eq(users.steamId64, steamId64));
  const [tokens, signIns] = user ? await readAccount(db, user.id) : [[], []];
  const data = {
    account: user ?? null,
    tokens: tokens.map(({ tokenHash: _, ...token }) => token),
    sessions: signIns.map(({ idHash: _, ...session }) => session),
    sounds: await db.select().from(roundSounds).where(eq(roundSounds.steamId64, steamId64)),
    penalties: await db
      .select()
      .from(penalties)
      .where(eq(penalties.playerSteamId, steamId64))
      .orderBy(desc(penalties.createdAt), desc(penalties.id)),
    penaltiesGiven: await db
      .select({
        id: penalties.id,
        type: penalties.type,
        adminName: penalties.adminName,
        createdAt: penalties.createdAt,
        liftedByName: penalties.liftedByName,
        liftedAt: penalties.liftedAt,
      })
      .from(penalties)
      .where(or(eq(penalties.adminSteamId, steamId64), eq(penalties.liftedBySteamId, steamId64))),
    penaltyEvents: await db.select().from(penaltyEvents).where(eq(penaltyEvents.playerSteamId, steamId64)),
    names: await db
      .select({ name: playerNames.name, isNickname: playerNames.isNickname })
      .from(playerNames)
      .where(eq(playerNames.steamId64, steamId64)),
    steamBans: await db.select().from(steamBans).where(eq(steamBans.steamId64, steamId64)),
    discordFeeds: user?.discordId
      ? await db.select().from(discordFeeds).where(eq(discordFeeds.startedBy, user.discordId))
      : [],
    auditLog: await db
      .select()
      .from(auditLog)
      .where(
        or(
          eq(auditLog.subject, steamId64),
          inArray(
            auditLog.actorUserId,
            db.select({ id: users.id }).from(users).where(eq(users.steamId64, steamId64)),
          ),
        ),
      )
      .orderBy(auditLog.id),
  };
  const isKnown =
    user !== undefined || Object.values(data).some((rows) => Array.isArray(rows) && rows.length > 0);
  return isKnown ? data : undefined;
}

function readAccount(db: Db, userId: number) {
  return Promise.all([
    db.select().from(apiTokens).where(eq(apiTokens.userId, userId)),
    db.select().from(sessions).where(eq(sessions.userId, userId)),
  ]);
}
