import { and, asc, desc, eq, getTableColumns, gte, inArray, or, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { type Db, inTransaction, openDrizzle, type Tx } from '../../db/client.ts';
import {
  apiTokens,
  auditLog,
  sessions,
  staffNotes,
  steamBans,
  userFlags,
  users,
} from '../../db/schema/accounts.ts';
import { appealMessages, appeals } from '../../db/schema/appeals.ts';
import {
  discordFeeds,
  discordMembers,
  discordNotifications,
  discordPenaltyNews,
  liveStatusMessages,
} from '../../db/schema/discord.ts';
import { pendingLifts } from '../../db/schema/lifts.ts';
import { penalties, penaltyEvents, penaltyTallies, playerNames } from '../../db/schema/penalties.ts';
import { roundSounds } from '../../db/schema/round-sounds.ts';
import { openSnapshot } from '../../db/snapshot.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { type SteamId64, tryParseSteamId } from '../../domain/steam-id.ts';
import { HOUR_MS } from '../../domain/time.ts';
import { listErasedAppeals } from '../appeals/limits.ts';
import { recordAudit } from '../audit-log.ts';
import { requireActor } from '../users/users.ts';
import { discordEntriesCondition, findDiscordIds, tallyCondition } from './erasure.ts';
import { findErasure, holdOffErasures } from './tombstones.ts';

/** A person's data as JSON, read only as fast as it is consumed. */
export type PersonExport = {
  chunks: AsyncGenerator<Uint8Array, void>;
  /** Closes the connection and the snapshot, even while a chunk is being read. */
  close: () => Promise<unknown>;
};

const ROWS_AT_ONCE = 500;

/**
 * Everything that is stored about a player, as in the tables, except secrets (hashes of tokens and sessions) and data
 * about others. From one snapshot, on a separate connection; written to the audit log.
 * @param databases.db for the entry in the audit log.
 * @returns undefined when nothing is stored.
 * @throws {NotFound} when the acting user's account was deleted meanwhile · {Unavailable} when the database is slow.
 */
export async function openPersonExport(
  { databaseUrl, db }: { databaseUrl: string; db: Db },
  steamId64: SteamId64,
  { actor, now }: { actor: Actor; now: Date },
): Promise<PersonExport | undefined> {
  const isKnown = await inTransaction(db, async (tx) => {
    await holdOffErasures(tx);
    if (!(await isPersonKnown(tx, steamId64))) return false;
    await requireActor(tx, actor);
    if (!(await hasRecentEntry(tx, { actor, subject: steamId64 }, now))) {
      await recordAudit(tx, { actor, action: 'user.exported', subject: steamId64 });
    }
    return true;
  });
  if (!isKnown) return undefined;
  // A user erased from here on is missing from the snapshot, and the entry no longer names them.
  const { value: snapshot, close } = await openSnapshot(databaseUrl, async (session) => openDrizzle(session));
  return { chunks: encode(formatParts(readParts(snapshot, steamId64, now))), close };
}

/** Whether the audit log has an entry for this download within an hour: repeated downloads get no further entries. */
async function hasRecentEntry(
  tx: Tx,
  { actor, subject }: { actor: Actor; subject: SteamId64 },
  now: Date,
): Promise<boolean> {
  if (typeof actor !== 'object' || !('userId' in actor)) return false;
  const entries = tx.$count(
    auditLog,
    and(
      eq(auditLog.action, 'user.exported'),
      eq(auditLog.subject, subject),
      eq(auditLog.actorUserId, actor.userId),
      gte(auditLog.at, new Date(now.getTime() - HOUR_MS)),
    ),
  );
  return (await entries) > 0;
}

/** A part of the export: a value, or rows in batches. */
type Part = [name: string, value: unknown | AsyncGenerator<unknown[], void>];

async function* readParts(db: Db, steamId64: SteamId64, now: Date): AsyncGenerator<Part, void> {
  const [user] = await db.select().from(users).where(eq(users.steamId64, steamId64));
  // No account has the id 0.
  const userId = user?.id ?? 0;
  const discordIds = await findDiscordIds(db, steamId64);
  const { tokenHash: _, ...tokenColumns } = getTableColumns(apiTokens);
  const { idHash: __, ...sessionColumns } = getTableColumns(sessions);
  const select = (table: PgTable, where: SQL | undefined, columns = getTableColumns(table)) =>
    db.select(columns).from(table).where(where);
  yield ['exportedAt', now];
  yield ['steamId64', steamId64];
  yield ['account', user ?? null];
  yield ['tokens', await select(apiTokens, eq(apiTokens.userId, userId), tokenColumns)];
  yield ['sessions', await select(sessions, eq(sessions.userId, userId), sessionColumns)];
  yield ['discordFeeds', await select(discordFeeds, inArray(discordFeeds.startedBy, discordIds))];
  yield [
    'liveStatusMessages',
    await select(liveStatusMessages, inArray(liveStatusMessages.pinnedBy, discordIds)),
  ];
  yield [
    'discordNotifications',
    await select(discordNotifications, inArray(discordNotifications.discordId, discordIds)),
  ];
  yield ['discordPenaltyNews', await select(discordPenaltyNews, eq(discordPenaltyNews.userId, userId))];
  yield ['discordMembers', await select(discordMembers, inArray(discordMembers.discordId, discordIds))];
  yield ['sounds', await select(roundSounds, eq(roundSounds.steamId64, steamId64))];
  yield* readPenalties(db, steamId64);
  const { steamId64: player, name, isNickname, folded } = playerNames;
  const names = { steamId64: player, name, isNickname, folded };
  yield ['names', await select(playerNames, eq(player, steamId64), names)];
  const { id, text, createdAt } = staffNotes;
  const isAboutThem = eq(staffNotes.steamId64, steamId64);
  yield [
    'staffNotes',
    await select(staffNotes, isAboutThem, { penaltyId: staffNotes.penaltyId, text, createdAt }).orderBy(id),
  ];
  // What they noted is about others.
  const isByThem = eq(staffNotes.authorUserId, userId);
  yield ['staffNotesWritten', await select(staffNotes, isByThem, { id, createdAt }).orderBy(id)];
  const { begunAt, outcome } = pendingLifts;
  yield ['pendingLifts', await select(pendingLifts, eq(pendingLifts.userId, userId), { begunAt, outcome })];
  const isTheirAppeal = eq(appeals.playerSteamId, steamId64);
  yield ['appeals', await select(appeals, isTheirAppeal).orderBy(appeals.id)];
  // Without who of the staff wrote them.
  const { authorUserId: ___, ...messageColumns } = getTableColumns(appealMessages);
  const ownAppeals = db.select({ id: appeals.id }).from(appeals).where(isTheirAppeal);
  yield [
    'appealMessages',
    await select(appealMessages, inArray(appealMessages.appealId, ownAppeals), messageColumns).orderBy(
      appealMessages.id,
    ),
  ];
  yield [
    'appealMessagesWritten',
    await select(appealMessages, eq(appealMessages.authorUserId, userId), {
      id: appealMessages.id,
      createdAt: appealMessages.createdAt,
    }).orderBy(appealMessages.id),
  ];
  yield ['userFlags', await select(userFlags, eq(userFlags.steamId64, steamId64))];
  yield ['steamBans', await select(steamBans, eq(steamBans.steamId64, steamId64))];
  const entries = or(
    eq(auditLog.subject, steamId64),
    eq(auditLog.actorUserId, userId),
    discordEntriesCondition(discordIds),
  );
  yield [
    'auditLog',
    readRows(db, { table: auditLog, where: entries }, (entry) => withoutOthers(entry, { steamId64, userId })),
  ];
  yield ['erasedAppeals', await listErasedAppeals(db, steamId64)];
  yield ['erasure', (await findErasure(db, steamId64)) ?? null];
}

type Row = Record<string, unknown>;

/** Rows in batches: ids from a cursor of the snapshot's transaction, then the rows of some hundred ids. */
async function* readRows(
  db: Db,
  {
    table,
    where,
    columns = getTableColumns(table),
    order = [asc(table.id)],
  }: {
    table: typeof penalties | typeof penaltyEvents | typeof auditLog;
    where: SQL | undefined;
    columns?: Record<string, PgColumn | SQL>;
    order?: SQL[];
  },
  toRecord = (row: Row): Row => row,
): AsyncGenerator<Row[], void> {
  const query = db
    .select({ id: table.id })
    .from(table)
    .where(where)
    .orderBy(...order);
  await db.execute(sql`declare ids no scroll cursor for ${query.getSQL()}`);
  for (;;) {
    const keys = await db.execute<{ id: string }>(sql.raw(`fetch ${ROWS_AT_ONCE} from ids`));
    if (keys.length === 0) break;
    const ids = keys.map(({ id }) => Number(id));
    const rows: Row[] = await db
      .select(columns)
      .from(table)
      .where(inArray(table.id, ids))
      .orderBy(...order);
    yield rows.map(toRecord);
  }
  await db.execute(sql`close ids`);
}

/**
 * What the person did to somebody else is their own data, but whom it concerned and how is not. Neither is who did
 * something to the person.
 */
function withoutOthers(entry: Row, { steamId64, userId }: { steamId64: SteamId64; userId: number }): Row {
  const isOfAnother = entry.subject !== steamId64 && tryParseSteamId(String(entry.subject)) !== undefined;
  const actorUserId = entry.actorUserId === userId ? userId : null;
  return { ...entry, actorUserId, ...(isOfAnother && { subject: '', details: {} }) };
}

/** The player's penalties in full; those they gave or lifted without the data about others. */
async function* readPenalties(db: Db, steamId64: SteamId64): AsyncGenerator<Part, void> {
  const isByThem = (table: typeof penalties | typeof penaltyEvents) =>
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
  const withoutLifter = ({ liftedBySteamId, ...row }: Row) => ({
    ...row,
    ...(liftedBySteamId === steamId64 && { liftedBySteamId }),
  });
  const isTheirs = eq(penalties.playerSteamId, steamId64);
  const order = [desc(penalties.createdAt), desc(penalties.id)];
  yield ['penalties', readRows(db, { table: penalties, where: isTheirs, order }, withoutLifter)];
  const columns = { id: penalties.id, type: penalties.type, ...roles(penalties) };
  yield ['penaltiesGiven', readRows(db, { table: penalties, where: isByThem(penalties), columns })];
  const isAboutThem = eq(penaltyEvents.playerSteamId, steamId64);
  // Only events about other subjects have data, which repeats rows that are exported from their own tables.
  const { data, ...shown } = getTableColumns(penaltyEvents);
  const about = { table: penaltyEvents, where: isAboutThem, columns: shown };
  yield ['penaltyEvents', readRows(db, about, withoutLifter)];
  const { id, type, occurredAt, penaltyId, penaltyType } = penaltyEvents;
  const eventColumns = { id, type, occurredAt, penaltyId, penaltyType, ...roles(penaltyEvents) };
  yield [
    'penaltyEventsGiven',
    readRows(db, { table: penaltyEvents, where: isByThem(penaltyEvents), columns: eventColumns }),
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

/** Where people are stored, apart from tallies, which only count what is in `penalties`. */
const PERSON_COLUMNS = [
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
  appeals.playerSteamId,
  auditLog.subject,
];

/** Whether anything is stored about a player that an export would contain. */
export async function isPersonKnown(db: Db | Tx, steamId64: SteamId64): Promise<boolean> {
  for (const column of PERSON_COLUMNS) {
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

const PEOPLE_AT_ONCE = 10_000;

/** Everybody about whom anything is stored, once each. */
export async function* listPeople(tx: Tx): AsyncGenerator<SteamId64[], void> {
  const ids = PERSON_COLUMNS.map((column) => sql`select ${column}::text as id from ${column.table}`);
  await tx.execute(sql`declare people no scroll cursor for ${sql.join(ids, sql` union `)}`);
  for (;;) {
    const rows = await tx.execute<{ id: string | null }>(sql.raw(`fetch ${PEOPLE_AT_ONCE} from people`));
    if (rows.length === 0) break;
    yield rows.flatMap(({ id }) => tryParseSteamId(id ?? '') ?? []);
  }
  await tx.execute(sql`close people`);
}
