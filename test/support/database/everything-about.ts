import { type Db, inTransaction } from '../../../src/db/client.ts';
import { auditLog, sessions, staffNotes, steamBans } from '../../../src/db/schema/accounts.ts';
import { appealMessages, appeals } from '../../../src/db/schema/appeals.ts';
import {
  discordFeeds,
  discordNotifications,
  discordPenaltyNews,
  liveStatusMessages,
} from '../../../src/db/schema/discord.ts';
import { pendingLifts } from '../../../src/db/schema/lifts.ts';
import { recordAudit } from '../../../src/queries/audit-log.ts';
import { createApiToken } from '../../../src/queries/users/api-tokens.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from './builders.ts';

/** What identifies the player {@link aSteamId} of `number` in rows and files. */
export function aPerson(number: number) {
  return {
    number,
    id: aSteamId(number),
    name: `Ksywka${number}x`,
    discordId: `8035111022467${8000 + number}`,
  };
}
export type Person = ReturnType<typeof aPerson>;

/** A penalty of the player, one they gave and one they lifted, in this order. */
export async function insertRecordOf(db: Db, { number, id, name }: Person) {
  const createdAt = new Date();
  const lift = { status: 'UNBANNED', liftedAt: createdAt, liftedBySteamId: id, liftedByName: name } as const;
  return insertPenalties(db, [
    { createdAt, playerSteamId: id, playerName: name, reason: `Wallhack ${number}` },
    { createdAt, playerSteamId: aSteamId(777), adminSteamId: id, adminName: name },
    { createdAt, playerSteamId: aSteamId(778), ...lift },
  ]);
}

/** A row in every table that can name a player, apart from those of sounds. */
export async function insertEverythingAbout(db: Db, person: Person) {
  const { id, name, discordId } = person;
  const now = new Date();
  const about = { steamId64: id, createdAt: now };
  const user = await insertUser(db, person.number, {
    nickname: name,
    discordId,
    discordUsername: name,
    isAdmin: true,
  });
  const actor = { userId: user.id };
  await inTransaction(db, (tx) => createApiToken(tx, user.id, { name: 'test', now, actor }));
  await db.insert(sessions).values({ idHash: `hash of ${id}`, userId: user.id, expiresAt: now });
  const [penalty] = await insertRecordOf(db, person);
  await db.insert(steamBans).values({
    steamId64: id,
    vacBans: 1,
    gameBans: 0,
    daysSinceLastBan: 3,
    isCommunityBanned: false,
    checkedAt: now,
  });
  await db.insert(staffNotes).values({ ...about, text: `about ${name}` });
  const [appeal] = await db
    .insert(appeals)
    .values({
      penaltyId: penalty?.id ?? 0,
      playerSteamId: id,
      openedAt: now,
      waitingSince: now,
      wantsMessages: false,
    })
    .returning();
  const message = { appealId: appeal?.id ?? 0, kind: 'opened', text: `by ${name}`, createdAt: now } as const;
  await db.insert(appealMessages).values(message);
  await db
    .insert(pendingLifts)
    .values({ penaltyId: penalty?.id ?? 0, userId: user.id, reason: 'x', begunAt: now });
  const { id: serverId } = await insertServer(db);
  const onDiscord = { discordId, locale: 'pl' };
  await db.insert(discordNotifications).values({ ...onDiscord, serverId, playersAtLeast: 10, isArmed: true });
  await db.insert(discordPenaltyNews).values({ userId: user.id, language: 'pl', upToEvent: 0, endedAt: now });
  const feed = {
    subject: 'penalties',
    channelId: String(person.number),
    guildId: '1',
    locale: 'pl',
  } as const;
  await db.insert(discordFeeds).values({ ...feed, startedBy: discordId, epoch: 'x', cursor: 0 });
  const place = { messageId: String(person.number), channelId: '1', locale: 'pl' };
  await db.insert(liveStatusMessages).values({ ...place, pinnedBy: discordId });
  const linked = { discordId, username: name };
  await inTransaction(db, (tx) =>
    recordAudit(tx, { actor, action: 'discord.linked', subject: id, details: linked }),
  );
  await inTransaction(db, (tx) =>
    recordAudit(tx, { actor, action: 'feed.started', subject: '#1', details: { feed: 'penalties' } }),
  );
  // Without a linked account.
  const details = { feed: 'penalties', discordId };
  await db
    .insert(auditLog)
    .values({ actor: 'discord-member', action: 'feed.stopped', subject: '#1', details });
  return user;
}
