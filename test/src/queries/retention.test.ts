import { beforeEach, describe, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import {
  apiTokens,
  auditLog,
  sessions,
  steamBans,
  usedNonces,
  users,
} from '../../../src/db/schema/accounts.ts';
import { appealMessages, appeals } from '../../../src/db/schema/appeals.ts';
import { deleteOldRows } from '../../../src/queries/retention.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const { db, url } = await createTestDatabase();
const NOTHING = {
  api_tokens: 0,
  appeals: 0,
  audit_log: 0,
  penalty_events: 0,
  erased_people: 0,
  sessions: 0,
  steam_bans: 0,
  steam_calls: 0,
  used_nonces: 0,
};

beforeEach(async () => {
  for (const table of [apiTokens, auditLog, sessions, usedNonces, users]) await db.delete(table);
});

/** The time this long ago. @param interval as PostgreSQL writes it, such as `90 days`. */
const ago = (interval: string) => sql`now() - ${interval}::interval`;

let lastToken = 0;
async function insertToken(userId: number, values: Partial<typeof apiTokens.$inferInsert> | object = {}) {
  lastToken += 1;
  const token = { userId, name: `Token ${lastToken}`, tokenHash: `hash ${lastToken}`, lastFour: 'abcd' };
  await db.insert(apiTokens).values({ ...token, ...values });
  return token.name;
}

const namesOf = async () => (await db.select().from(apiTokens)).map(({ name }) => name).sort();

describe('old rows are deleted:', () => {
  test('deletes tokens that ended ninety days ago, by revocation or expiry; live ones stay, however old', async () => {
    const { id } = await insertUser(db, 1);
    const kept = [
      await insertToken(id, { createdAt: ago('5 years') }),
      await insertToken(id, { createdAt: ago('5 years'), expiresAt: ago('-1 day') }),
      await insertToken(id, { revokedAt: ago('89 days'), expiresAt: ago('-1 day') }),
      await insertToken(id, { expiresAt: ago('89 days') }),
    ];
    await insertToken(id, { revokedAt: ago('91 days') });
    await insertToken(id, { expiresAt: ago('91 days') });
    await insertToken(id, { revokedAt: ago('91 days'), expiresAt: ago('-1 year') });
    await insertToken(id, { revokedAt: ago('1 day'), expiresAt: ago('91 days') });
    expect(await deleteOldRows(db)).toEqual({ ...NOTHING, api_tokens: 4 });
    expect(await namesOf()).toEqual(kept.sort());
    expect(await deleteOldRows(db)).toEqual(NOTHING);
  });

  test('retention deletes appeals with their messages a year after the decision, never undecided ones', async () => {
    const anAppeal = { penaltyId: 1, playerSteamId: aSteamId(1), wantsMessages: false };
    const openedAt = new Date('2020-01-01T00:00:00Z');
    const [old] = await db
      .insert(appeals)
      .values([
        { ...anAppeal, openedAt, state: 'denied', decidedAt: ago('366 days') },
        { ...anAppeal, openedAt, state: 'closed', decidedAt: ago('364 days') },
        { ...anAppeal, openedAt },
      ])
      .returning();
    const message = { appealId: old?.id ?? 0, kind: 'opened', text: 'x', createdAt: openedAt } as const;
    await db.insert(appealMessages).values(message);
    expect(await deleteOldRows(db)).toEqual({ ...NOTHING, appeals: 1 });
    expect((await db.select().from(appeals)).map(({ state }) => state)).toEqual(['closed', 'undecided']);
    expect(await db.$count(appealMessages)).toBe(0);
  });

  test('retention deletes all but the newest hundred of a user’s ended tokens at once', async () => {
    const [clicker, other] = [await insertUser(db, 1), await insertUser(db, 2)];
    const live = await insertToken(clicker.id);
    await db.execute(sql`insert into api_tokens (user_id, name, token_hash, last_four, revoked_at)
      select ${clicker.id}, 'Ended ' || n, 'clicked ' || n, 'abcd', now() from generate_series(1, 3150) n`);
    for (let count = 0; count < 105; count++) await insertToken(other.id, { expiresAt: ago('1 day') });
    expect(await deleteOldRows(db)).toEqual({ ...NOTHING, api_tokens: 3055 });
    const names = await namesOf();
    expect(names).toHaveLength(1 + 100 + 100);
    expect(names).toContain(live);
    expect(names).toContain('Ended 3051');
    expect(names).not.toContain('Ended 3050');
  });

  test('deletes used nonces an hour after they expired, sessions once they end or 180 days after the sign-in, and audit entries after a year', async () => {
    const { id: userId } = await insertUser(db, 1);
    await db.insert(usedNonces).values([
      { nonce: 'old', expiresAt: ago('61 minutes') },
      { nonce: 'expired just now', expiresAt: ago('59 minutes') },
      { nonce: 'good', expiresAt: ago('-1 minute') },
    ]);
    await db.insert(sessions).values([
      { idHash: 'ended', userId, expiresAt: ago('1 second') },
      { idHash: 'old', userId, expiresAt: ago('-10 days'), createdAt: ago('181 days') },
      { idHash: 'open', userId, expiresAt: ago('-1 minute'), createdAt: ago('179 days') },
    ]);
    await db.insert(auditLog).values([
      { action: 'user.created', at: ago('366 days') },
      { action: 'user.signed-in', at: ago('364 days') },
    ]);
    expect(await deleteOldRows(db)).toEqual({ ...NOTHING, used_nonces: 1, sessions: 2, audit_log: 1 });
    expect((await db.select().from(usedNonces)).map(({ nonce }) => nonce)).toEqual([
      'expired just now',
      'good',
    ]);
    expect((await db.select().from(sessions)).map(({ idHash }) => idHash)).toEqual(['open']);
    expect((await db.select().from(auditLog)).map(({ action }) => action)).toEqual(['user.signed-in']);
  });
});

test('deletes bans reported by Steam after a day, and numbers of calls after a week', async () => {
  const bans = { vacBans: 0, gameBans: 0, daysSinceLastBan: 0, isCommunityBanned: false };
  await db.insert(steamBans).values([
    { ...bans, steamId64: aSteamId(1), checkedAt: ago('25 hours') },
    { ...bans, steamId64: aSteamId(2), checkedAt: ago('23 hours') },
  ]);
  await db.execute(sql`insert into steam_calls values (current_date - 8, 1), (current_date - 6, 1)`);
  expect(await deleteOldRows(db)).toEqual({ ...NOTHING, steam_bans: 1, steam_calls: 1 });
  expect(await db.select({ id: steamBans.steamId64 }).from(steamBans)).toEqual([{ id: aSteamId(2) }]);
});

test('many rows go in small statements, so that nobody waits long for a lock, and not after the stop', async () => {
  await db.execute(sql`insert into audit_log (at, action)
    select now() - interval '2 years', 'user.created' from generate_series(1, 4500)`);
  const stopping = new AbortController();
  const deleted: number[] = [];
  const watched = new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (name !== 'execute' || typeof value !== 'function') return value;
      return async (...words: unknown[]) => {
        const result = await value.apply(target, words);
        if (result.count > 0) deleted.push(result.count);
        if (deleted.length === 3) stopping.abort();
        return result;
      };
    },
  });
  expect(await deleteOldRows(watched, stopping.signal)).toMatchObject({ audit_log: 3000 });
  expect(deleted).toEqual([1000, 1000, 1000]);
  expect(await deleteOldRows(db)).toMatchObject({ audit_log: 1500 });
});

test('two processes at once delete each row once', async () => {
  await db.execute(sql`insert into used_nonces (nonce, expires_at)
    select 'n' || n, now() - interval '1 day' from generate_series(1, 3000) n`);
  const results = await Promise.all([deleteOldRows(db), deleteOldRows(db), deleteOldRows(db)]);
  expect(results.reduce((sum, { used_nonces: count }) => sum + count, 0)).toBe(3000);
});

test('a process with the role sync does it when it starts', async () => {
  await db.insert(usedNonces).values({ nonce: 'old', expiresAt: ago('1 day') });
  const service = await startTestService({ databaseUrl: url, env: { ROLES: 'sync' } });
  await waitFor(async () => (await db.select().from(usedNonces)).length === 0);
  await service.stop();
});
