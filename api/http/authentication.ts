import { LRUCache } from 'lru-cache';
import type { Database } from '../../src/db/database.ts';
import { hashApiToken, isApiToken, tokenStateOf } from '../../src/domain/api-token.ts';
import { type ApiToken, findLiveApiToken, saveApiTokenUses } from '../../src/queries/users/api-tokens.ts';
import { asRequest, currentRequest } from '../../src/runtime/request.ts';
import { splitQuery } from './query.ts';

/** Identifies tokens by their hash; the plain token is never kept. */
export type TokenChecker = {
  /** Whether the token was live when it was last looked up. Any other may be made up, so the caller limits its lookups. */
  isCached: (hash: string) => boolean;
  /** The live token, or undefined. Rejects when the query fails. */
  find: (hash: string, now: Date) => Promise<ApiToken | undefined>;
  /** Invalidates every cached token; called when any token changed. */
  forget: () => void;
  /** Saves the collected times of last use. */
  flush: () => Promise<void>;
};

/** A response that is sent for as long as its token is accepted. */
export type OpenResponse = { tokenId: number; abort: () => void };

/** How long a lookup is cached. Bounds how late a revocation takes effect if its NOTIFY is lost. */
export const TOKEN_CACHED_MS = 500;
/** Beyond this the least recently used live token is evicted. */
const MAX_CACHED = 10_000;

type CachedToken = {
  token: ApiToken;
  /** When the lookup began. */
  atMs: number;
  /** The number of invalidations before the lookup began. */
  changes: number;
};

/**
 * Looks up tokens, each live one at most twice a second, and collects their times of last use for
 * {@link TokenChecker.flush}. Only live tokens are cached, so that made-up ones evict none.
 * @param clockMs a monotonic clock, in milliseconds.
 * @param onLookup called for each lookup; `isHit` when the cache had the token.
 */
export function createTokenChecker(
  { db, requestDb }: Pick<Database, 'db' | 'requestDb'>,
  {
    clockMs = () => performance.now(),
    onLookup = () => {},
  }: { clockMs?: () => number; onLookup?: (isHit: boolean) => void } = {},
): TokenChecker {
  const cache = new LRUCache<string, CachedToken>({ max: MAX_CACHED });
  const lookups = new Map<string, Promise<ApiToken | undefined>>();
  const usedIds = new Set<number>();
  let changes = 0;

  async function lookUp(hash: string, now: Date): Promise<ApiToken | undefined> {
    const state = { atMs: clockMs(), changes };
    const token = await findLiveApiToken(requestDb, hash, now);
    if (token) cache.set(hash, { token, ...state });
    else cache.delete(hash);
    return token;
  }

  async function findCached(hash: string, now: Date): Promise<ApiToken | undefined> {
    const cached = cache.get(hash);
    const isHit =
      cached !== undefined && cached.changes === changes && clockMs() - cached.atMs < TOKEN_CACHED_MS;
    onLookup(isHit);
    if (isHit) return cached.token;
    const running = lookups.get(hash);
    if (running) return running;
    // A request of its own: other requests wait for the result too, and the first one's client may disconnect.
    const lookup = asRequest(currentRequest().owner, () => lookUp(hash, now));
    lookups.set(hash, lookup);
    try {
      return await lookup;
    } finally {
      if (lookups.get(hash) === lookup) lookups.delete(hash);
    }
  }

  return {
    isCached: (hash) => cache.has(hash),
    find: async (hash, now) => {
      const token = await findCached(hash, now);
      if (!token || tokenStateOf(token, now) !== 'live') return undefined;
      usedIds.add(token.id);
      return token;
    },
    forget: () => {
      changes += 1;
      // A lookup that began before the change may not have seen it.
      lookups.clear();
    },
    flush: async () => {
      const ids = [...usedIds];
      usedIds.clear();
      try {
        await saveApiTokenUses(db, ids, new Date());
      } catch (error) {
        for (const id of ids) usedIds.add(id);
        throw error;
      }
    },
  };
}

/**
 * The token that a request carries: `Authorization: Bearer`, else the query's `api_token`. Specification section 5.
 * Spec silent: any other Authorization scheme is ignored.
 */
export function readPresentedToken({ headers, url }: Request): string | undefined {
  const bearer = /^Bearer +(.+)$/i.exec(headers.get('authorization')?.trim() ?? '')?.[1];
  return bearer ?? (splitQuery(url).getAll('api_token').at(-1) || undefined);
}

/** The hash of a token; undefined for a text that does not have the form of one, which needs no lookup. */
export function hashPresentedToken(presented: string | undefined): string | undefined {
  return presented !== undefined && isApiToken(presented) ? hashApiToken(presented) : undefined;
}
