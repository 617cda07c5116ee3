import { beforeEach, describe, expect, test } from 'bun:test';
import { asc, eq } from 'drizzle-orm';
import { auditLog, userFlags, users } from '../../../../src/db/schema/accounts.ts';
import type { SteamId64 } from '../../../../src/domain/steam-id.ts';
import { saveConfiguredFlags, saveUser, setUserFlags } from '../../../../src/queries/users/user-changes.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startTestService } from '../../../support/service/service.ts';

const { db, url } = await createTestDatabase();
const NAMED = aSteamId(1);
const BEFORE = aSteamId(2);

beforeEach(async () => {
  await db.delete(auditLog);
  await db.delete(users);
  await db.delete(userFlags);
});

/** Starts a process with these owners, and stops it again. */
async function runWith(owners: readonly SteamId64[], roles = 'api'): Promise<void> {
  const env = { OWNER_STEAMIDS: owners.join(','), ROLES: roles };
  await (await startTestService({ databaseUrl: url, env })).stop();
}

const saveOwners = (ownerSteamIds: SteamId64[]) =>
  saveConfiguredFlags(db, { ownerSteamIds, moderatorSteamIds: [] }, new Date());

async function flagsOf(steamId64: SteamId64) {
  const [user] = await db.select().from(users).where(eq(users.steamId64, steamId64));
  return user && { isOwner: user.isOwner, isAdmin: user.isAdmin };
}

const listEntries = async () =>
  (await db.select().from(auditLog).orderBy(asc(auditLog.id))).map(
    ({ actor, actorUserId, action, subject, details }) => ({ actor, actorUserId, action, subject, details }),
  );
const anEntry = (subject: SteamId64, details: object) => ({
  actor: 'configuration' as const,
  actorUserId: null,
  action: 'user.flags-set',
  subject,
  details: { ...details },
});
const OWNER = { isOwner: true, isAdmin: true };
const NOBODY = { isOwner: false, isAdmin: false };

describe('OWNER_STEAMIDS', () => {
  test('grants both flags and revokes them again, and both changes are in the audit log once', async () => {
    for (let start = 1; start <= 2; start++) {
      await runWith([NAMED]);
      expect(await flagsOf(NAMED)).toEqual(OWNER);
      expect(await listEntries()).toEqual([anEntry(NAMED, OWNER)]);
    }
    for (let start = 1; start <= 2; start++) {
      await runWith([]);
      expect(await flagsOf(NAMED)).toEqual(NOBODY);
      expect(await listEntries()).toEqual([anEntry(NAMED, OWNER), anEntry(NAMED, NOBODY)]);
    }
    await runWith([NAMED]);
    expect(await flagsOf(NAMED)).toEqual(OWNER);
  });

  test('revokes nothing from those it still names, nor flags that were granted by hand before', async () => {
    await insertUser(db, 2, { isAdmin: true });
    await insertUser(db, 3, OWNER);
    await runWith([NAMED, BEFORE, aSteamId(3)]);
    expect(await flagsOf(BEFORE)).toEqual(OWNER);
    await runWith([NAMED]);
    expect(await flagsOf(NAMED)).toEqual(OWNER);
    expect(await flagsOf(BEFORE)).toEqual({ isOwner: false, isAdmin: true });
    expect(await flagsOf(aSteamId(3))).toEqual(OWNER);
    expect(await listEntries()).toEqual([
      anEntry(NAMED, OWNER),
      anEntry(BEFORE, { isOwner: true }),
      anEntry(BEFORE, { isOwner: false }),
    ]);
  });

  test('keeps flags that were granted by hand since, by the operator or by an owner', async () => {
    await runWith([NAMED, BEFORE]);
    const other = await insertUser(db, 9, OWNER);
    await saveUser(db, NAMED, { changes: { isAdmin: true }, actor: 'operator' });
    await setUserFlags(db, BEFORE, { flags: { isAdmin: true }, actor: { userId: other.id } });
    await runWith([]);
    expect(await flagsOf(NAMED)).toEqual({ isOwner: false, isAdmin: true });
    expect(await flagsOf(BEFORE)).toEqual({ isOwner: false, isAdmin: true });
  });

  test('keeps its flags from being revoked by hand while it names somebody', async () => {
    await runWith([NAMED]);
    await saveUser(db, NAMED, { changes: NOBODY, actor: 'operator' });
    expect(await flagsOf(NAMED)).toEqual(OWNER);
    await runWith([]);
    expect(await flagsOf(NAMED)).toEqual(NOBODY);
  });

  test('is applied by processes that serve the API: one with other roles revokes nothing', async () => {
    await runWith([NAMED]);
    await runWith([], 'poller,sync');
    expect(await flagsOf(NAMED)).toEqual(OWNER);
  });

  test('is recorded once by processes that start at the same time', async () => {
    await Promise.all([1, 2, 3, 4, 5, 6].map(() => saveOwners([NAMED, BEFORE])));
    await Promise.all([1, 2, 3, 4, 5, 6].map(() => saveOwners([BEFORE])));
    expect((await listEntries()).filter(({ subject }) => subject === NAMED)).toEqual([
      anEntry(NAMED, OWNER),
      anEntry(NAMED, NOBODY),
    ]);
  });
});
