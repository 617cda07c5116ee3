import { describe, expect, test } from 'bun:test';
import { BASES } from '../../../api/app.ts';
import { ROUTES } from '../../../api/v1/routes.ts';
import { apiTokens } from '../../../src/db/schema/accounts.ts';
import { TOKEN_SCOPES } from '../../../src/domain/rights/token-scope.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { openEventStream } from '../../support/http/event-stream.ts';
import { aToken, bearer, NOW, startTestService } from '../../support/service/service.ts';

const database = await createTestDatabase();
const { db } = database;
const service = await startTestService({ databaseUrl: database.url });
const scarce = await startTestService({ databaseUrl: database.url, env: { RATE_LIMIT_PROTECTED: '1' } });

/** For each protected path, the scope it needs and a parameter it refuses. */
const PATHS = [
  ['/penalties', 'penalties', 'server_id=x'],
  ['/bans', 'penalties', 'server_id=x'],
  ['/mutes', 'penalties', 'server_id=x'],
  ['/warns', 'penalties', 'server_id=x'],
  ['/penalties/active', 'penalties', 'steamids=x'],
  ['/penalties/changes', 'penalties', 'cursor=x'],
  ['/penalties/servers', 'penalties', ''],
  ['/users/lookup', 'lookup', 'steamid64=x'],
  ['/users/lookup/batch', 'lookup', 'steamids=x'],
  ['/penalties/export', 'penalties', 'server_id=x'],
  ['/players/search', 'lookup', 'name=x'],
  ['/events', 'events', 'types=x'],
] as const;
const lacks = (scope: string) => ({ success: false, message: `This token lacks the scope "${scope}"` });

describe('a token with fewer scopes', () => {
  test('a token with fewer scopes is refused with the name of the missing scope, before parameters are read', async () => {
    for (const [index, [path, scope, bad]] of PATHS.entries()) {
      const others = TOKEN_SCOPES.filter((other) => other !== scope);
      const { token } = await aToken(db, 100 + index, { scopes: others });
      const refused = await service.get(`${path}?${bad}`, bearer(token));
      expect([path, refused.status, refused.body]).toEqual([path, 403, lacks(scope)]);
      expect(refused.headers.get('cache-control')).toBe('private, no-store');
      const sole = await aToken(db, 100 + index, { scopes: [scope] });
      expect([path, (await service.get(`${path}?${bad}`, bearer(sole.token))).status]).not.toEqual([
        path,
        403,
      ]);
    }
  });

  test('a token with fewer scopes is refused where the parameter is part of the path too', async () => {
    const { token } = await aToken(db, 199, { scopes: ['servers', 'penalties', 'events'] });
    const refused = await service.get('/players/nobody/steam-bans', bearer(token));
    expect([refused.status, refused.body]).toEqual([403, lacks('lookup')]);
  });

  test('a token with fewer scopes is counted against the limit first, and a missing token is 401 before anything', async () => {
    const { token } = await aToken(db, 200, { scopes: ['events'] });
    expect((await scarce.ask('/api/v1/bans', bearer(token))).status).toBe(403);
    expect((await scarce.ask('/api/v1/bans', bearer(token))).status).toBe(429);
    expect((await service.get('/bans?server_id=x')).status).toBe(401);
  });

  test('a token with fewer scopes may open a stream of the events it may see, and no other', async () => {
    const { token } = await aToken(db, 201, { scopes: ['events'] });
    const asked = await service.get('/events?types=penalty.created,server.up', bearer(token));
    expect([asked.status, asked.body]).toEqual([403, lacks('servers')]);
    const stream = await openEventStream(`${service.origin}/api/v1/events`, bearer(token).headers);
    expect(stream.status).toBe(200);
    stream.leave();
  });

  test('works as before if it is older than scopes', async () => {
    const { id, token } = await aToken(db, 202, { scopes: ['events'] });
    const { scopes: _, ...old } = (await db.select().from(apiTokens)).find((row) => row.id === id) ?? fail();
    await db.delete(apiTokens);
    await db.insert(apiTokens).overridingSystemValue().values(old);
    for (const path of ['/bans', `/users/lookup/batch?steamids=${aSteamId(1)}`, '/penalties/changes']) {
      expect([path, (await service.get(path, bearer(token))).status]).toEqual([path, 200]);
    }
  });
});

describe('GET /token', () => {
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
});

test('every protected operation of the document but /token names its scope', async () => {
  const nameless = ROUTES.filter(({ policy, scope }) => (policy === 'protected') !== (scope !== undefined));
  expect(nameless.map(({ id }) => id)).toEqual(['getToken']);
  const { body } = await service.ask('/swagger/json');
  const { paths } = body as { paths: Record<string, { get: { 'x-scope'?: string; security?: unknown[] } }> };
  for (const [path, scope] of PATHS) {
    const { get } = paths[BASES[0] + path] ?? { get: {} };
    // Of `/events`, the streams of servers and sounds are open.
    const guests = path === '/events' ? [{}] : [];
    expect([path, get['x-scope'], get.security]).toEqual([
      path,
      scope,
      [{ bearer: [] }, { query: [] }, ...guests],
    ]);
  }
});

function fail(): never {
  throw new Error('the token is gone');
}
