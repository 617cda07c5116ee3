import { and, eq, inArray, isNotNull, ne, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { users } from '../../db/schema/accounts.ts';
import { auditLog } from '../../db/schema/audit-log.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';

/** The ids of the Discord accounts that a player has or had linked, except those that somebody else has linked now. */
export async function findDiscordIds(db: Db, steamId64: SteamId64): Promise<string[]> {
  const formerId = sql`${auditLog.details} ->> 'discordId'`;
  const found = await db.execute<{ id: string }>(sql`
    select ${users.discordId}::text as id from ${users} where ${eq(users.steamId64, steamId64)} and ${isNotNull(users.discordId)}
    union
    select ${formerId} from ${auditLog} where ${eq(auditLog.subject, steamId64)} and ${formerId} <> ''
    except
    select ${users.discordId}::text from ${users} where ${ne(users.steamId64, steamId64)}`);
  return found.map(({ id }) => id);
}

/** The entries about what members without a linked account did under one of these ids. */
export function discordEntriesCondition(discordIds: string[]): SQL | undefined {
  return and(
    eq(auditLog.actor, 'discord-member'),
    inArray(sql`${auditLog.details} ->> 'discordId'`, discordIds),
  );
}
