import { beforeEach, describe, expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import pino from 'pino';
import { createTokenChecker } from '../../../api/http/authentication.ts';
import { createErrorMapper } from '../../../api/http/error-handler.ts';
import { createMemoryRateLimiter, type RateLimiter } from '../../../api/http/limits/rate-limiter.ts';
import { createPipeline } from '../../../api/http/pipeline.ts';
import { ROUTES } from '../../../api/v1/routes.ts';
import { inTransaction } from '../../../src/db/client.ts';
import { apiTokens, users } from '../../../src/db/schema/accounts.ts';
import { generateApiToken, hashApiToken } from '../../../src/domain/api-token.ts';
import { TOKEN_SCOPES } from '../../../src/domain/rights/token-scope.ts';
import { revokeApiToken } from '../../../src/queries/users/api-tokens.ts';
import { asRequest } from '../../../src/runtime/request.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { countStatuses } from '../../support/http/steady-load.ts';
import { aToken, bearer, headersOf, NOW, startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const { db, url: databaseUrl } = database;
const service = await startTestService({ databaseUrl });
const REQUIRED = { success: false, message: 'An API token is required' };
/** The header that shows a token, with this value. */
const authorization = (value: string) => ({ headers: { Authorization: value } });
const INVALID = { success: false, message: 'The API token is invalid' };

let { id, token } = await aToken(db, 1);
beforeEach(async () => {
  service.clock.now = NOW;
  await db.delete(apiTokens);
  ({ id, token } = await aToken(db, 1));
});

describe('a protected request', () => {
  test('a protected request without a token is 401, which no cache keeps', async () => {
    const response = await service.get('/bans');
    expect([response.status, response.body]).toEqual([401, REQUIRED]);
    expect(headersOf(response)).toMatchObject({
      'www-authenticate': 'Bearer',
      'cache-control': 'private, no-store',
      vary: 'Authorization',
    });
  });

  test('takes the header before the query, good or bad', async () => {
    expect((await service.get(`/bans?api_token=${token}`, bearer('nonsense'))).body).toEqual(INVALID);
    expect((await service.get('/bans?api_token=nonsense', bearer(token))).status).toBe(200);
    expect((await service.get(`/bans?api_token=${token}`, bearer(generateApiToken()))).body).toEqual(INVALID);
  });

  test('takes the scheme in any letter case, and spaces around', async () => {
    for (const value of [`bearer ${token}`, `BEARER ${token}`, `Bearer   ${token}`, `  Bearer ${token}  `]) {
      expect([value, (await service.get('/bans', authorization(value))).status]).toEqual([value, 200]);
    }
  });

  test('treats another scheme, an empty header and an empty parameter as no token', async () => {
    for (const value of ['', 'Bearer', 'Bearer ', 'Basic dXNlcjpwYXNz', token, `Token ${token}`]) {
      const { body } = await service.get('/bans?api_token=', authorization(value));
      expect([value, body]).toEqual([value, REQUIRED]);
      const inQuery = await service.get(`/bans?api_token=${token}`, authorization(value));
      expect([value, inQuery.status]).toEqual([value, 200]);
    }
  });

  test('takes the last of several in the query', async () => {
    expect((await service.get(`/bans?api_token=x&api_token=${token}`)).status).toBe(200);
    expect((await service.get(`/bans?api_token=${token}&api_token=x`)).body).toEqual(INVALID);
    expect((await service.get(`/bans?api_token=${token}&api_token=`)).body).toEqual(REQUIRED);
  });

  test('a protected request with a malformed or unknown token is 401', async () => {
    for (const wrong of [
      'x',
      'capi_',
      generateApiToken(),
      `${token}x`,
      token.slice(0, -1),
      token.toLowerCase(),
      `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`,
      hashApiToken(token),
      `${token},${token}`,
      'a'.repeat(5000),
      "' or 1=1 --",
    ]) {
      const response = await service.get('/bans', bearer(wrong));
      expect([wrong, response.status, response.body]).toEqual([wrong, 401, INVALID]);
      expect(response.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
    }
    for (const wrong of ['%00', `${token}%00`, '%ED%A0%80', '%', '__proto__']) {
      expect((await service.get(`/bans?api_token=${wrong}`)).body).toEqual(INVALID);
    }
  });

  test('a 401 never shows the token back', async () => {
    const { text, headers } = await service.get(`/bans?status=x&api_token=${token}`);
    expect(text + JSON.stringify([...headers])).not.toContain(token);
  });
});

describe('made-up tokens with a right checksum', () => {
  test('made-up tokens are refused without a lookup once their address is over its limit; a known token still works', async () => {
    const limited = await startTestService({ databaseUrl, env: { RATE_LIMIT_PROTECTED: '5' } });
    const ask = (shown: string) => limited.ask('/api/v1/bans', bearer(shown));
    expect((await ask(token)).status).toBe(200);
    for (let i = 0; i < 5; i++) expect((await ask(generateApiToken())).status).toBe(401);
    await inTransaction(db, async (tx) => {
      // From now on every lookup of a token blocks.
      await tx.execute(sql`lock table api_tokens in access exclusive mode`);
      const refused = await Promise.all(Array.from({ length: 300 }, () => ask(generateApiToken())));
      expect([...new Set(refused.map(({ status }) => status))]).toEqual([429]);
      expect(headersOf(refused[0] ?? (await ask('')))).toMatchObject({
        vary: 'Authorization',
        'retry-after': '60',
        'x-ratelimit-limit': '5',
        'x-ratelimit-remaining': '0',
      });
      expect((await ask(token)).headers.get('x-ratelimit-remaining')).toBe('3');
    });
  });

  test('limits made-up tokens apart from a burst with one token while the shared limiter is slow', async () => {
    const memory = createMemoryRateLimiter({ clockMs: () => 0 });
    const { promise: redis, resolve: respond } = Promise.withResolvers<void>();
    const limiter: RateLimiter = {
      take: async (...one) => redis.then(() => memory.take(...one)),
      check: async (...one) => redis.then(() => memory.check(...one)),
    };
    const { handleProtected } = createPipeline({
      toErrorResponse: createErrorMapper(pino({ level: 'silent' })),
      tokens: createTokenChecker(database, { clockMs: () => 0 }),
      limiters: { public: limiter, protected: limiter },
      limits: { public: 60, protected: 60 },
      clientKey: () => '127.0.0.1',
      now: () => NOW,
      recordRequest: () => {},
    });
    const ask = (shown: string) =>
      handleProtected(
        { request: new Request('http://localhost/bans', bearer(shown)), server: null },
        { id: 'listBans', scope: 'penalties', parameters: {} },
        async () => ({ json: {} }),
      );
    const other = await aToken(db, 2);
    const burst = Array.from({ length: 160 }, () => ask(token));
    const madeUp = Array.from({ length: 58 }, () => ask(generateApiToken()));
    const ofOther = ask(other.token);
    const tooMany = ask(generateApiToken());
    respond();
    expect((await ofOther).headers.get('x-ratelimit-remaining')).toBe('59');
    expect(countStatuses(await Promise.all(burst))).toEqual({ 200: 60, 429: 100 });
    expect(countStatuses(await Promise.all(madeUp))).toEqual({ 401: 58 });
    expect((await tooMany).status).toBe(429);
  });

  test('made-up tokens evict no token that is in use', async () => {
    const checker = createTokenChecker(database, { clockMs: () => 0 });
    const find = (hash: string) => asRequest('127.0.0.1', () => checker.find(hash, NOW));
    const hash = hashApiToken(token);
    expect(await find(hash)).toMatchObject({ id });
    for (let i = 0; i < 60; i++) {
      const madeUp = Array.from({ length: 200 }, () => hashApiToken(generateApiToken()));
      const found = await Promise.all(madeUp.map((one) => find(one)));
      expect(found.every((one) => one === undefined)).toBe(true);
      expect(madeUp.some(checker.isCached)).toBe(false);
    }
    await inTransaction(db, async (tx) => {
      await tx.execute(sql`lock table api_tokens in access exclusive mode`);
      expect(checker.isCached(hash)).toBe(true);
      expect(await find(hash)).toMatchObject({ id });
    });
  });
});

describe('a token', () => {
  test('refuses a token from the moment it expires', async () => {
    const expiring = await aToken(db, 2, { expiresAt: new Date(NOW.getTime() + 60_000) });
    service.clock.now = new Date(NOW.getTime() + 59_999);
    expect((await service.get('/bans', bearer(expiring.token))).status).toBe(200);
    service.clock.now = new Date(NOW.getTime() + 60_000);
    expect((await service.get('/bans', bearer(expiring.token))).body).toEqual(INVALID);
  });

  test('refuses a revoked token within a second even when its notification is lost', async () => {
    await db.execute(sql`alter table api_tokens disable trigger user`);
    // The notification of the token's creation is still sent, and may arrive after the first request.
    await waitFor(async () => {
      await db.update(apiTokens).set({ revokedAt: null }).where(eq(apiTokens.id, id));
      service.clock.monotonicMs += 1000;
      expect((await service.ask('/api/v1/bans', bearer(token))).status).toBe(200);
      await db.update(apiTokens).set({ revokedAt: new Date() }).where(eq(apiTokens.id, id));
      return (await service.ask('/api/v1/bans', bearer(token))).status === 200;
    });
    await db.execute(sql`alter table api_tokens enable trigger user`);
    service.clock.monotonicMs += 1000;
    expect((await service.ask('/api/v1/bans', bearer(token))).status).toBe(401);
  });

  test('refuses a revoked token as soon as the notification arrives', async () => {
    // The clock stands still here, so cached tokens never expire.
    expect((await service.get('/bans', bearer(token))).status).toBe(200);
    await revokeApiToken(db, id, { now: new Date(), actor: 'operator' });
    await waitFor(async () => (await service.ask('/api/v1/bans', bearer(token))).status === 401);
  });

  test('a token is deleted with its owner', async () => {
    const orphan = await aToken(db, 3);
    expect((await service.get('/bans', bearer(orphan.token))).status).toBe(200);
    await db.delete(users).where(eq(users.steamId64, aSteamId(3)));
    await waitFor(async () => (await service.ask('/api/v1/bans', bearer(orphan.token))).status === 401);
  });

  test('saves a token’s last use when the service stops, if not before', async () => {
    const begunAt = Date.now();
    const isWritten = async () => {
      const own = await startTestService({ databaseUrl, hasRealClock: true });
      await own.get('/bans', bearer(token));
      await own.get('/bans', bearer(generateApiToken()));
      await own.stop();
      const [row] = await db.select().from(apiTokens).where(eq(apiTokens.id, id));
      return row?.lastUsedAt;
    };
    // Not at the first try if the database takes longer than a service that stops waits for it.
    const lastUsedAt = await waitFor(isWritten);
    expect(lastUsedAt.getTime()).toBeWithin(begunAt - 1, Date.now() + 1);
  });
});

const scarce = await startTestService({ databaseUrl, env: { RATE_LIMIT_PROTECTED: '1' } });
/** The protected paths, by the scope that they need. */
const SCOPED_PATHS = {
  penalties:
    '/penalties /bans /mutes /warns /penalties/1 /penalties/active /penalties/changes /penalties/export /penalties/servers',
  lookup: '/users/lookup /users/lookup/batch /players/search /players/nobody/steam-bans',
  events: '/events',
} as const;
const lacks = (scope: string) => ({ success: false, message: `This token lacks the scope "${scope}"` });

describe('a token with fewer scopes', () => {
  test('a token with fewer scopes is refused with the name of the missing scope, before parameters are read', async () => {
    for (const [scope, paths] of Object.entries(SCOPED_PATHS)) {
      const others = await aToken(db, 100, { scopes: TOKEN_SCOPES.filter((other) => other !== scope) });
      const sole = await aToken(db, 101, { scopes: TOKEN_SCOPES.filter((other) => other === scope) });
      for (const path of paths.split(' ')) {
        // 400 wherever a query is read.
        const tooLong = `${path}?${'x'.repeat(8193)}`;
        const refused = await service.get(tooLong, bearer(others.token));
        expect([path, refused.status, refused.body]).toEqual([path, 403, lacks(scope)]);
        expect(refused.headers.get('cache-control')).toBe('private, no-store');
        const accepted = await service.get(tooLong, bearer(sole.token));
        expect([path, accepted.status]).not.toEqual([path, 403]);
      }
    }
  });

  test('a token with fewer scopes is counted against the limit first, and a missing token is 401 before anything', async () => {
    const { token } = await aToken(db, 200, { scopes: ['events'] });
    expect((await scarce.ask('/api/v1/bans', bearer(token))).status).toBe(403);
    expect((await scarce.ask('/api/v1/bans', bearer(token))).status).toBe(429);
    expect((await service.get('/bans?server_id=x')).status).toBe(401);
  });

  test('a token with fewer scopes may open no stream of events that it may not see', async () => {
    const { token } = await aToken(db, 201, { scopes: ['events'] });
    const asked = await service.get('/events?types=penalty.created,server.up', bearer(token));
    expect([asked.status, asked.body]).toEqual([403, lacks('servers')]);
  });

  test('a token that is older than scopes works as before', async () => {
    const { id, token } = await aToken(db, 202, { scopes: ['events'] });
    await db.execute(sql`update api_tokens set scopes = default where id = ${id}`);
    for (const path of ['/bans', `/users/lookup/batch?steamids=${aSteamId(1)}`, '/penalties/changes']) {
      expect([path, (await service.get(path, bearer(token))).status]).toEqual([path, 200]);
    }
  });
});

test.each(TOKEN_SCOPES.map((scope, index) => [scope, index] as const))(
  'describes a token with the scope %s to its holder',
  async (scope, index) => {
    const expiresAt = index === 0 ? null : new Date(NOW.getTime() + 3_600_000);
    const { token } = await aToken(db, 210 + index, { scopes: [scope], expiresAt, now: NOW });
    const { status, body } = await scarce.ask('/api/v1/token', bearer(token));
    expect([status, body]).toStrictEqual([
      200,
      {
        success: true,
        data: {
          name: 'test',
          owner_steamid64: aSteamId(210 + index),
          scopes: [scope],
          created_at: '2026-11-21T10:00:00+00:00',
          expires_at: expiresAt && '2026-11-21T11:00:00+00:00',
          limit_per_minute: 1,
        },
      },
    ]);
  },
);

test('every protected route but /token needs a scope', () => {
  const nameless = ROUTES.filter(({ policy, scope }) => (policy === 'protected') !== (scope !== undefined));
  expect(nameless.map(({ id }) => id)).toEqual(['getToken']);
});
