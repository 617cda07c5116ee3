import { and, eq, gt, inArray, isNotNull, isNull, lte, notExists, or, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../../db/client.ts';
import { users } from '../../db/schema/accounts.ts';
import { appeals } from '../../db/schema/appeals.ts';
import { discordPenaltyNews } from '../../db/schema/discord.ts';
import { penaltyEvents } from '../../db/schema/penalties.ts';
import { servers } from '../../db/schema/servers.ts';
import { NotFound } from '../../domain/errors.ts';
import type { Language } from '../../domain/language.ts';
import { type PenaltyEvent, readEventLog, toPenaltyEvent } from '../events.ts';
import { shownNameOf } from '../servers/servers.ts';
import { lockUser, type User } from '../users/users.ts';

/** What happened to a penalty, as reported to its player. */
type PenaltyFact = 'begun' | 'lifted' | 'ended';

/** An event to report to the player of its penalty. */
export type PenaltyNews = {
  fact: PenaltyFact;
  event: PenaltyEvent;
  serverName: string | undefined;
  userId: number;
  discordId: string;
  language: Language;
};

/** Older events are not reported. */
const TOLD_WITHIN = sql`interval '1 hour'`;
/** A penalty in force that is removed at its source, or deleted here, counts as lifted. */
const FACTS: Readonly<Record<string, PenaltyFact>> = {
  'penalty.created': 'begun',
  'penalty.lifted': 'lifted',
  'penalty.removed': 'lifted',
  'penalty.expired': 'ended',
};

/** `on`: somebody gets messages about their penalties; `closed`: they did until their inbox was closed; undefined: neither. */
export async function findPenaltyNewsState(db: Db, userId: number): Promise<'on' | 'closed' | undefined> {
  const [row] = await db.select().from(discordPenaltyNews).where(eq(discordPenaltyNews.userId, userId));
  return row && (row.endedAt === null ? 'on' : 'closed');
}

/**
 * Begins or ends the messages to a person about their penalties.
 * @param language undefined: ends it.
 * @throws {NotFound} when they have no linked Discord account.
 */
export async function setPenaltyNews(
  db: Db,
  { steamId64 }: Pick<User, 'steamId64'>,
  language: Language | undefined,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const { id: userId, discordId } = await lockUser(tx, steamId64);
    if (language === undefined) {
      await tx.delete(discordPenaltyNews).where(eq(discordPenaltyNews.userId, userId));
      return;
    }
    if (discordId === null) throw new NotFound('no linked Discord account');
    const { newestId: upToEvent } = await readEventLog(tx);
    const values = { userId, language, upToEvent, endedAt: null };
    await tx
      .insert(discordPenaltyNews)
      .values(values)
      .onConflictDoUpdate({ target: discordPenaltyNews.userId, set: values });
  });
}

/** The newest event that is too old to be reported: later searches start after it. */
export async function findNewestOutdatedEvent(db: Db, now: Date): Promise<number> {
  const isOld = lte(penaltyEvents.occurredAt, sql`${now.toISOString()}::timestamptz - ${TOLD_WITHIN}`);
  const [row] = await db
    .select({ id: penaltyEvents.id })
    .from(penaltyEvents)
    .where(isOld)
    .orderBy(sql`${penaltyEvents.id} desc`)
    .limit(1);
  return row?.id ?? 0;
}

/** `takesAppeals`: appeals are switched on, so messages about them may already report how a penalty ended. */
type Options = { now: Date; takesAppeals: boolean };

/** The oldest unreported event of each person. @param afterId a lower bound of events. */
export function listPenaltyNews(db: Db, afterId: number, options: Options): Promise<PenaltyNews[]> {
  return select(db, gt(penaltyEvents.id, afterId), options);
}

/** A listed event, read again; undefined if it is no longer to be reported. */
export async function findPenaltyNews(
  db: Db,
  { event, userId }: PenaltyNews,
  options: Options,
): Promise<PenaltyNews | undefined> {
  const [news] = await select(db, and(eq(penaltyEvents.id, event.id), eq(users.id, userId)), options);
  return news;
}

async function select(
  db: Db,
  where: SQL | undefined,
  { now, takesAppeals }: Options,
): Promise<PenaltyNews[]> {
  const since = sql`${now.toISOString()}::timestamptz - ${TOLD_WITHIN}`;
  const rows = await db
    .select({
      event: penaltyEvents,
      server: { name: servers.name, slug: servers.slug },
      userId: users.id,
      discordId: users.discordId,
      language: discordPenaltyNews.language,
    })
    .from(penaltyEvents)
    .innerJoin(users, eq(users.steamId64, penaltyEvents.playerSteamId))
    .innerJoin(discordPenaltyNews, eq(discordPenaltyNews.userId, users.id))
    .leftJoin(servers, eq(servers.id, penaltyEvents.serverId))
    .where(
      and(
        where,
        isNotNull(users.discordId),
        isNull(discordPenaltyNews.endedAt),
        gt(penaltyEvents.id, discordPenaltyNews.upToEvent),
        eq(penaltyEvents.isSilent, false),
        isToBeTold(since),
        takesAppeals ? isNotToldByAppeal(db, since) : undefined,
      ),
    )
    .orderBy(penaltyEvents.id);
  const people = new Set<number>();
  return rows.flatMap(({ event, server, discordId, ...row }) => {
    const fact = FACTS[event.type];
    if (fact === undefined || discordId === null || people.has(row.userId)) return [];
    people.add(row.userId);
    const serverName = server ? shownNameOf(server) : undefined;
    return [{ ...row, fact, event: toPenaltyEvent(event), serverName, discordId }];
  });
}

/** Whether an event is one of {@link FACTS} that happened after a time. */
function isToBeTold(since: SQL): SQL | undefined {
  const { type, status, createdAt, liftedAt, endsAt, occurredAt } = penaltyEvents;
  const isAfter = (at: SQL) => sql`${at} > ${since}`;
  // A penalty that had already ended or been lifted keeps its status when it is removed.
  const isLiftedByRemoval = or(
    eq(status, 'ACTIVE'),
    and(eq(status, 'UNBANNED'), sql`${liftedAt} > ${occurredAt} - interval '1 minute'`),
  );
  return or(
    and(eq(type, 'penalty.created'), eq(status, 'ACTIVE'), gt(createdAt, since)),
    and(eq(type, 'penalty.lifted'), isAfter(sql`coalesce(${liftedAt}, ${occurredAt})`)),
    and(eq(type, 'penalty.removed'), isLiftedByRemoval, gt(occurredAt, since)),
    and(eq(type, 'penalty.expired'), isAfter(sql`coalesce(${endsAt}, ${occurredAt})`)),
  );
}

/** Whether no message about an appeal reports the end of the penalty, which closes or carries out that appeal. */
function isNotToldByAppeal(db: Db, since: SQL): SQL | undefined {
  const { type, penaltyType, endsAt, occurredAt } = penaltyEvents;
  // As in `settling.ts`, a warning that expires before its end was lifted.
  const isLiftedWarning = and(
    eq(type, 'penalty.expired'),
    eq(penaltyType, 'warn'),
    sql`(${endsAt} is null or ${endsAt} > ${occurredAt} + interval '1 minute')`,
  );
  const isLifted = or(inArray(type, ['penalty.lifted', 'penalty.removed']), isLiftedWarning);
  const tellsEnd = or(
    eq(appeals.state, 'undecided'),
    and(
      eq(appeals.state, 'closed'),
      gt(appeals.decidedAt, since),
      inArray(appeals.ending, ['lifted', 'removed', 'expired']),
    ),
    and(eq(appeals.state, 'accepted'), isLifted),
  );
  const told = db
    .select({ id: appeals.id })
    .from(appeals)
    .where(
      and(
        eq(appeals.penaltyId, penaltyEvents.penaltyId),
        eq(appeals.playerSteamId, penaltyEvents.playerSteamId),
        eq(appeals.wantsMessages, true),
        tellsEnd,
      ),
    );
  return or(eq(type, 'penalty.created'), notExists(told));
}

/** Records that an event was reported to a person. */
export async function finishPenaltyNews(db: Db, { userId, event }: PenaltyNews): Promise<void> {
  await db
    .update(discordPenaltyNews)
    .set({ upToEvent: sql`greatest(${discordPenaltyNews.upToEvent}, ${event.id})` })
    .where(eq(discordPenaltyNews.userId, userId));
}

/** Ends the messages to somebody who accepts none from the bot. */
export async function closePenaltyNews(db: Db, { userId }: PenaltyNews, endedAt: Date): Promise<void> {
  await db.update(discordPenaltyNews).set({ endedAt }).where(eq(discordPenaltyNews.userId, userId));
}
