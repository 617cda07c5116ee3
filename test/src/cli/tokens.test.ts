import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { apiTokens, auditLog, users } from '../../../src/db/schema/accounts.ts';
import { isApiToken } from '../../../src/domain/api-token.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { openCli, runCli } from '../../support/service/cli.ts';
import { aToken, bearer, startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const { database, db, env, succeed, succeedWithJson, expectRefusals } = await openCli();
const CREATE = `tokens create --steamid64 ${aSteamId(2)} --name website`;

test('tokens create says at a terminal what it printed', async () => {
  const created = await runCli(CREATE.split(' '), env, { isTerminal: true });
  expect([created.code, isApiToken(created.stdout.trimEnd())]).toEqual([0, true]);
  expect(created.stderr).toMatch(
    new RegExp(`^Token [0-9]+ of ${aSteamId(2)}, shown only now; it does not expire\n$`),
  );
});

test('tokens create prints only the token, list never does, revoke ends it in a running service', async () => {
  const service = await startTestService({ databaseUrl: database.url, hasRealClock: true });
  const stdout = await succeed('tokens create --steamid64 [U:1:39734273] --name website');
  const token = stdout.trimEnd();
  expect([stdout, isApiToken(token)]).toEqual([`${token}\n`, true]);
  expect((await service.get('/bans', bearer(token))).status).toBe(200);

  const table = await succeed('tokens list');
  expect(table).not.toContain(token);
  expect(table.split('\n')[1]).toMatch(
    new RegExp(`^[0-9]+ +${aSteamId(1)} +website +…${token.slice(-4)} +[0-9-]{10} +\\S+ +all +live$`),
  );
  const [row] = await succeedWithJson('tokens list');
  expect(row).toEqual({
    id: expect.any(Number),
    userId: expect.any(Number),
    name: 'website',
    lastFour: token.slice(-4),
    scopes: ['servers', 'penalties', 'lookup', 'events'],
    createdAt: expect.any(String),
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    steamId64: aSteamId(1),
    isOfAdministrator: false,
  });

  expect(await succeed(`tokens revoke ${row.id}`)).toBe(`Revoked token ${row.id}\n`);
  await waitFor(async () => (await service.ask('/api/v1/bans', bearer(token))).status === 401);
  expect(await succeed('tokens list')).toContain('revoked');
  await expectRefusals({
    'tokens revoke 999999': 'There is no token 999999',
    'tokens revoke 1e3': '"1e3" is not a token ID: see tokens list',
  });
});

test('tokens list gives a hundred at a time, and says how to see the others', async () => {
  const owner = await saveUser(db, aSteamId(3), { actor: 'operator' });
  await database.connection`
    insert into api_tokens (user_id, name, token_hash, last_four, created_at)
    select ${owner.id}, 'no ' || n, md5(n::text), 'abcd', now() from generate_series(1, 230) as n`;
  const names = (table: string): string[] => [...table.matchAll(/no \d+/g)].map(([name]) => name);
  const down = (from: number, to: number) =>
    Array.from({ length: from - to + 1 }, (_, index) => `no ${from - index}`);
  const first = await succeed('tokens list');
  expect(names(first)).toEqual(down(230, 131));
  const next = /\n… and 130 older: tokens list --before (\d+)\n$/.exec(first)?.[1];
  const second = await succeed(`tokens list --before ${next}`);
  expect(names(second)).toEqual(down(130, 31));
  const last = /\n… and 30 older: tokens list --before (\d+)\n$/.exec(second)?.[1];
  const third: { id: number; name: string }[] = await succeedWithJson(`tokens list --before ${last}`);
  expect(third.map(({ name }) => name)).toEqual(down(30, 1));
  const oldest = third.at(-1)?.id;
  expect(await succeed(`tokens list --before ${oldest}`)).toBe(`No tokens older than ${oldest}.\n`);
  await expectRefusals({ 'tokens list --before x': '"x" is not a token ID: see tokens list' });
});

test('tokens create takes an expiry, and refuses one it does not know', async () => {
  const made = await succeedWithJson(`${CREATE} --expires 90d`);
  expect(isApiToken(made.token)).toBe(true);
  expect(Date.parse(made.expiresAt) - Date.now()).toBeWithin(89.9 * 86_400_000, 90 * 86_400_000);
  const rule = 'use a number from 1 to 9999 and m, h, d or w, such as 90d';
  await expectRefusals(
    Object.fromEntries(
      ['0d', '90', 'x', '-1d', '1y'].map((time) => [
        `${CREATE} --expires=${time}`,
        `--expires "${time}" isn't valid: ${rule}`,
      ]),
    ),
  );
});

test('tokens create takes scopes, all by default, and refuses one it does not know', async () => {
  const all = await succeedWithJson(CREATE);
  expect(all.scopes).toEqual(['servers', 'penalties', 'lookup', 'events']);
  const few = await succeedWithJson(`${CREATE} --scopes "events, lookup,events"`);
  expect(few.scopes).toEqual(['lookup', 'events']);
  expect(await succeed('tokens list')).toMatch(/ lookup,events +live$/m);
  const rule = 'use any of servers, penalties, lookup, events';
  await expectRefusals({
    [`${CREATE} --scopes bans`]: `"bans" is not a scope: ${rule}`,
    [`${CREATE} --scopes lookup,*`]: `"*" is not a scope: ${rule}`,
    [`${CREATE} --scopes " ,"`]: `A token needs a scope: ${rule}`,
  });
});

test('tokens create counts the characters of a name, not their UTF-16 units', async () => {
  const create = `tokens create --steamid64 ${aSteamId(8)} --name`;
  await expectRefusals({ [`${create} ${'😀'.repeat(65)}`]: /1 to 64 characters/ });
  expect(await succeed(`${create} ${'😀'.repeat(64)}`)).toStartWith('capi_');
});

test('tokens create refuses an eleventh live token of a user, and an invalid SteamID', async () => {
  for (let i = 0; i < 10; i++) await aToken(db, 3);
  await expectRefusals({
    [`tokens create --steamid64 ${aSteamId(3)} --name x`]:
      'A user has at most 10 live tokens: revoke one first',
    'tokens create --steamid64 BOT --name x': /^"BOT" is not a SteamID: use .*\n$/,
    [`tokens create --steamid64 ${aSteamId(4)} --name " "`]:
      /^The name of a token has 1 to 64 characters.*\n$/,
  });
  expect(await db.select().from(apiTokens)).toHaveLength(10);
  // A refused token makes no user.
  expect(await db.select({ steamId64: users.steamId64 }).from(users)).toEqual([{ steamId64: aSteamId(3) }]);
  const entries = db
    .select()
    .from(auditLog)
    .where(eq(auditLog.subject, aSteamId(4)));
  expect(await entries).toEqual([]);
});
