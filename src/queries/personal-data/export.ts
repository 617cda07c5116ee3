import { asc, desc, eq, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { type Db, openDrizzle } from '../../db/client.ts';
import { apiTokens, sessions, staffNotes, steamBans, userFlags, users } from '../../db/schema/accounts.ts';
import { auditLog } from '../../db/schema/audit-log.ts';
import { discordFeeds, discordMembers } from '../../db/schema/discord.ts';
import { penalties, penaltyEvents, penaltyTallies, playerNames } from '../../db/schema/penalties.ts';
import { roundSounds } from '../../db/schema/round-sounds.ts';
import { openSnapshot } from '../../db/snapshot.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { type SteamId64, tryParseSteamId } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';
import { requireActor } from '../users/users.ts';
import { discordEntriesCondition, findDiscordIds, tallyCondition } from './erasure.ts';
import { findErasure, holdOffErasures } from './tombstones.ts';

/** A person's data as JSON, read only as fast as it is consumed. */
export type PersonExport = {
  chunks: AsyncGenerator<Uint8Array, void>;
  /** Closes the connection and the snapshot, even while a chunk is being read. */
  close: () => Promise<void>;
};

const ROWS_AT_ONCE = 500;

/**
 * Everything that is stored about a player, as in the tables, except secrets (hashes of tokens and sessions) and data
 * about others. From one snapshot, on a connection of its own; written to the audit log.
 * @param databases.db for the entry in the audit log.
 * @returns undefined when nothing is stored.
 * @throws {NotFound} when the acting user's account was deleted meanwhile · {Unavailable} when the database is slow.
 */
export async function openPersonExport(
  { databaseUrl, db }: { databaseUrl: string; db: Db },
  steamId64: SteamId64,
  { actor, now }: { actor: Actor; now: Date },
): Promise<PersonExport | undefined> {
  for (;;) {
    const { value, connection, close } = await openSnapshot(databaseUrl, async (session) => {
      const snapshot = openDrizzle(session);
      const isKnown = await isPersonKnown(snapshot, steamId64);
      return { isKnown, erasure: await findErasure(snapshot, steamId64) };
    });
    try {
      const isRecorded =
        value.isKnown && (await recordExport(db, steamId64, { actor, erasure: value.erasure }));
      if (isRecorded) {
        const parts = readParts(openDrizzle(connection), steamId64, now);
        return { chunks: encode(formatParts(parts)), close };
      }
    } catch (error) {
      await close();
      throw error;
    }
    await close();
    if (!value.isKnown) return undefined;
  }
}

/** @returns false when they were erased since the snapshot: it has to be read again, and there is no entry about them. */
async function recordExport(
  db: Db,
  steamId64: SteamId64,
  { actor, erasure }: { actor: Actor; erasure: Erasure | undefined },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    await holdOffErasures(tx);
    const latest = await findErasure(tx, steamId64);
    if (latest?.erasedAt.getTime() !== erasure?.erasedAt.getTime()) return false;
    await requireActor(tx, actor);
    await recordAudit(tx, { actor, action: 'user.exported', subject: steamId64 });
    return true;
  });
}

type Erasure = NonNullable<Awaited<ReturnType<typeof findErasure>>>;
type RowsTable = typeof penalties | typeof penaltyEvents | typeof auditLog;
/** A part of the export: a value, or rows in batches. */
type Part = [name: string, value: unknown | AsyncGenerator<unknown[], void>];

async function* readParts(db: Db, steamId64: SteamId64, now: Date): AsyncGenerator<Part, void> {
  const [user] = await db.select().from(users).where(eq(users.steamId64, steamId64));
  const discordIds = await findDiscordIds(db, steamId64);
  const { tokens, sessions } = await readAccount(db, user);
  yield ['exportedAt', now];
  yield ['steamId64', steamId64];
  yield ['account', user ?? null];
  yield ['tokens', tokens];
  yield ['sessions', sessions];
  yield [
    'discordFeeds',
    await db.select().from(discordFeeds).where(inArray(discordFeeds.startedBy, discordIds)),
  ];
  yield [
    'discordMembers',
    await db.select().from(discordMembers).where(inArray(discordMembers.discordId, discordIds)),
  ];
  yield ['sounds', await db.select().from(roundSounds).where(eq(roundSounds.steamId64, steamId64))];
  yield* readPenalties(db, steamId64);
  const { name, isNickname, folded } = playerNames;
  yield [
    'names',
    await db
      .select({ steamId64: playerNames.steamId64, name, isNickname, folded })
      .from(playerNames)
      .where(eq(playerNames.steamId64, steamId64)),
  ];
  yield [
    'staffNotes',
    await db
      .select({ text: staffNotes.text, createdAt: staffNotes.createdAt })
      .from(staffNotes)
      .where(eq(staffNotes.steamId64, steamId64))
      .orderBy(staffNotes.id),
  ];
  // What they noted is about others.
  yield [
    'staffNotesWritten',
    user
      ? await db
          .select({ id: staffNotes.id, createdAt: staffNotes.createdAt })
          .from(staffNotes)
          .where(eq(staffNotes.authorUserId, user.id))
          .orderBy(staffNotes.id)
      : [],
  ];
  yield ['userFlags', await db.select().from(userFlags).where(eq(userFlags.steamId64, steamId64))];
  yield ['steamBans', await db.select().from(steamBans).where(eq(steamBans.steamId64, steamId64))];
  const entries = or(
    eq(auditLog.subject, steamId64),
    user && eq(auditLog.actorUserId, user.id),
    discordEntriesCondition(discordIds),
  );
  yield [
    'auditLog',
    readRows(db, { table: auditLog, where: entries, order: [asc(auditLog.id)] }, async (ids) => {
      const rows = await db.select().from(auditLog).where(inArray(auditLog.id, ids)).orderBy(auditLog.id);
      return rows.map((entry) => withoutOthers(entry, { steamId64, userId: user?.id }));
    }),
  ];
  yield ['erasure', (await findErasure(db, steamId64)) ?? null];
}

/**
 * Rows in batches: ids from a cursor of the snapshot's transaction, then the rows of some hundred ids.
 * @param read returns the rows in the same order.
 */
async function* readRows<Row>(
  db: Db,
  { table, where, order }: { table: RowsTable; where: SQL | undefined; order: SQL[] },
  read: (ids: number[]) => Promise<Row[]>,
): AsyncGenerator<Row[], void> {
  const query = db
    .select({ id: table.id })
    .from(table)
    .where(where)
    .orderBy(...order);
  await db.execute(sql`declare ids no scroll cursor for ${query.getSQL()}`);
  for (;;) {
    const rows = await db.execute<{ id: string }>(sql.raw(`fetch ${ROWS_AT_ONCE} from ids`));
    if (rows.length === 0) break;
    yield await read(rows.map(({ id }) => Number(id)));
  }
  await db.execute(sql`close ids`);
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
async function* readPenalties(db: Db, steamId64: SteamId64): AsyncGenerator<Part, void> {
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
  /** Without the SteamID of who lifted it, which only operators may see; the name stays. */
  const withoutLifter = <P extends { liftedBySteamId: SteamId64 | null }>({
    liftedBySteamId,
    ...row
  }: P) => ({
    ...row,
    ...(liftedBySteamId === steamId64 && { liftedBySteamId }),
  });
  const newestFirst = [desc(penalties.createdAt), desc(penalties.id)];
  const ofPlayer = eq(penalties.playerSteamId, steamId64);
  yield [
    'penalties',
    readRows(db, { table: penalties, where: ofPlayer, order: newestFirst }, async (ids) => {
      const rows = await db
        .select()
        .from(penalties)
        .where(inArray(penalties.id, ids))
        .orderBy(...newestFirst);
      return rows.map(withoutLifter);
    }),
  ];
  yield [
    'penaltiesGiven',
    readRows(db, { table: penalties, where: given(penalties), order: [asc(penalties.id)] }, (ids) =>
      db
        .select({ id: penalties.id, type: penalties.type, ...roles(penalties) })
        .from(penalties)
        .where(inArray(penalties.id, ids))
        .orderBy(penalties.id),
    ),
  ];
  const { id, type, occurredAt, penaltyId, penaltyType } = penaltyEvents;
  const eventsOfPlayer = eq(penaltyEvents.playerSteamId, steamId64);
  yield [
    'penaltyEvents',
    readRows(db, { table: penaltyEvents, where: eventsOfPlayer, order: [asc(id)] }, async (ids) => {
      const rows = await db.select().from(penaltyEvents).where(inArray(id, ids)).orderBy(id);
      return rows.map(withoutLifter);
    }),
  ];
  yield [
    'penaltyEventsGiven',
    readRows(db, { table: penaltyEvents, where: given(penaltyEvents), order: [asc(id)] }, (ids) =>
      db
        .select({ id, type, occurredAt, penaltyId, penaltyType, ...roles(penaltyEvents) })
        .from(penaltyEvents)
        .where(inArray(id, ids))
        .orderBy(id),
    ),
  ];
  yield ['penaltyTallies', await db.select().from(penaltyTallies).where(tallyCondition(steamId64))];
}

/** The same text as `JSON.stringify` of an object of all parts makes with an indentation of two. */
async function* formatParts(parts: AsyncIterable<Part>): AsyncGenerator<string, void> {
  let separator = '{';
  for await (const [name, value] of parts) {
    yield `${separator}\n  ${JSON.stringify(name)}: `;
    separator = ',';
    if (isBatches(value)) yield* formatBatches(value);
    else yield format(value, 2);
  }
  yield '\n}';
}

async function* formatBatches(batches: AsyncIterable<unknown[]>): AsyncGenerator<string, void> {
  let separator = '[';
  for await (const rows of batches) {
    yield rows.map((row, index) => `${index === 0 ? separator : ','}\n    ${format(row, 4)}`).join('');
    separator = ',';
  }
  yield separator === '[' ? '[]' : '\n  ]';
}

function format(value: unknown, indentation: number): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${' '.repeat(indentation)}`);
}

function isBatches(value: unknown): value is AsyncIterable<unknown[]> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

async function* encode(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  for await (const text of texts) yield encoder.encode(text);
}

/** Whether anything is stored about a player that an export would contain. */
export async function isPersonKnown(db: Db, steamId64: SteamId64): Promise<boolean> {
  const columns = [
    users.steamId64,
    userFlags.steamId64,
    roundSounds.steamId64,
    penalties.playerSteamId,
    penalties.adminSteamId,
    penalties.liftedBySteamId,
    penaltyEvents.playerSteamId,
    penaltyEvents.adminSteamId,
    penaltyEvents.liftedBySteamId,
    playerNames.steamId64,
    steamBans.steamId64,
    staffNotes.steamId64,
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
