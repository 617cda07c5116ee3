import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { apiTokens, auditLog, users } from '../../../src/db/schema/accounts.ts';
import { isApiToken } from '../../../src/domain/api-token.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { openCli, runCli } from '../../support/service/cli.ts';
import { aToken, bearer, startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const { database, db, succeed, fail } = await openCli();

describe('tokens', () => {
  test('create says at a terminal what it printed', async () => {
    const command = ['tokens', 'create', '--steamid64', aSteamId(2), '--name', 'website'];
    const created = await runCli(command, { DATABASE_URL: database.url }, { isTerminal: true });
    expect([created.code, isApiToken(created.stdout.trimEnd())]).toEqual([0, true]);
    expect(created.stderr).toMatch(
      new RegExp(`^Token [0-9]+ of ${aSteamId(2)}, shown only now; it does not expire\n$`),
    );
    await db.delete(apiTokens);
  });

  test('create prints only the token, list never does, revoke ends it in a running service', async () => {
    const service = await startTestService({ databaseUrl: database.url, hasRealClock: true });
    const stdout = await succeed('tokens', 'create', '--steamid64', '[U:1:39734273]', '--name', 'website');
    const token = stdout.trimEnd();
    expect([stdout, isApiToken(token)]).toEqual([`${token}\n`, true]);
    expect((await service.get('/bans', bearer(token))).status).toBe(200);

    const table = await succeed('tokens', 'list');
    expect(table).not.toContain(token);
    expect(table.split('\n')[1]).toMatch(
      new RegExp(`^[0-9]+ +${aSteamId(1)} +website +…${token.slice(-4)} +[0-9-]{10} +\\S+ +all +live$`),
    );
    const [row] = JSON.parse(await succeed('--json', 'tokens', 'list'));
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

    expect(await succeed('tokens', 'revoke', String(row.id))).toBe(`Revoked token ${row.id}\n`);
    const isRefused = async () => (await service.ask('/api/v1/bans', bearer(token))).status === 401;
    await waitFor(isRefused);
    expect(await succeed('tokens', 'list')).toContain('revoked');
    expect(await fail('tokens', 'revoke', '999999')).toEqual([1, '', 'There is no token 999999\n']);
    expect(await fail('tokens', 'revoke', '1e3')).toEqual([
      1,
      '',
      '"1e3" is not a token ID: see tokens list\n',
    ]);
  });

  test('list gives a hundred at a time, and says how to see the others', async () => {
    const owner = await saveUser(db, aSteamId(3), { actor: 'operator' });
    await database.connection`
      insert into api_tokens (user_id, name, token_hash, last_four, created_at)
      select ${owner.id}, 'no ' || n, md5(n::text), 'abcd', now() from generate_series(1, 230) as n`;
    const names = (table: string): string[] => [...table.matchAll(/no \d+/g)].map(([name]) => name);
    const down = (from: number, to: number) =>
      Array.from({ length: from - to + 1 }, (_, index) => `no ${from - index}`);
    const first = await succeed('tokens', 'list');
    expect(names(first)).toEqual(down(230, 131));
    const next = /\n… and 130 older: tokens list --before (\d+)\n$/.exec(first)?.[1] ?? '';
    const second = await succeed('tokens', 'list', '--before', next);
    expect(names(second)).toEqual(down(130, 31));
    const last = /\n… and 30 older: tokens list --before (\d+)\n$/.exec(second)?.[1] ?? '';
    const third = JSON.parse(await succeed('--json', 'tokens', 'list', '--before', last));
    expect(third.map(({ name }: { name: string }) => name)).toEqual(down(30, 1));
    const [{ id: oldest }] = third.slice(-1);
    expect(
      await Promise.all([String(oldest), 'x'].map((before) => fail('tokens', 'list', '--before', before))),
    ).toEqual([
      [0, `No tokens older than ${oldest}.\n`, ''],
      [1, '', '"x" is not a token ID: see tokens list\n'],
    ]);
  });

  test('create takes an expiry, and refuses one it does not know', async () => {
    const create = ['tokens', 'create', '--steamid64', aSteamId(2), '--name', 'bot'];
    const made = JSON.parse(await succeed('--json', ...create, '--expires', '90d'));
    expect(isApiToken(made.token)).toBe(true);
    expect(Date.parse(made.expiresAt) - Date.now()).toBeWithin(89.9 * 86_400_000, 90 * 86_400_000);
    expect(
      await Promise.all(['0d', '90', 'x', '-1d', '1y'].map((time) => fail(...create, `--expires=${time}`))),
    ).toEqual(
      ['0d', '90', 'x', '-1d', '1y'].map((time) => [
        1,
        '',
        `--expires "${time}" isn't valid: use a number from 1 to 9999 and m, h, d or w, such as 90d\n`,
      ]),
    );
  });

  test('create takes scopes, all by default, and refuses one it does not know', async () => {
    const create = ['tokens', 'create', '--steamid64', aSteamId(5), '--name', 'scoped'];
    const all = JSON.parse(await succeed('--json', ...create));
    expect(all.scopes).toEqual(['servers', 'penalties', 'lookup', 'events']);
    const few = JSON.parse(await succeed('--json', ...create, '--scopes', 'events, lookup,events'));
    expect(few.scopes).toEqual(['lookup', 'events']);
    expect(await succeed('tokens', 'list')).toMatch(/ lookup,events +live$/m);
    expect(
      await Promise.all(['bans', 'lookup,*', ' ,'].map((list) => fail(...create, '--scopes', list))),
    ).toEqual([
      [1, '', '"bans" is not a scope: use any of servers, penalties, lookup, events\n'],
      [1, '', '"*" is not a scope: use any of servers, penalties, lookup, events\n'],
      [1, '', 'A token needs a scope: use any of servers, penalties, lookup, events\n'],
    ]);
  });

  test('create counts the characters of a name, not their UTF-16 units', async () => {
    const create = ['tokens', 'create', '--steamid64', aSteamId(8), '--name'];
    expect((await fail(...create, '😀'.repeat(65)))[2]).toContain('1 to 64 characters');
    expect(await succeed(...create, '😀'.repeat(64))).toStartWith('capi_');
    await db.delete(users).where(eq(users.steamId64, aSteamId(8)));
  });

  test('create refuses an eleventh live token of a user, and an invalid SteamID', async () => {
    for (let i = 0; i < 10; i++) await aToken(db, 3);
    expect(
      await Promise.all([
        fail('tokens', 'create', '--steamid64', aSteamId(3), '--name', 'x'),
        fail('tokens', 'create', '--steamid64', 'BOT', '--name', 'x'),
        fail('tokens', 'create', '--steamid64', aSteamId(4), '--name', ' '),
      ]),
    ).toEqual([
      [1, '', 'A user has at most 10 live tokens: revoke one first\n'],
      [1, '', expect.stringMatching(/^"BOT" is not a SteamID: use .*\n$/)],
      [1, '', expect.stringMatching(/^The name of a token has 1 to 64 characters.*\n$/)],
    ]);
    expect(await db.select().from(apiTokens)).toHaveLength(10);
    // A refused token makes no user.
    expect(await db.select({ steamId64: users.steamId64 }).from(users)).toEqual([{ steamId64: aSteamId(3) }]);
    expect(
      await db
        .select()
        .from(auditLog)
        .where(eq(auditLog.subject, aSteamId(4))),
    ).toEqual([]);
  });
});
