import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { getTableColumns, getTableName, is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import {
  apiTokens,
  auditLog,
  erasedPeople,
  sessions,
  staffNotes,
  steamBans,
  userFlags,
  users,
} from '../../../../src/db/schema/accounts.ts';
import { appealMessages, appeals, erasedAppeals } from '../../../../src/db/schema/appeals.ts';
import {
  discordFeeds,
  discordMembers,
  discordNotifications,
  discordPenaltyNews,
  liveStatusMessages,
} from '../../../../src/db/schema/discord.ts';
import { pendingLifts } from '../../../../src/db/schema/lifts.ts';
import {
  penalties,
  penaltyEvents,
  penaltyTallies,
  playerNames,
} from '../../../../src/db/schema/penalties.ts';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import { openPersonExport } from '../../../../src/queries/personal-data/export.ts';
import { blockUser } from '../../../../src/queries/users/users.ts';
import {
  aSteamId,
  erase,
  insertPenalties,
  insertReadySound,
  insertUser,
} from '../../../support/database/builders.ts';
import { createTestDatabase, urlOf } from '../../../support/database/database.ts';
import { aPerson, insertEverythingAbout } from '../../../support/database/everything-about.ts';
import { readPerson } from '../../../support/database/person-export.ts';

const { db, connection } = await createTestDatabase();
const { id: ID, name: NAME } = aPerson(1);
const now = new Date();

/** The part of the file that holds each table that docs/privacy.md has a section or paragraph about. */
const PARTS = {
  account: users,
  tokens: apiTokens,
  sessions,
  sounds: roundSounds,
  penalties,
  penaltyEvents,
  penaltyTallies,
  names: playerNames,
  staffNotes,
  appeals,
  appealMessages,
  pendingLifts,
  steamBans,
  userFlags,
  discordFeeds,
  discordMembers,
  discordNotifications,
  discordPenaltyNews,
  liveStatusMessages,
  auditLog,
  erasure: erasedPeople,
  erasedAppeals,
} as const satisfies Record<string, PgTable>;

/** Columns left out: secrets, those derived from others, and those that identify nobody. */
const LEFT_OUT = [
  'api_tokens.token_hash',
  'sessions.id_hash',
  'player_names.grams',
  // Of events of other subjects, which repeat rows of their own tables.
  'penalty_events.data',
  'erased_people.id_hash',
  'erased_people.secret_id',
  'erased_appeals.id',
  'erased_appeals.id_hash',
  'staff_notes.id',
  'staff_notes.steamid64',
  'staff_notes.author_user_id',
  'appeal_messages.author_user_id',
  'pending_lifts.penalty_id',
  'pending_lifts.user_id',
  'pending_lifts.reason',
];
/** Tables that identify nobody: names without SteamIDs until the next poll, and one-time values. */
const ABOUT_NOBODY = ['server_snapshots', 'used_nonces'];

await db.insert(appeals).values({ penaltyId: 1, playerSteamId: ID, openedAt: now, wantsMessages: false });
await erase(db, ID, { withPenalties: true });
const user = await insertEverythingAbout(db, aPerson(1));
await insertReadySound(db, ID);
await db.insert(discordMembers).values({ discordId: aPerson(1).discordId, roles: ['1'], readAt: now });
await insertUser(db, 9);
await blockUser(db, aSteamId(9), { reason: 'about them', now, actor: { userId: user.id } });
const admin = await insertUser(db, 10, { isAdmin: true });
await blockUser(db, ID, { reason: 'about me', now, actor: { userId: admin.id } });
const LIFTED = { status: 'UNBANNED', liftedAt: now } as const;
const BY_BASIA = { ...LIFTED, liftedByName: 'Basia', liftedBySteamId: aSteamId(900) };
await insertPenalties(db, [
  // They lifted it themselves, so the lifter's SteamID is their own and may be shown.
  { playerSteamId: ID, ...LIFTED, liftedByName: NAME, liftedBySteamId: ID },
  { playerSteamId: ID, ...BY_BASIA },
  { playerSteamId: aSteamId(7), adminSteamId: ID, adminName: NAME, ...BY_BASIA },
]);

await readPerson(db, ID, { actor: 'operator', now });
const data = await readPerson(db, ID, { actor: 'operator', now });
type Entry = { action: string; subject: string; actorUserId: number | null };
const entries: Entry[] = data.auditLog;

test('every stored field about a person is in the file of their data', () => {
  const missing = Object.entries(PARTS).flatMap(([part, table]) => {
    const rows = [data[part]].flat();
    expect([part, rows.length > 0 && rows[0] !== null]).toEqual([part, true]);
    return Object.entries(getTableColumns(table))
      .filter(([property]) => !rows.some((row) => property in row))
      .map(([, column]) => `${getTableName(table)}.${column.name}`);
  });
  expect(missing.sort()).toEqual(LEFT_OUT.toSorted());
});

test('the export has what a person did to others without whom and how', () => {
  const entry = entries.find(({ action }) => action === 'user.blocked');
  expect(entry).toMatchObject({ subject: '', details: {} });
  expect(JSON.stringify(data)).not.toContain(aSteamId(9));
});

test('the export has what others did to a person without who did it', () => {
  const entry = entries.find(({ action, subject }) => action === 'user.blocked' && subject === ID);
  expect(entry).toMatchObject({ actorUserId: null, details: { reason: 'about me' } });
  const actors = new Set(entries.map(({ actorUserId }) => actorUserId));
  expect([...actors].filter((actor) => actor !== null)).toEqual([user.id]);
});

test('the export of a player without an account has nothing of the first account', async () => {
  expect(user.id).toBe(1);
  await insertPenalties(db, [{ playerSteamId: aSteamId(60) }]);
  const { account, tokens, sessions, staffNotes, appealMessages, auditLog } = await readPerson(
    db,
    aSteamId(60),
    { actor: 'operator', now },
  );
  expect([account, tokens, sessions, staffNotes, appealMessages]).toEqual([null, [], [], [], []]);
  expect(auditLog).toMatchObject([{ action: 'user.exported' }]);
});

test('many rows are in it in order, formatted as few are', async () => {
  const admin = aSteamId(50);
  const given = { playerSteamId: aSteamId(51), adminSteamId: admin };
  await insertPenalties(db, Array(1201).fill(given));
  const opened = await openPersonExport({ databaseUrl: urlOf(db), db }, admin, { actor: 'operator', now });
  const text = Buffer.concat(await Array.fromAsync(opened?.chunks ?? [])).toString();
  await opened?.close();
  const { penaltiesGiven, penalties: received } = JSON.parse(text);
  expect(text).toBe(JSON.stringify(JSON.parse(text), null, 2));
  const ids = penaltiesGiven.map(({ id }: { id: number }) => id);
  expect([ids.length, ids, received]).toEqual([1201, ids.toSorted((a: number, b: number) => a - b), []]);
});

test('every table that docs/privacy.md describes is part of the file', async () => {
  const page = readFileSync('docs/privacy.md', 'utf8');
  const [, notAboutPeople = ''] = page.split('## Not about people');
  const [listed = ''] = notAboutPeople.split('\n## ');
  const tables = await connection<{ name: string }[]>`
    select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`;
  const parts: string[] = Object.values(PARTS)
    .filter((table) => is(table, PgTable))
    .map(getTableName);
  const missing = tables
    .map(({ name }) => name)
    .filter(
      (name) => !listed.includes(`\`${name}\``) && !ABOUT_NOBODY.includes(name) && !parts.includes(name),
    );
  expect(missing).toEqual([]);
});

test('the export of an admin has only their part of penalties that they gave or lifted, and of the events', () => {
  const given = { adminName: NAME, adminSteamId: ID, liftedByName: null, liftedBySteamId: null };
  const lifted = { adminName: null, adminSteamId: null, liftedByName: NAME, liftedBySteamId: ID };
  const roles = [given, lifted, lifted, given];
  expect(data.penaltiesGiven).toMatchObject(roles);
  expect(data.penaltyEventsGiven).toMatchObject(roles.map((role) => ({ ...role, type: 'penalty.created' })));
  for (const id of [7, 777, 778, 900])
    expect(JSON.stringify([data.penaltiesGiven, data.penaltyEventsGiven])).not.toContain(aSteamId(id));
  // Their penalties name who lifted them, as on the account page, but without the SteamID.
  expect(data.penalties.map((row: object) => 'liftedBySteamId' in row).sort()).toEqual([false, false, true]);
  expect(data.penaltyTallies.length).toBeGreaterThan(2);
  expect(data.penaltyTallies.every((row: { adminSteamId: string }) => row.adminSteamId === ID)).toBe(true);
});
