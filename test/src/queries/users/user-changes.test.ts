import { beforeEach, describe, expect, test } from 'bun:test';
import { asc } from 'drizzle-orm';
import pino from 'pino';
import { inTransaction } from '../../../../src/db/client.ts';
import { auditLog, erasedPeople, userFlags, users } from '../../../../src/db/schema/accounts.ts';
import { Conflict } from '../../../../src/domain/errors.ts';
import {
  type FlagSource,
  USER_FLAG_COLUMNS,
  USER_FLAG_NAMES,
  USER_FLAGS,
  type UserFlag,
} from '../../../../src/domain/rights/user-flags.ts';
import type { SteamId64 } from '../../../../src/domain/steam-id.ts';
import { isPersonKnown } from '../../../../src/queries/personal-data/export.ts';
import {
  linkDiscord,
  saveConfiguredFlags,
  saveSignIn,
  saveUser,
  setUserFlags,
} from '../../../../src/queries/users/user-changes.ts';
import {
  endFlagsOfOthers,
  endTimedFlags,
  giveFlags,
  listGivenFlags,
  saveFlagRound,
} from '../../../../src/queries/users/user-flags.ts';
import { findUserByDiscordId, findUserBySteamId } from '../../../../src/queries/users/users.ts';
import { aSteamId, erase, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { queueBehind } from '../../../support/database/lock-waits.ts';
import { readPerson } from '../../../support/database/person-export.ts';
import { startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const { db, url, connection } = await createTestDatabase();
const [PLAYER, OTHER] = [aSteamId(1), aSteamId(2)];
const NOW = new Date('2026-11-25T12:00:00Z');
const SOON = new Date('2026-11-25T12:00:01Z');

beforeEach(async () => {
  for (const table of [auditLog, users, userFlags, erasedPeople]) await db.delete(table);
});

type Given = [flag: UserFlag, endsAt?: Date];

/** Saves a round in which a source gives these flags to one player. */
function saveRound(source: FlagSource, given: readonly Given[], { to = PLAYER, now = NOW } = {}) {
  const grants = given.map(([flag, endsAt = null]) => ({ steamId64: to, flag, endsAt }));
  return inTransaction(db, (tx) => saveFlagRound(tx, source, { grants, now }));
}

/** The flags of a user; undefined without an account. */
async function listFlags(steamId64: SteamId64) {
  const user = await findUserBySteamId(db, steamId64);
  return user && USER_FLAG_COLUMNS.filter((column) => user[column]);
}

const listEntries = () => {
  const { actor, actorUserId, action, subject, details } = auditLog;
  return db.select({ actor, actorUserId, action, subject, details }).from(auditLog).orderBy(asc(auditLog.id));
};
const anEntry = (subject: SteamId64, details: Record<string, unknown>) => ({
  actor: 'configuration' as const,
  actorUserId: null,
  action: 'user.flags-set' as const,
  subject: subject as string,
  details,
});

describe('a flag', () => {
  test('holds while any source gives it; the audit log has when it came and went', async () => {
    await insertUser(db, 1);
    await saveRound('vipcore', [['has_svip']]);
    await saveRound('simpleadmin', [['has_svip'], ['is_admin']]);
    await saveUser(db, PLAYER, { changes: { hasSvip: true }, actor: 'operator' });
    expect(await listFlags(PLAYER)).toEqual(['isAdmin', 'hasSvip']);
    await saveRound('vipcore', []);
    await saveUser(db, PLAYER, { changes: { hasSvip: false }, actor: 'operator' });
    expect(await listFlags(PLAYER)).toContain('hasSvip');
    await saveRound('simpleadmin', [['is_moderator']]);
    expect(await listFlags(PLAYER)).toEqual(['isModerator']);
    const entries = await listEntries();
    expect(entries.filter(({ action }) => action === 'user.flags-set')).toEqual([
      anEntry(PLAYER, { hasSvip: true, source: 'vipcore' }),
      anEntry(PLAYER, { isAdmin: true, source: 'simpleadmin' }),
      anEntry(PLAYER, { isAdmin: false, hasSvip: false, isModerator: true, source: 'simpleadmin' }),
    ]);
  });

  test('a flag is remembered for a SteamID without an account, and there with the first sign-in', async () => {
    await saveRound('iks', [['is_admin']]);
    const user = await saveSignIn(db, PLAYER, { now: NOW });
    expect(user).toMatchObject({ isAdmin: true, hasSvip: false });
  });

  test('ends at its second without an entry; the longest of several ends counts, and none is the longest', async () => {
    await insertUser(db, 1);
    const past = new Date(NOW.getTime() - 1000);
    await saveRound('vipcore', [
      ['has_svip', past],
      ['is_admin', past],
      ['is_admin', SOON],
      ['is_moderator', SOON],
      ['is_moderator'],
    ]);
    expect(await listGivenFlags(db, PLAYER)).toEqual([
      { flag: 'is_admin', source: 'vipcore', endsAt: SOON },
      { flag: 'is_moderator', source: 'vipcore', endsAt: null },
    ]);
    await endTimedFlags(db, new Date(SOON.getTime() - 1));
    expect(await listFlags(PLAYER)).toContain('isAdmin');
    await endTimedFlags(db, SOON);
    expect(await listFlags(PLAYER)).toEqual(['isModerator']);
    expect(await listEntries()).toHaveLength(1);
  });

  test('follows a source that gives it longer, and writes nothing else in rounds without changes', async () => {
    await saveRound('vipcore', [['has_svip', SOON]]);
    const later = new Date(NOW.getTime() + 60_000);
    await saveRound('vipcore', [['has_svip', later]]);
    const read = async () => (await db.execute('select *, xmin::text from user_flags'))[0];
    const before = await read();
    await saveRound('vipcore', [['has_svip', later]], { now: SOON });
    expect(await read()).toEqual(before);
    expect(await listGivenFlags(db, PLAYER)).toEqual([expect.objectContaining({ endsAt: later })]);
  });

  test('a flag that two sources end at the same time ends', async () => {
    await insertUser(db, 1);
    for (let repeat = 0; repeat < 5; repeat++) {
      await Promise.all([
        saveRound('iks', [['is_admin']]),
        saveUser(db, PLAYER, { changes: { isAdmin: true }, actor: 'operator' }),
      ]);
      expect(await listFlags(PLAYER)).toContain('isAdmin');
      await Promise.all([
        saveRound('iks', []),
        saveUser(db, PLAYER, { changes: { isAdmin: false }, actor: 'operator' }),
      ]);
      expect(await listFlags(PLAYER)).not.toContain('isAdmin');
    }
  });

  test('reaches an account that is created while the round is saved', async () => {
    for (let number = 100; number < 110; number++) {
      const to = aSteamId(number);
      await Promise.all([saveRound('vipcore', [['has_svip']], { to }), saveSignIn(db, to, { now: NOW })]);
      expect(await listFlags(to)).toContain('hasSvip');
    }
  });
});

test('flags of systems that are no longer configured end', async () => {
  await insertUser(db, 1, { hasSvip: true });
  await saveRound('configuration', [['is_moderator']]);
  await saveRound('iks', [['is_admin']]);
  await endFlagsOfOthers(db, ['iks'], NOW);
  expect(await listFlags(PLAYER)).toEqual(['isAdmin', 'isModerator', 'hasSvip']);
  await endFlagsOfOthers(db, ['vipcore'], NOW);
  expect(await listFlags(PLAYER)).toEqual(['isModerator', 'hasSvip']);
});

describe('personal data', () => {
  test('contains flags of people without an account; an erasure ends them until the next sign-in', async () => {
    await saveRound('vipcore', [['has_svip', SOON]]);
    expect(await isPersonKnown(db, PLAYER)).toBe(true);
    expect(await readPerson(db, PLAYER, { actor: 'operator', now: NOW })).toMatchObject({
      account: null,
      userFlags: [{ flag: 'has_svip', source: 'vipcore', endsAt: SOON.toISOString() }],
    });
    await erase(db, PLAYER);
    await saveRound('vipcore', [['has_svip']]);
    expect(await db.select().from(userFlags)).toEqual([]);
    expect(await saveSignIn(db, PLAYER, { now: NOW })).toMatchObject({ hasSvip: false });
    await saveRound('vipcore', [['has_svip']]);
    expect(await listFlags(PLAYER)).toContain('hasSvip');
  });
});

const saveOwners = (...ownerSteamIds: SteamId64[]) =>
  saveConfiguredFlags(db, { ownerSteamIds, moderatorSteamIds: [] }, new Date());

const OWNER = { isOwner: true, isAdmin: true };
const NOBODY = { isOwner: false, isAdmin: false };

describe('OWNER_STEAMIDS', () => {
  test('grants both flags and revokes them again, and both changes are in the audit log once', async () => {
    for (let start = 1; start <= 2; start++) {
      await saveOwners(PLAYER);
      expect(await listFlags(PLAYER)).toEqual(['isOwner', 'isAdmin']);
      expect(await listEntries()).toEqual([anEntry(PLAYER, OWNER)]);
    }
    for (let start = 1; start <= 2; start++) {
      await saveOwners();
      expect(await listFlags(PLAYER)).toEqual([]);
      expect(await listEntries()).toEqual([anEntry(PLAYER, OWNER), anEntry(PLAYER, NOBODY)]);
    }
    await saveOwners(PLAYER);
    expect(await listFlags(PLAYER)).toEqual(['isOwner', 'isAdmin']);
  });

  test('revokes nothing from those it still names, nor flags that were granted by hand before', async () => {
    await insertUser(db, 2, { isAdmin: true });
    await insertUser(db, 3, OWNER);
    await saveOwners(PLAYER, OTHER, aSteamId(3));
    expect(await listFlags(OTHER)).toEqual(['isOwner', 'isAdmin']);
    await saveOwners(PLAYER);
    expect(await listFlags(PLAYER)).toEqual(['isOwner', 'isAdmin']);
    expect(await listFlags(OTHER)).toEqual(['isAdmin']);
    expect(await listFlags(aSteamId(3))).toEqual(['isOwner', 'isAdmin']);
    expect(await listEntries()).toEqual([
      anEntry(PLAYER, OWNER),
      anEntry(OTHER, { isOwner: true }),
      anEntry(OTHER, { isOwner: false }),
    ]);
  });

  test('keeps flags that were granted by hand since, by the operator or by an owner', async () => {
    await saveOwners(PLAYER, OTHER);
    const other = await insertUser(db, 9, OWNER);
    await saveUser(db, PLAYER, { changes: { isAdmin: true }, actor: 'operator' });
    await setUserFlags(db, OTHER, { flags: { isAdmin: true }, actor: { userId: other.id } });
    await saveOwners();
    expect(await listFlags(PLAYER)).toEqual(['isAdmin']);
    expect(await listFlags(OTHER)).toEqual(['isAdmin']);
  });

  test('keeps its flags from being revoked by hand while it names somebody', async () => {
    await saveOwners(PLAYER);
    await saveUser(db, PLAYER, { changes: NOBODY, actor: 'operator' });
    expect(await listFlags(PLAYER)).toEqual(['isOwner', 'isAdmin']);
    await saveOwners();
    expect(await listFlags(PLAYER)).toEqual([]);
  });

  test('the leader of the settings writes OWNER_STEAMIDS before it serves; a process with other owners logs that, and waits', async () => {
    const said: string[] = [];
    const log = pino({}, { write: (line: string) => said.push(JSON.parse(line).msg) });
    const runWith = (env: Record<string, string>) =>
      startTestService({ databaseUrl: url, env, log, hasRealClock: true });
    const other =
      'OWNER_STEAMIDS or MODERATOR_STEAMIDS differ from those of the process that leads `settings`: its values hold';
    const leader = await runWith({ OWNER_STEAMIDS: PLAYER, ROLES: 'api,sync' });
    expect(await listFlags(PLAYER)).toEqual(['isOwner', 'isAdmin']);
    await runWith({ ROLES: 'api' });
    expect(said).not.toContain(other);
    await runWith({ ROLES: 'api,sync' });
    expect(said.filter((line) => line === other)).toHaveLength(1);
    expect(await listFlags(PLAYER)).toEqual(['isOwner', 'isAdmin']);
    await leader.stop();
    await waitFor(async () => (await listFlags(PLAYER))?.length === 0);
  });

  test('processes that start at the same time record OWNER_STEAMIDS once', async () => {
    await Promise.all([1, 2, 3, 4, 5, 6].map(() => saveOwners(PLAYER, OTHER)));
    await Promise.all([1, 2, 3, 4, 5, 6].map(() => saveOwners(OTHER)));
    expect((await listEntries()).filter(({ subject }) => subject === PLAYER)).toEqual([
      anEntry(PLAYER, OWNER),
      anEntry(PLAYER, NOBODY),
    ]);
  });
});

test.each([
  ['the first sign-in of an owner', false],
  ['a sign-in of an owner who has an account', true],
])('%s and a start that names them both succeed', async (_, hasAccount) => {
  if (hasAccount) await insertUser(db, 1);
  await queueBehind(db, (tx) => tx.execute('lock table user_flags in share mode'), [
    () => saveOwners(PLAYER),
    () => saveSignIn(db, PLAYER, { configuredFlags: ['is_owner', 'is_admin'], now: new Date() }),
  ]);
  expect(await listFlags(PLAYER)).toEqual(['isOwner', 'isAdmin']);
});

describe.each(USER_FLAG_NAMES)('%s', (flag) => {
  const column = USER_FLAGS[flag];

  test(`${flag} is derived from what sources give, and every process is notified`, async () => {
    await insertUser(db, 1);
    const notified = Promise.withResolvers<string>();
    const subscription = await connection.listen('changed', notified.resolve);
    await inTransaction(db, (tx) => giveFlags(tx, PLAYER, 'vipcore', [flag]));
    expect(await listFlags(PLAYER)).toEqual([column]);
    expect(await notified.promise).toBe('users');
    await subscription.unlisten();
    await db.delete(userFlags);
    expect(await listFlags(PLAYER)).toEqual([]);
  });

  test(`${flag} counts as given by hand to a user who is inserted or saved with it`, async () => {
    await insertUser(db, 1, { [column]: true });
    await saveUser(db, OTHER, { changes: { [column]: true }, actor: 'operator' });
    for (const steamId64 of [PLAYER, OTHER]) {
      expect(await listGivenFlags(db, steamId64)).toEqual([{ flag, source: 'hand', endsAt: null }]);
      expect(await listFlags(steamId64)).toEqual([column]);
    }
  });
});

test('a round that changes many people writes their entries in one statement', async () => {
  await connection.unsafe(`create table audit_statements (entries bigint);
    create function count_entries() returns trigger language plpgsql as $$ begin
      insert into public.audit_statements select count(*) from written; return null;
    end $$;
    create trigger counts_entries after insert on audit_log referencing new table as written
      for each statement execute function count_entries()`);
  const people = Array.from({ length: 300 }, (_, index) => aSteamId(index + 1));
  const grants = people.map((steamId64) => ({ steamId64, flag: 'has_svip' as const, endsAt: null }));
  await inTransaction(db, (tx) => saveFlagRound(tx, 'vipcore', { grants, now: NOW }));
  expect(await connection`select * from audit_statements`).toMatchObject([{ entries: '300' }]);
  const entries = await listEntries();
  expect(entries.filter(({ subject }) => subject === PLAYER)).toEqual([
    anEntry(PLAYER, { hasSvip: true, source: 'vipcore' }),
  ]);
});

test('one Discord account given to many players at once goes to one of them, and the others are refused with a reason', async () => {
  const players = await Promise.all([1, 2, 3, 4, 5, 6].map((number) => insertUser(db, number)));
  for (let round = 1; round <= 20; round++) {
    const id = String(80351110224678000n + BigInt(round));
    const attempts = await Promise.allSettled(
      players.map((player, index) =>
        index % 2 === 0
          ? saveUser(db, player.steamId64, { changes: { discordId: id }, actor: 'operator' })
          : linkDiscord(db, player, { id, username: 'nelly', avatar: null }),
      ),
    );
    const refusals = attempts.filter((attempt) => attempt.status === 'rejected');
    expect(refusals).toHaveLength(players.length - 1);
    for (const { reason } of refusals) {
      expect(reason).toBeInstanceOf(Conflict);
      expect(reason.message).toMatch(new RegExp(`^The Discord account ${id} is linked to `));
    }
    expect(await findUserByDiscordId(db, id)).toBeDefined();
  }
});
