import { beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { eq, isNotNull, sql } from 'drizzle-orm';
import { storeUpload } from '../../../../media/uploads.ts';
import { inTransaction, type Tx } from '../../../../src/db/client.ts';
import {
  apiTokens,
  auditLog,
  erasedPeople,
  sessions,
  steamBans,
  users,
} from '../../../../src/db/schema/accounts.ts';
import { discordFeeds } from '../../../../src/db/schema/discord.ts';
import { pendingLifts } from '../../../../src/db/schema/lifts.ts';
import { penalties, penaltyEvents, penaltyTallies } from '../../../../src/db/schema/penalties.ts';
import { NotFound } from '../../../../src/domain/errors.ts';
import { importNdjson } from '../../../../src/import/ndjson/ndjson.ts';
import { recordEvent } from '../../../../src/queries/events.ts';
import { finishLift, settleLifts } from '../../../../src/queries/penalties/lifts.ts';
import { writePenalties } from '../../../../src/queries/penalties/write.ts';
import { erasePerson, erasePersonWithin } from '../../../../src/queries/personal-data/erasure.ts';
import { isPersonKnown } from '../../../../src/queries/personal-data/export.ts';
import { listErased } from '../../../../src/queries/personal-data/tombstones.ts';
import { addStaffNote } from '../../../../src/queries/staff-notes.ts';
import { saveSteamBans } from '../../../../src/queries/steam-bans.ts';
import { createApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { createSession } from '../../../../src/queries/users/sessions.ts';
import { linkDiscord, saveSignIn, unlinkDiscord } from '../../../../src/queries/users/user-changes.ts';
import { erasePlayer } from '../../../../src/service/erase-player.ts';
import { openSounds } from '../../../support/audio/sound-folders.ts';
import { aSteamId, insertPenalties, insertPenalty, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { countWaiting, queueBehind } from '../../../support/database/lock-waits.ts';
import { readPerson } from '../../../support/database/person-export.ts';
import { findTraces } from '../../../support/database/traces.ts';
import { importDeps } from '../../../support/import/penalty-rows.ts';
import { createTestFolder } from '../../../support/service/program.ts';
import { waitFor } from '../../../support/wait.ts';

setDefaultTimeout(60_000);

const database = await createTestDatabase({ max: 12 });
const { db, connection } = database;
const folder = createTestFolder();
const { sounds, folders } = await openSounds({ dataDir: folder, storageDir: folder });

let number = 0;
let id = aSteamId(0);
let name = '';
let user: typeof users.$inferSelect;
beforeEach(async () => {
  await db.delete(penalties);
  number += 1;
  id = aSteamId(number);
  name = `Rzeznik${number}x`;
  user = await insertUser(db, number, { nickname: name });
});

const erase = (withPenalties = false) =>
  erasePlayer(db, sounds, { steamId64: id, withPenalties, actor: 'operator' });
const traces = () => findTraces(connection, [folder], [id, name]);
const now = new Date();

/** What comes of a write about the user while the erasure, with its earlier steps done, waits for their row. */
async function duringErasure(write: () => Promise<unknown>): Promise<unknown> {
  // A lock that foreign keys to the row do not wait for.
  const lockUser = sql`select 1 from users where steamid64 = ${id} for no key update`;
  const writeOrFail = () => write().catch((error: unknown) => error);
  const [, result] = await queueBehind(db, (tx) => tx.execute(lockUser), [() => erase(), writeOrFail]);
  return result;
}

test('what they did with a Discord account that they have unlinked since is exported and erased with them', async () => {
  const discordId = `9000000000000000${number}`;
  await db.insert(discordFeeds).values({
    subject: 'penalties',
    channelId: `${number}`,
    guildId: '1',
    startedBy: discordId,
    locale: 'en',
    epoch: 'x',
    cursor: 0,
  });
  await db.insert(auditLog).values({
    actor: 'discord-member',
    action: 'feed.started',
    subject: 'penalties',
    details: { discordId },
  });
  await linkDiscord(db, user, { id: discordId, username: name, avatar: null });
  await unlinkDiscord(db, user);
  const exported = await readPerson(db, id, { actor: 'operator', now });
  expect(exported.discordFeeds).toMatchObject([{ startedBy: discordId }]);
  expect(exported.auditLog.map(({ action }: { action: string }) => action)).toContain('feed.started');
  await erase();
  expect(await findTraces(connection, [folder], [discordId])).toEqual([]);
});

test('a Discord account that somebody else has linked since is theirs', async () => {
  const discordId = `8000000000000000${number}`;
  await linkDiscord(db, user, { id: discordId, username: name, avatar: null });
  await unlinkDiscord(db, user);
  const other = await insertUser(db, 5000 + number);
  await linkDiscord(db, other, { id: discordId, username: 'other', avatar: null });
  await db.insert(auditLog).values({
    actor: 'discord-member',
    action: 'feed.stopped',
    subject: 'penalties',
    details: { discordId },
  });
  await erase();
  const [entry] = await db.select().from(auditLog).where(eq(auditLog.action, 'feed.stopped'));
  expect(entry?.details).toEqual({ discordId });
});

test('an erasure that was interrupted before the tallies of an admin can be repeated', async () => {
  await insertPenalties(db, [{ adminSteamId: id, adminName: name }]);
  await connection`create function refuse() returns trigger language plpgsql as 'begin raise exception ''no''; end'`;
  await connection`create trigger refuse before delete on penalty_tallies execute function refuse()`;
  await db.delete(users).where(eq(users.steamId64, id));
  await expect(erase(true)).rejects.toThrow();
  await connection`drop function refuse cascade`;
  expect(await isPersonKnown(db, id)).toBe(true);
  await erase(true);
  expect(await traces()).toEqual([]);
});

describe('work under way while somebody is erased', () => {
  test('an upload is refused, and leaves neither row nor file', async () => {
    const bytes = (async function* () {
      yield new TextEncoder().encode(name);
    })();
    const upload = { steamId64: id, fileName: `${name}.mp3`, bytes, actor: { userId: user.id } };
    const result = await duringErasure(() => storeUpload(db, sounds, { ...upload, maxBytes: 1_000_000 }));
    expect(result).toBeInstanceOf(NotFound);
    expect(await traces()).toEqual([]);
    expect(await readdir(folders.inbox)).toEqual([]);
  });

  test('a token, a session and a Discord account are refused', async () => {
    const token = await duringErasure(() =>
      inTransaction(db, (tx) => createApiToken(tx, user.id, { name, now, actor: { userId: user.id } })),
    );
    expect(token).toBeInstanceOf(NotFound);
    user = await insertUser(db, number);
    const link = await duringErasure(() => linkDiscord(db, user, { id: '17', username: name, avatar: null }));
    expect(link).toBeInstanceOf(NotFound);
    const session = { idHash: name, userId: user.id, expiresAt: now, now, browser: null, system: null };
    await expect(createSession(db, session)).rejects.toBeInstanceOf(NotFound);
    expect(await traces()).toEqual([]);
    expect(await db.select().from(apiTokens)).toBeEmpty();
    expect(await db.select().from(sessions)).toBeEmpty();
  });

  test('a person who signs in meanwhile gets a new account, without anything of the old one', async () => {
    await db.update(users).set({ isAdmin: true, discordId: '18' }).where(eq(users.id, user.id));
    const result = await duringErasure(() => saveSignIn(db, id, { now }));
    expect(result).toMatchObject({ nickname: '', isAdmin: false, discordId: null });
    const [entry, ...others] = await db.select().from(auditLog).where(eq(auditLog.subject, id)).limit(2);
    expect([entry?.action, others[0]?.action]).toEqual(['user.created', 'user.signed-in']);
    await erase();
  });

  test('a staff note that waits for an erasure is refused, and stores nothing about the player', async () => {
    const author = await insertUser(db, 900 + number, { isAdmin: true });
    const erasing = (tx: Tx) =>
      erasePersonWithin(tx, id, { withPenalties: false, actor: 'operator', removeSounds: async () => {} });
    const note = { steamId64: id, text: 'Aims well', now, authorUserId: author.id };
    const adding = () => inTransaction(db, (tx) => addStaffNote(tx, note)).catch((error: unknown) => error);
    const [result] = await queueBehind(db, erasing, [adding]);
    expect(result).toBeInstanceOf(NotFound);
    expect(await traces()).toEqual([]);
  });

  test('a lift of their penalty that waits for an erasure is audited without naming them', async () => {
    const staff = await insertUser(db, 900 + number, { isAdmin: true });
    const about = { playerSteamId: id, playerName: name, status: 'UNBANNED', liftedAt: now } as const;
    const lifted = await insertPenalties(db, [about, about]);
    const [written = 0, unknown = 0] = lifted.map((penalty) => penalty.id);
    const lift = { userId: staff.id, reason: 'Appeal #12', begunAt: now };
    const [, lost] = await db
      .insert(pendingLifts)
      .values([
        { ...lift, penaltyId: written },
        { ...lift, penaltyId: unknown, outcome: 'unknown' },
      ])
      .returning();
    const erasing = (tx: Tx) =>
      erasePersonWithin(tx, id, { withPenalties: true, actor: 'operator', removeSounds: async () => {} });
    await queueBehind(db, erasing, [
      () => finishLift(db, written, 'written'),
      () => settleLifts(db, lost ? [lost] : [], now),
    ]);
    const audited = await db
      .select({ subject: auditLog.subject })
      .from(auditLog)
      .where(eq(auditLog.action, 'penalty.lifted_at_source'));
    expect(audited.map(({ subject }) => subject).toSorted()).toEqual(
      [`#${written}`, `#${unknown}`].toSorted(),
    );
    expect(await traces()).toEqual([]);
  });

  test("Steam's bans that were requested before the erasure are not stored", async () => {
    const bans = { vacBans: 1, gameBans: 0, daysSinceLastBan: 3, isCommunityBanned: false, checkedAt: now };
    const bansOf = [id, aSteamId(999)].map((steamId64) => ({ ...bans, steamId64 }));
    const save = () => saveSteamBans(db, bansOf);
    await save();
    await erase();
    await save();
    const kept = await db.select({ id: steamBans.steamId64 }).from(steamBans);
    expect(kept).toEqual([{ id: aSteamId(999) }]);
    expect(await traces()).toEqual([]);

    await db.update(erasedPeople).set({ erasedAt: sql`now() - interval '61 seconds'` });
    await save();
    expect(await db.$count(steamBans)).toBe(2);
    await erase();
  });

  test('an erasure waits for writers of penalties, and takes out what they wrote', async () => {
    const before = await db.select().from(erasedPeople);
    let erasing: Promise<unknown> = Promise.resolve();
    await writePenalties(db, async (tx) => {
      erasing = erase(true);
      await waitFor(async () => (await countWaiting(db)) === 1);
      expect(await db.select().from(erasedPeople)).toEqual(before);
      await insertPenalties(tx, [{ playerSteamId: id, playerName: name }]);
    });
    await erasing;
    expect(await traces()).toEqual([]);
  });

  test('a change of a penalty is waited for, and what it wrote is taken out', async () => {
    const row = await insertPenalty(db, { playerSteamId: id, playerName: name });
    const changed = sql`update penalties set reason = 'x', lifted_by_name = ${name}, lifted_by_steamid = ${id} where id = ${row.id}`;
    await queueBehind(db, (tx) => tx.execute(changed), [() => erase(true)]);
    expect(await traces()).toEqual([]);
  });

  test('an import that waits for an erasure writes no name back', async () => {
    const line = (fields: object) =>
      JSON.stringify({
        penalty_type: 'ban',
        source_id: '1',
        player_steamid: aSteamId(1),
        created: '2026-11-21T11:30:00Z',
        status: 'UNBANNED',
        ...fields,
      });
    const run = (text: string) => importNdjson(importDeps(database), { chunks: new Blob([text]).stream() });
    const lifted = { at: '2026-11-21T11:40:00Z', admin_name: name, admin_steamid: id };
    await run(line({ admin_name: name, admin_steamid: id, lifted }));
    // The erasure has saved that they were erased, and waits for this row while it holds the lock of penalties.
    await queueBehind(db, (tx) => tx.execute(sql`select from penalties for update`), [
      () => erase(true),
      // The source no longer knows who the admin is.
      () => run(line({ admin_steamid: null, reason: 'Changed meanwhile' })),
    ]);
    expect(await db.$count(penalties, eq(penalties.reason, 'Changed meanwhile'))).toBe(1);
    expect(await traces()).toEqual([]);
  });
});

test('anonymises them in events of other subjects', async () => {
  const data = { appeal: { id: 7, penalty_id: 8, people: [id, aSteamId(1)] } };
  await inTransaction(db, (tx) => recordEvent(tx, 'appeal.opened', data));
  await erase();
  const [event] = await db
    .select({ data: penaltyEvents.data })
    .from(penaltyEvents)
    .where(isNotNull(penaltyEvents.data));
  expect(event?.data).toEqual({ appeal: { id: 0, penalty_id: 0, people: ['0', aSteamId(1)] } });
  expect(await traces()).toEqual([]);
});

describe('erasing penalties', () => {
  test('removes who lifted a penalty that has been deleted since', async () => {
    const lifted = { status: 'UNBANNED', liftedAt: now, liftedByName: name, liftedBySteamId: id } as const;
    const row = await insertPenalty(db, lifted);
    await db.delete(penalties).where(eq(penalties.id, row.id));
    const eventOf = () =>
      db
        .select({ name: penaltyEvents.liftedByName, id: penaltyEvents.liftedBySteamId })
        .from(penaltyEvents)
        .where(eq(penaltyEvents.penaltyId, row.id));
    expect(await eventOf()).toEqual(Array(2).fill({ name, id }));
    await erase(true);
    expect(await eventOf()).toEqual(Array(2).fill({ name: 'Former admin', id: '0' }));
    expect(await traces()).toEqual([]);
  });

  test('goes in steps, of which none holds the lock of all writers for long', async () => {
    const rows = Array.from({ length: 2500 }, (_, index) => ({
      playerSteamId: aSteamId(10_000 + index),
      adminSteamId: id,
      adminName: name,
    }));
    await insertPenalties(db, rows);
    await insertPenalties(db, [{ playerSteamId: id, playerName: name, adminSteamId: id, adminName: name }]);
    const [before] = await connection`select pg_current_xact_id()::text::bigint as id`;
    expect(await erase(true)).toEqual({ account: true, penalties: 2501 });
    const [after] = await connection`select pg_current_xact_id()::text::bigint as id`;
    expect(Number(after?.id) - Number(before?.id)).toBeGreaterThan(6);
    expect(await traces()).toEqual([]);
    expect(await db.$count(penaltyTallies, eq(penaltyTallies.adminSteamId, id))).toBe(0);
    expect(await db.$count(penalties, eq(penalties.adminName, 'Former admin'))).toBe(2501);
  });

  test('repeating an interrupted erasure completes it; each statement has a limit', async () => {
    await insertPenalties(db, [{ playerSteamId: id, playerName: name }]);
    const options = { withPenalties: true, actor: 'operator' } as const;
    const interrupted = erasePerson(db, id, {
      ...options,
      removeSounds: async (tx) => {
        const [limit] = await tx.execute(sql`show statement_timeout`);
        throw new Error(`interrupted at ${limit?.statement_timeout}`);
      },
    });
    await expect(interrupted).rejects.toThrow('interrupted at 10s');
    // So no import restores the name meanwhile.
    expect(await listErased(db, [id])).toEqual(new Set([id]));
    expect(await db.$count(penalties, eq(penalties.playerSteamId, id))).toBe(0);
    expect(await db.$count(users, eq(users.steamId64, id))).toBe(1);
    expect(await erase(true)).toEqual({ account: true, penalties: 0 });
    expect(await traces()).toEqual([]);
  });
});
