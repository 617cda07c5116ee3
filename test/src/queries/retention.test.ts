import { beforeEach, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import pino from 'pino';
import { openLeaders } from '../../../src/db/leader.ts';
import { apiTokens, auditLog, usedNonces } from '../../../src/db/schema/accounts.ts';
import { deleteOldRows } from '../../../src/queries/retention.ts';
import { startRetention } from '../../../src/service/sync.ts';
import { insertPenalties, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const { db, connection, url } = await createTestDatabase();
const NOTHING = {
  api_tokens: 0,
  appeals: 0,
  erased_appeals: 0,
  audit_log: 0,
  penalty_events: 0,
  erased_people: 0,
  sessions: 0,
  steam_bans: 0,
  steam_calls: 0,
  used_nonces: 0,
};
// In force, and lifted.
await insertPenalties(db, [{}, { status: 'UNBANNED' }]);
const [FIRST, SECOND] = [await insertUser(db, 1), await insertUser(db, 2)];

beforeEach(async () => {
  await connection.unsafe(`truncate ${Object.keys(NOTHING).join(', ')} cascade`);
});

test.each([
  {
    what: 'tokens 90 days after they were revoked or expired, but no live ones',
    table: 'api_tokens (user_id, name, token_hash, last_four, created_at, revoked_at, expires_at)',
    young: [
      `1, 'live', 'a', 'abcd', now() - interval '5 years', null, null`,
      `1, 'ends', 'b', 'abcd', now() - interval '5 years', null, now() + interval '1 day'`,
      `1, 'revoked', 'c', 'abcd', now(), now() - interval '89 days', now() + interval '1 day'`,
      `1, 'expired', 'd', 'abcd', now(), null, now() - interval '89 days'`,
    ],
    old: [
      `1, 'revoked', 'e', 'abcd', now(), now() - interval '91 days', null`,
      `1, 'expired', 'f', 'abcd', now(), null, now() - interval '91 days'`,
      `1, 'both', 'g', 'abcd', now(), now() - interval '91 days', now() - interval '1 year'`,
      `1, 'revoked later', 'h', 'abcd', now(), now() - interval '1 day', now() - interval '91 days'`,
    ],
  },
  {
    what: 'appeals a year after the decision, never those that wait for somebody',
    table: 'appeals (penalty_id, player_steamid, wants_messages, opened_at, state, decided_at, waits_for)',
    young: [
      `1, 1, false, '2020-01-01', 'closed', now() - interval '364 days', null`,
      `1, 1, false, '2020-01-01', 'undecided', null, 'staff'`,
      `1, 1, false, '2020-01-01', 'accepted', '2021-01-01', 'lift'`,
    ],
    old: [
      `1, 1, false, '2020-01-01', 'denied', now() - interval '366 days', null`,
      `1, 1, false, '2020-01-01', 'accepted', now() - interval '366 days', null`,
    ],
  },
  {
    what: 'limits of deleted appeals when their days are over or their penalty is no longer in force',
    table: 'erased_appeals (id_hash, penalty_id, state, opened_at, decided_at)',
    young: [
      `'a', null, 'closed', now() - interval '23 hours', null`,
      `'a', 1, 'denied', now() - interval '40 days', now() - interval '29 days'`,
      `'a', 1, 'accepted', '2020-01-01', '2020-01-02'`,
    ],
    old: [
      `'a', null, 'closed', now() - interval '25 hours', null`,
      `'a', 1, 'denied', now() - interval '40 days', now() - interval '31 days'`,
      `'a', 2, 'accepted', '2020-01-01', '2020-01-02'`,
      `'a', 3, 'accepted', '2020-01-01', '2020-01-02'`,
    ],
  },
  {
    what: 'entries of the audit log after a year',
    table: 'audit_log (action, at)',
    young: [`'user.signed-in', now() - interval '364 days'`],
    old: [`'user.created', now() - interval '366 days'`],
  },
  {
    what: 'tombstones of people whose penalties stay after 35 days, never others',
    table: 'erased_people (id_hash, secret_id, stays_anonymous, erased_at)',
    young: [`'a', 's', false, now() - interval '34 days'`, `'b', 's', true, now() - interval '5 years'`],
    old: [`'c', 's', false, now() - interval '36 days'`],
  },
  {
    what: 'sessions once they end or 180 days after the sign-in',
    table: 'sessions (id_hash, user_id, expires_at, created_at)',
    young: [`'open', 1, now() + interval '1 minute', now() - interval '179 days'`],
    old: [
      `'ended', 1, now() - interval '1 second', now()`,
      `'long', 1, now() + interval '10 days', now() - interval '181 days'`,
    ],
  },
  {
    what: 'bans reported by Steam after a day',
    table:
      'steam_bans (steamid64, vac_bans, game_bans, days_since_last_ban, is_community_banned, checked_at)',
    young: [`1, 0, 0, 0, false, now() - interval '23 hours'`],
    old: [`2, 0, 0, 0, false, now() - interval '25 hours'`],
  },
  {
    what: 'numbers of calls to Steam after a week',
    table: 'steam_calls (day, calls)',
    young: ['current_date - 6, 1'],
    old: ['current_date - 8, 1'],
  },
  {
    what: 'used nonces an hour after they expired',
    table: 'used_nonces (nonce, expires_at)',
    young: [`'expired', now() - interval '59 minutes'`, `'good', now() + interval '1 minute'`],
    old: [`'old', now() - interval '61 minutes'`],
  },
])('retention deletes $what', async ({ table, young, old }) => {
  const insert = (rows: readonly string[]) =>
    connection.unsafe(`insert into ${table} values ${rows.map((row) => `(${row})`).join(', ')}`);
  const [name = ''] = table.split(' ');
  const read = () => connection`select * from ${connection(name)}`;
  await insert(young);
  const kept = await read();
  await insert(old);
  const options = { appealAgainDays: 30 };
  expect(await deleteOldRows(db, options)).toEqual({ ...NOTHING, [name]: old.length });
  expect(await read()).toEqual(kept);
  expect(await deleteOldRows(db, options)).toEqual(NOTHING);
});

test('retention deletes all but the newest hundred of a user’s ended tokens at once', async () => {
  const insertTokens = (userId: number, name: string, count: number, end: string) =>
    connection.unsafe(`insert into api_tokens (user_id, name, token_hash, last_four, ${end})
      select ${userId}, '${name} ' || n, '${name} ' || n, 'abcd', now() from generate_series(1, ${count}) n`);
  await db.insert(apiTokens).values({ userId: FIRST.id, name: 'live', tokenHash: 'live', lastFour: 'abcd' });
  await insertTokens(FIRST.id, 'Ended', 3150, 'revoked_at');
  await insertTokens(SECOND.id, 'Other', 105, 'expires_at');
  expect(await deleteOldRows(db)).toEqual({ ...NOTHING, api_tokens: 3055 });
  const names = (await db.select().from(apiTokens)).map(({ name }) => name);
  expect(names).toHaveLength(1 + 100 + 100);
  expect(names).toEqual(expect.arrayContaining(['live', 'Ended 3051']));
  expect(names).not.toContain('Ended 3050');
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
  expect(await deleteOldRows(watched, { signal: stopping.signal })).toMatchObject({ audit_log: 3000 });
  expect(deleted).toEqual([1000, 1000, 1000]);
  expect(await deleteOldRows(db)).toMatchObject({ audit_log: 1500 });
});

test('two processes at once delete each row once', async () => {
  await db.execute(sql`insert into used_nonces (nonce, expires_at)
    select 'n' || n, now() - interval '1 day' from generate_series(1, 3000) n`);
  const results = await Promise.all([deleteOldRows(db), deleteOldRows(db), deleteOldRows(db)]);
  expect(results.reduce((sum, { used_nonces: count }) => sum + count, 0)).toBe(3000);
});

test('retention cleans other tables while one fails, and that one within minutes', async () => {
  await insertPenalties(db, [{}]);
  await connection`update penalty_events set occurred_at = now() - interval '31 days'`;
  await db.insert(auditLog).values({ at: new Date('2020-01-01'), action: 'server.added', subject: 'x' });
  await connection.unsafe(`create function refuse() returns trigger language plpgsql as $$ begin raise 'broken'; end $$;
    create trigger refuses before delete on audit_log for each row execute function refuse()`);
  const lines: { msg: string; err?: { message: string } }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const retention = startRetention({ db, leaders: openLeaders(url, { log }), log }, { retryMs: 20 });
  await waitFor(async () => (await connection`select from penalty_events`).count === 0);
  expect(await db.$count(auditLog)).toBe(1);
  await connection`drop trigger refuses on audit_log`;
  await waitFor(async () => (await db.$count(auditLog)) === 0);
  await retention.stop();
  expect(lines.filter(({ err }) => err)).toMatchObject([
    {
      msg: 'deleting old rows failed: retrying',
      err: { message: expect.stringContaining('old rows of audit_log') },
    },
  ]);
});

test('a process with the role sync deletes old rows when it starts', async () => {
  await db.insert(usedNonces).values({ nonce: 'old', expiresAt: new Date('2020-01-01') });
  const service = await startTestService({ databaseUrl: url, env: { ROLES: 'sync' } });
  await waitFor(async () => (await db.$count(usedNonces)) === 0);
  await service.stop();
});
