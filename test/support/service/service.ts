import { afterAll } from 'bun:test';
import { join } from 'node:path';
import pino from 'pino';
import { BASES } from '../../../api/app.ts';
import { type Db, inTransaction } from '../../../src/db/client.ts';
import { TOKEN_SCOPES, type TokenScope } from '../../../src/domain/rights/token-scope.ts';
import { createApiToken } from '../../../src/queries/users/api-tokens.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { parseConfig } from '../../../src/runtime/config.ts';
import { runService, type Service } from '../../../src/service/service.ts';
import { aSteamId } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { createTestFolder } from './program.ts';

/** What came over the wire; `body` is the parsed JSON, undefined where there is no body. */
export type WireResponse = { status: number; headers: Headers; text: string; body: unknown };

export type TestService = {
  service: Service;
  /** `http://127.0.0.1:PORT`. */
  origin: string;
  /** What the service believes the time is. Frozen: a response's bytes then depend on its data alone. */
  clock: {
    now: Date;
    /** What its monotonic clock shows; it stands still as well. */
    monotonicMs: number;
  };
  /** Asks one address below the origin. */
  ask: (path: string, init?: RequestInit) => Promise<WireResponse>;
  /** Asks the same path under both bases, and fails unless they answer the same status, bytes and headers. */
  get: (path: string, init?: RequestInit) => Promise<WireResponse>;
  stop: () => Promise<void>;
};

type Options = {
  databaseUrl: string;
  /** Environment beside the database and a free port on loopback. */
  env?: Record<string, string>;
  /** The real clock instead of a frozen one. */
  hasRealClock?: boolean;
  /** Then only notifications change what caches hold. The default, unless the clock is real. */
  hasFrozenCaches?: boolean;
  /** Silent by default. */
  log?: pino.Logger;
};

/** Where the frozen clock begins. */
export const NOW = new Date('2026-11-21T10:00:00Z');

/** The real service on loopback, with limits nobody reaches unless `env` says otherwise; stopped after the file's tests. */
export async function startTestService({
  databaseUrl,
  env = {},
  hasRealClock = false,
  hasFrozenCaches = !hasRealClock,
  log = pino({ level: 'silent' }),
}: Options): Promise<TestService> {
  const clock = { now: NOW, monotonicMs: 0 };
  const folder = createTestFolder();
  const config = parseConfig({
    DATABASE_URL: databaseUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    HEALTH_PORT: '0',
    PUBLIC_URL: 'https://play.example.org',
    METRICS_ALLOW: '127.0.0.0/8,::1',
    RATE_LIMIT_PUBLIC: '1000000',
    RATE_LIMIT_PROTECTED: '1000000',
    ROLES: 'api',
    DATA_DIR: join(folder, 'data'),
    STORAGE_DIR: join(folder, 'storage'),
    ...env,
  });
  const service = await runService(config, log, {
    ...(!hasRealClock && { now: () => clock.now }),
    ...(hasFrozenCaches && { clockMs: () => clock.monotonicMs }),
  });
  afterAll(service.stop);
  const origin = `http://127.0.0.1:${service.port}`;
  // By the real clock a second may begin between two requests.
  const withoutTime = (text: string) => (hasRealClock ? text.replaceAll(/"cached_at":"[^"]*"/g, '') : text);
  const ask = async (path: string, init: RequestInit = {}) =>
    readResponse(await fetch(`${origin}${path}`, { redirect: 'manual', ...init }));
  return {
    service,
    origin,
    clock,
    ask,
    get: async (path, init) => {
      const [response, other] = await Promise.all(BASES.map((base) => ask(`${base}${path}`, init)));
      if (!response || !other) throw new Error('there are two bases');
      const [one, two] = [comparable(response, BASES[0]), comparable(other, BASES[1])].map(withoutTime);
      if (one !== two) throw new Error(`the bases differ for ${path}:\n${one}\n${two}`);
      return response;
    },
    stop: service.stop,
  };
}

/** A service on a database of the test file's own, and requests with a live token of user 900. */
export async function openTestApi(env: Record<string, string> = {}) {
  const database = await createTestDatabase();
  const service = await startTestService({ databaseUrl: database.url, env });
  const { token } = await aToken(database.db, 900);
  return {
    ...database,
    service,
    token,
    get: (path: string, headers = {}) =>
      service.get(path, { headers: { ...bearer(token).headers, ...headers } }),
  };
}

/** A live token of the user {@link aSteamId} of `number`, who is created when missing. */
export async function aToken(
  db: Db,
  number = 1,
  {
    expiresAt = null,
    now = NOW,
    scopes = TOKEN_SCOPES,
  }: { expiresAt?: Date | null; now?: Date; scopes?: readonly TokenScope[] } = {},
): Promise<{ id: number; token: string }> {
  const owner = await saveUser(db, aSteamId(number), { actor: 'operator' });
  return inTransaction(db, (tx) =>
    createApiToken(tx, owner.id, { name: 'test', scopes, expiresAt, now, actor: 'operator' }),
  );
}

/** The header that shows a token. */
export function bearer(token: string): { headers: Record<string, string> } {
  return { headers: { Authorization: `Bearer ${token}` } };
}

/** Headers as an object, without what a server adds to every response. */
export function headersOf({ headers }: Pick<WireResponse, 'headers'>): Record<string, string> {
  const { date: _, 'content-length': __, 'x-request-id': ___, ...rest } = Object.fromEntries(headers);
  return rest;
}

async function readResponse(response: Response): Promise<WireResponse> {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

/**
 * Two requests never have the same number left of a limit, and one may come in another second. Links to other pages lead
 * to the base that was asked.
 * @param base the one that was asked.
 */
export function comparable(response: Omit<WireResponse, 'body'>, base: string): string {
  const {
    'x-ratelimit-remaining': _,
    ratelimit: __,
    'x-ratelimit-reset': ___,
    'retry-after': ____,
    link,
    ...rest
  } = headersOf(response);
  const links = link?.replaceAll(`${base}/`, `/`);
  return `${response.status}\n${response.text}\n${links}\n${JSON.stringify(Object.entries(rest).sort())}`;
}
