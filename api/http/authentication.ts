import { LRUCache } from 'lru-cache';
import type { Db } from '../../src/db/client.ts';
import { hashApiToken, isApiToken, tokenStateOf } from '../../src/domain/api-token.ts';
import { type ApiToken, findLiveApiToken, saveApiTokenUses } from '../../src/queries/users/api-tokens.ts';
import { splitQuery } from './query.ts';

/** Tokens are named by their hash here: what a caller shows is kept nowhere. */
export type TokenChecker = {
  /**
   * Whether the token was live when it was last looked up, or is being looked up. Any other one may be made up: its
   * sender has to be within a limit before it is looked up.
   */
  isKnown: (hash: string) => boolean;
  /** The live token, or undefined; fails as its query does. */
  find: (hash: string, now: Date) => Promise<ApiToken | undefined>;
  /** Looks every token up again: some token changed. */
  forget: () => void;
  /** Writes the last uses that are not written yet. */
  flush: () => Promise<void>;
};

/** How long a token found is believed without a notification: bounds how late a revocation is seen if one is lost. */
export const BELIEVED_MS = 500;
/** Beyond this the live token used least recently is forgotten. */
const MAX_REMEMBERED = 10_000;

type Finding = {
  token: ApiToken;
  /** When it was looked up. */
  atMs: number;
  /** How often tokens had changed by then. */
  changes: number;
};

/**
 * Looks tokens up, a live one at most twice a second, and gathers their last uses for {@link TokenChecker.flush}.
 * Only live tokens are remembered, so that made-up ones displace none.
 * @param clockMs a monotonic clock, in milliseconds.
 * @param onLookup told whether a token needed not be looked up.
 */
export function createTokenChecker(
  db: Db,
  {
    clockMs = () => performance.now(),
    onLookup = () => {},
  }: { clockMs?: () => number; onLookup?: (isHit: boolean) => void } = {},
): TokenChecker {
  const findings = new LRUCache<string, Finding>({ max: MAX_REMEMBERED });
  const lookups = new Map<string, Promise<ApiToken | undefined>>();
  const usedIds = new Set<number>();
  let changes = 0;

  async function lookUp(hash: string, now: Date): Promise<ApiToken | undefined> {
    const begun = { atMs: clockMs(), changes };
    const token = await findLiveApiToken(db, hash, now);
    if (token) findings.set(hash, { token, ...begun });
    else findings.delete(hash);
    return token;
  }

  async function recall(hash: string, now: Date): Promise<ApiToken | undefined> {
    const known = findings.get(hash);
    const isBelieved =
      known !== undefined && known.changes === changes && clockMs() - known.atMs < BELIEVED_MS;
    onLookup(isBelieved);
    if (isBelieved) return known.token;
    const running = lookups.get(hash);
    if (running) return running;
    const lookup = lookUp(hash, now);
    lookups.set(hash, lookup);
    try {
      return await lookup;
    } finally {
      if (lookups.get(hash) === lookup) lookups.delete(hash);
    }
  }

  return {
    isKnown: (hash) => findings.has(hash) || lookups.has(hash),
    find: async (hash, now) => {
      const token = await recall(hash, now);
      if (!token || tokenStateOf(token, now) !== 'live') return undefined;
      usedIds.add(token.id);
      return token;
    },
    forget: () => {
      changes += 1;
      // What began before the change may not have seen it.
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
 * The token a request shows: `Authorization: Bearer` before the query's `api_token`. Specification section 5.
 * Spec silent: another Authorization scheme is no token of ours and counts as none.
 */
export function readShownToken({ headers, url }: Request): string | undefined {
  const bearer = /^Bearer +(.+)$/i.exec(headers.get('authorization')?.trim() ?? '')?.[1];
  return bearer ?? (splitQuery(url).getAll('api_token').at(-1) || undefined);
}

/** The hash of a shown token; undefined for what has not the form of one, and so need not be looked up. */
export function hashShownToken(shown: string | undefined): string | undefined {
  return shown !== undefined && isApiToken(shown) ? hashApiToken(shown) : undefined;
}
